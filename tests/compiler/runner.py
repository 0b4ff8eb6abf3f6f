"""Runs compiled kernels without the driver, through the `run` function of docs/compiler.md."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np

from groundstate.compiler.frontend import compile_opencl
from groundstate.compiler.program import Program

ALIGNMENT = 128
Size = tuple[int, int, int]


class Dispatch(ctypes.Structure):
    """gs_dispatch of native/kernel.h."""

    _fields_ = (
        ("arguments", ctypes.c_void_p),
        ("global_offset", ctypes.c_uint64 * 3),
        ("group_counts", ctypes.c_uint64 * 3),
        ("group_size", ctypes.c_uint32 * 3),
        ("work_dimensions", ctypes.c_uint32),
        ("print_buffer", ctypes.c_void_p),
        ("globals", ctypes.c_void_p),
        ("local_bytes", ctypes.c_uint64),
        ("streams", ctypes.c_uint64),
    )


@dataclass(frozen=True)
class Local:
    """An argument that is local memory."""

    size_bytes: int


def _round_up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def program_of(source: str) -> Program:
    return Program(compile_opencl(source))


def run(
    program: Program,
    name: str,
    groups: Size,
    group_size: Size,
    *arguments: object,
    width: int | None = None,
    offset: Size = (0, 0, 0),
    streams: bool = False,
) -> None:
    """Runs a kernel over all groups, with `width` lanes."""
    signature = program.signature(name)
    code = program.compile(name, group_size, width)
    block = bytearray(signature.block_bytes + 16)
    local = _round_up(code.local_bytes)
    for argument, value in zip(signature.arguments, arguments, strict=True):
        if isinstance(value, Local):
            data = local.to_bytes(8, "little")
            local += _round_up(value.size_bytes)
        elif isinstance(value, np.ndarray):
            data = value.ctypes.data.to_bytes(8, "little")
        else:
            assert isinstance(value, np.generic)
            data = value.tobytes()
        block[argument.offset : argument.offset + len(data)] = data
    packed = (ctypes.c_char * len(block)).from_buffer(block)
    values = np.frombuffer(bytearray(program.globals_image or b"\0"), np.uint8)
    scratch = np.zeros(local + code.scratch_bytes + ALIGNMENT, np.uint8)
    dispatch = Dispatch(
        ctypes.addressof(packed),
        offset,
        groups,
        group_size,
        3,
        None,
        values.ctypes.data,
        local,
        streams,
    )
    function = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p
    )(code.address)
    count = groups[0] * groups[1] * groups[2]
    function(ctypes.addressof(dispatch), 0, count, _round_up(scratch.ctypes.data))
