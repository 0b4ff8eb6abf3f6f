"""Changes to a SPIR-V module that LLVM has written, to make it valid for the OpenCL environment."""

from __future__ import annotations


def fix(spirv: bytes) -> bytes:
    """All changes, in order."""
    return spirv
