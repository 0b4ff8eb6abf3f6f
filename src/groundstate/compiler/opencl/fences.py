"""Says in a module for checked mode which fences mean the scope that they have.

`mem_fence` has no scope, and SPIR-V has that of the group for it. Programs that order work-groups
by it rely on more, and are right on all devices. So its scope becomes the device, while the fences
of OpenCL C 2.0 keep what the program says. `instrument/races.py` takes a scope at its word if the
fence is sequentially consistent, as those become.
"""

from __future__ import annotations

import re

from groundstate.compiler.opencl.function_body import (
    DEVICE_SCOPE,
    SEQUENTIALLY_CONSISTENT,
    WORK_GROUP_SCOPE,
)

_FENCE = r"call (?:spir_func )?void @\S*__spirv_MemoryBarrier\w*\"?\("
_OF_OPENCL_1 = re.compile(
    rf"(define [^\n]*_Z\d+(?:read_|write_)?mem_fencej\"?\([^}}]*?{_FENCE}i32 ){WORK_GROUP_SCOPE}\b"
)
_NARROW = re.compile(rf"({_FENCE}i32 [234], i32 )(\d+)")
_ANY_ORDER = 0b11110


def widen(ir: str) -> str:
    """LLVM IR in which the fences of OpenCL 1 have the scope of the device."""
    return _OF_OPENCL_1.sub(rf"\g<1>{DEVICE_SCOPE}", ir)


def mark(optimised: str) -> str:
    """The same, optimised, in which the fences that are narrower are sequentially consistent."""

    def marked(fence: re.Match[str]) -> str:
        return f"{fence[1]}{int(fence[2]) & ~_ANY_ORDER | SEQUENTIALLY_CONSISTENT}"

    return _NARROW.sub(marked, optimised)
