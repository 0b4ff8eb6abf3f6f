"""Compiles OpenCL C for the OpenCL driver that only compiles (native/opencl).

Its C half calls `compile` in the driver's interpreter, and gets a native binary that zeModuleCreate
takes. Options are OpenCL's, in one text.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

from groundstate import knobs

__all__ = ["start"]


class Outcome(ctypes.Structure):
    """What is handed back: memory of malloc, which the caller frees."""

    _fields_ = [
        ("binary", ctypes.c_void_p),
        ("size", ctypes.c_uint64),
        ("log", ctypes.c_void_p),
    ]


def start(library: str) -> dict[str, Callable[[int, int, int], int]]:
    """What the C half may call."""
    return {"compile": compile_for_opencl}


def compile_for_opencl(source: int, options: int, outcome: int) -> int:
    """Compiles a text; without a binary in the outcome, its log says why."""
    made = Outcome.from_address(outcome)
    text = ctypes.string_at(source).decode("utf-8", "replace")
    try:
        binary = native_binary_of(text, ctypes.string_at(options).decode("utf-8", "replace"))
    except Exception as problem:  # whatever it is, the library that asked can only show a log
        log = str(getattr(problem, "log", problem))
        if knobs.ERRORS.get() != "0":
            print(f"groundstate: clBuildProgram: {log}", file=sys.stderr)
        made.log = allocated(log.encode("utf-8", "replace") + b"\0")
        return 0
    made.size = len(binary)
    made.binary = allocated(binary)
    return 0


def native_binary_of(source: str, options: str) -> bytes:
    """What zeModuleCreate takes as a native binary."""
    from groundstate.compiler.opencl.frontend import compile_opencl
    from groundstate.compiler.opencl.options import split
    from groundstate.compiler.program import Program

    return Program(compile_opencl(source, options=split(options))).native_binary()


def allocated(content: bytes) -> int | None:
    """A copy in memory that C frees; None if there is no memory."""
    process = ctypes.CDLL(None)
    process.malloc.restype = ctypes.c_void_p
    process.malloc.argtypes = [ctypes.c_size_t]
    place: int | None = process.malloc(max(len(content), 1))
    if place is not None:
        ctypes.memmove(place, content, len(content))
    return place
