"""A plugin of pytest: kernels that tests run without the driver (`tests/compiler/runner.py`) are
compiled for AArch64, here, and an emulator runs nothing but their code.

    python -m pytest -p tests.arm64.kernels tests/compiler/vector/test_rows.py

It needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user-static. Some tests fail this
way though nothing is wrong: those that look at code for x86-64, that call code themselves, and
those whose arguments point to memory with further pointers. Memory has no bounds in the emulator.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

os.environ["GROUNDSTATE_COMPILER_PROCESS"] = "0"  # what is changed below is changed in this one

from groundstate.compiler.llvm import backend, library
from groundstate.compiler.program import kernel_compiler
from groundstate.compiler.program.dispatch import Dispatch
from tests.compiler import runner

SOURCE = Path(__file__).with_name("run_kernel.c")
COMPILER = "aarch64-linux-gnu-gcc"
CPU = "neoverse-n1"
FEATURES = "+crc,+dotprod,+fp-armv8,+fullfp16,+lse,+neon,+rcpc,+rdm,+v8.2a"
EMULATOR = ("qemu-aarch64-static", "-cpu", CPU)
HEADER = struct.Struct("<7Q")
BUFFER = struct.Struct("<2Q")
POINTER = struct.Struct("<4Q")
PAGE = 4096
DISPATCH, BLOCK, FIRST_OF_TEST = range(3)
"""The numbers of buffers."""

Place = tuple[int, int]
"""The number of a buffer, and a distance from its start."""

_programs: set[Path] = set()
_folder = tempfile.TemporaryDirectory(prefix="groundstate-arm64-")
_runs = 0


class OtherMachine(backend.NativeMachine):
    """The machine that code is written for."""

    def __init__(self) -> None:
        for part in ("TargetInfos", "Targets", "TargetMCs", "AsmPrinters"):
            library.call(f"InitializeAll{part}")
        self.cpu, self.features, self.triple = CPU, FEATURES, "aarch64-unknown-linux-gnu"
        self.machine = self._translator(2)
        self._quick_machine = None
        self._others = {}
        self._linker = None


class NotLoaded:
    """Code that this machine cannot run. It stands for its address, which nobody can call."""

    def __init__(self, code: bytes) -> None:
        self.code = code
        self.address = self


def program_for(code: bytes) -> Path:
    """A program that runs a kernel."""
    program = Path(_folder.name) / hashlib.sha256(code).hexdigest()
    if program not in _programs:
        part = program.with_suffix(".o")
        part.write_bytes(code)
        command = [COMPILER, "-O1", "-static", str(SOURCE), str(part), "-lm", "-o", str(program)]
        subprocess.run(command, check=True)
        _programs.add(program)
    return program


@dataclass(frozen=True)
class Extent:
    """Memory of a test; what overlaps is one."""

    start: int
    end: int

    def packed(self) -> bytes:
        content = ctypes.string_at(self.start, self.end - self.start)
        return BUFFER.pack(len(content), self.start % PAGE) + content


def extents_of(call: runner.Call) -> list[Extent]:
    found: list[Extent] = []
    arrays: list[Any] = [*call.arrays.values(), call.variables]
    for start, size in sorted((each.ctypes.data, each.nbytes) for each in arrays):
        if found and start < found[-1].end:
            start, size = found[-1].start, max(found[-1].end, start + size) - found.pop().start
        found.append(Extent(start, start + size))
    return found


def place_of(extents: list[Extent], address: int) -> Place:
    for number, each in enumerate(extents, FIRST_OF_TEST):
        if each.start <= address < each.end:
            return number, address - each.start
    return DISPATCH, 0  # of an array without elements


def pointers_of(call: runner.Call, extents: list[Extent]) -> Iterator[tuple[Place, Place]]:
    """Where addresses are, and what they lead to."""
    variables = call.variables.ctypes.data
    yield (DISPATCH, Dispatch.arguments.offset), (BLOCK, 0)
    yield (DISPATCH, Dispatch.globals.offset), place_of(extents, variables)
    for offset, array in call.arrays.items():
        yield (BLOCK, offset), place_of(extents, array.ctypes.data)
    for offset in call.program.globals.relocations:
        value = ctypes.c_uint64.from_address(variables + offset).value
        yield place_of(extents, variables + offset), place_of(extents, value)


def execute(call: runner.Call) -> None:
    """Runs a kernel in the emulator."""
    global _runs
    _runs += 1
    code: Any = call.code.address
    program = program_for(code.code)
    extents = extents_of(call)
    pointers = list(pointers_of(call, extents))
    sizes = call.local_bytes, call.code.private_bytes, call.code.saved_bytes
    first = [bytes(call.dispatch()), bytes(call.block)]
    content = HEADER.pack(*call.part, *sizes, len(first) + len(extents), len(pointers))
    content += b"".join(BUFFER.pack(len(each), 0) + each for each in first)
    content += b"".join(each.packed() for each in extents)
    content += b"".join(POINTER.pack(*place, *to) for place, to in pointers)
    given, taken = program.with_suffix(".in"), program.with_suffix(".out")
    given.write_bytes(content)
    subprocess.run([*EMULATOR, program, given, taken], check=True)
    result = memoryview(taken.read_bytes())[sum(map(len, first)) :]
    for each in extents:
        size = each.end - each.start
        ctypes.memmove(each.start, bytes(result[:size]), size)
        result = result[size:]


def pytest_configure() -> None:
    changed: Any = backend, kernel_compiler, runner
    changed[0].NativeMachine = OtherMachine
    changed[1].load = NotLoaded
    changed[2].execute = execute


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"{_runs} runs of {len(_programs)} kernels for AArch64")
