"""Runs compiled kernels without the driver, through the `run` function of docs/compiler.md."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.program.dispatch import ALIGNMENT, Dispatch, Memory, RunGroups, aligned

Size = tuple[int, int, int]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Local:
    """An argument that is local memory."""

    size_bytes: int


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
    variables: Bytes | None = None,
    streams: bool = False,
) -> None:
    """Runs a kernel over all groups, with `width` lanes."""
    signature = program.signature(name)
    code = program.compile(name, group_size, width)
    block = bytearray(signature.block_bytes + 16)
    local = aligned(code.local_bytes)
    for argument, value in zip(signature.arguments, arguments, strict=True):
        if isinstance(value, Local):
            data = local.to_bytes(8, "little")
            local += aligned(value.size_bytes)
        elif isinstance(value, np.ndarray):
            data = value.ctypes.data.to_bytes(8, "little")
        else:
            assert isinstance(value, np.generic)
            data = value.tobytes()
        block[argument.offset : argument.offset + len(data)] = data
    packed = (ctypes.c_char * len(block)).from_buffer(block)
    values = variables if variables is not None else new_variables(program)
    memory = Memory(local, code.private_bytes, code.saved_bytes)
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
    count = groups[0] * groups[1] * groups[2]
    RunGroups(code.address)(ctypes.addressof(dispatch), 0, count, memory.address)


def new_variables(program: Program) -> Bytes:
    """The program-scope variables of a program, as the driver makes them."""
    image = np.frombuffer(program.globals_image or b"\0", np.uint8)
    room = np.zeros(len(image) + ALIGNMENT, np.uint8)
    start = aligned(room.ctypes.data) - room.ctypes.data
    variables = room[start : start + len(image)]
    variables[:] = image
    program.initialise(variables.ctypes.data)
    return variables
