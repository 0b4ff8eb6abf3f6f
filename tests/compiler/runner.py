"""Runs compiled kernels without the driver, by `run` as docs/internals/compiler.md has it."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.program.dispatch import ALIGNMENT, Dispatch, Memory, RunGroups, aligned
from groundstate.compiler.program.kernel_compiler import KernelCode

Size = tuple[int, int, int]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Local:
    """An argument that is local memory."""

    size_bytes: int


@dataclass(frozen=True)
class Call:
    """A run of a kernel, with its arguments packed."""

    program: Program
    code: KernelCode
    groups: Size
    group_size: Size
    offset: Size
    block: bytearray
    arrays: dict[int, NDArray[Any]]
    """Arguments that the block has the addresses of, by their place in it."""
    variables: Bytes
    local_bytes: int
    streams: bool
    part: tuple[int, int]
    """The number of the first group that runs, and how many there are."""

    def dispatch(self, block: int = 0) -> Dispatch:
        """What compiled code reads, with the block at an address."""
        return Dispatch(
            *(block, self.offset, self.groups, self.group_size, 3, None),
            *(self.variables.ctypes.data, self.local_bytes, self.streams),
        )


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
    part: tuple[int, int] | None = None,
) -> None:
    """Runs a kernel over all groups, or a part of them, with `width` lanes."""
    signature = program.signature(name)
    code = program.compile(name, group_size, width)
    block = bytearray(signature.block_bytes + 16)
    local = aligned(code.local_bytes)
    arrays = {}
    for argument, value in zip(signature.arguments, arguments, strict=True):
        if isinstance(value, Local):
            data = local.to_bytes(8, "little")
            local += aligned(value.size_bytes)
        elif isinstance(value, np.ndarray):
            data = value.ctypes.data.to_bytes(8, "little")
            arrays[argument.offset] = value
        else:
            assert isinstance(value, np.generic)
            data = value.tobytes()
        block[argument.offset : argument.offset + len(data)] = data
    values = variables if variables is not None else new_variables(program)
    some = part if part is not None else (0, groups[0] * groups[1] * groups[2])
    given = (offset, block, arrays, values, local, streams, some)
    execute(Call(program, code, groups, group_size, *given))


def execute(call: Call) -> None:
    """Runs a kernel in this process. A plugin has another way (tests/arm64)."""
    packed = (ctypes.c_char * len(call.block)).from_buffer(call.block)
    memory = Memory(call.local_bytes, call.code.private_bytes, call.code.saved_bytes)
    dispatch = call.dispatch(ctypes.addressof(packed))
    RunGroups(call.code.address)(ctypes.addressof(dispatch), *call.part, memory.address)


def new_variables(program: Program) -> Bytes:
    """The program-scope variables of a program, as the driver makes them."""
    image = np.frombuffer(program.globals_image or b"\0", np.uint8)
    room = np.zeros(len(image) + ALIGNMENT, np.uint8)
    start = aligned(room.ctypes.data) - room.ctypes.data
    variables = room[start : start + len(image)]
    variables[:] = image
    program.initialise(variables.ctypes.data)
    return variables
