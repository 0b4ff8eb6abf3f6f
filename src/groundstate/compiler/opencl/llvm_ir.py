"""Changes to the text of clang's LLVM IR before it goes on to the SPIR-V back end."""

from __future__ import annotations

import re

_KERNEL_BODY = re.compile(r"^define (?:dso_local )?(?=.*@__clang_ocl_kern_imp_)", re.MULTILINE)


def fix(ir: str) -> str:
    """All changes, in order."""
    ir = hide_kernel_bodies(ir)
    return allow_contraction(ir)


def hide_kernel_bodies(ir: str) -> str:
    """Makes the second copy of each kernel internal.

    clang writes a kernel twice, as an entry point and as a function that other kernels can call.
    The function would be exported, and stay in the module, although nobody outside can know of it.
    """
    return _KERNEL_BODY.sub("define internal ", ir)


def allow_contraction(ir: str) -> str:
    """Says that a multiplication and an addition may be done in one step.

    That is OpenCL's default. The back end takes it to be forbidden unless this mark is there.
    """
    return f"{ir}\n!opencl.enable.FP_CONTRACT = !{{}}\n"
