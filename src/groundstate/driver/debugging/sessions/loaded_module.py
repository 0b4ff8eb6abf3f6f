"""The code of a module as a debugger sees it: instructions that have addresses.

A kernel that is stepped has no machine code. Each instruction of its graph gets `SLOT` bytes of
memory here, so that there are addresses to point at, and a byte that is a breakpoint.

| byte | meaning |
|---|---|
| 0 | not 0: threads stop before this instruction |
| 2, 3 | the first register of its result in the register set of values; 0xffff: it has none |
| 4 to 15 | the name of the operation, as far as it fits |
"""

from __future__ import annotations

import ctypes
import struct

from groundstate.compiler.errors import BuildError
from groundstate.compiler.spirv.types import Bool, Float, Int, Pointer, Type, Vector
from groundstate.compiler.step.code import Instruction, StepCode
from groundstate.compiler.step.values import stored_bytes
from groundstate.compiler.step.work_item import WorkItem
from groundstate.driver.debugging.sessions.code_image import Function, Line, code_image
from groundstate.driver.module import Module

SLOT = 16
WORD = 8
NO_VALUE = 0xFFFF
_SLOT = struct.Struct("<BxH12s")


class ValueWord:
    """Eight bytes of a value that work-items compute: what one register of the set of values is."""

    __slots__ = ("offset", "slot", "type")

    def __init__(self, slot: int, kind: Type, offset: int) -> None:
        self.slot = slot
        self.type = kind
        self.offset = offset


class LoadedKernel:
    """A kernel, and where its instructions are."""

    def __init__(self, code: StepCode, first: int) -> None:
        self.code = code
        self.starts: list[int] = []
        """The number of the first instruction of each block, among those of the module."""
        self.first = first
        for block in code.blocks:
            self.starts.append(first)
            first += len(block.instructions)
        self.end = first
        self.words: list[ValueWord] = []
        self.first_word: dict[int, int] = {}
        """By the slot of a value, the first of its registers."""
        for node, slot in code.slots.items():
            if isinstance(node.type, Int | Float | Bool | Pointer | Vector):
                self.first_word[slot] = len(self.words)
                size = stored_bytes(node.type)
                self.words += [ValueWord(slot, node.type, at) for at in range(0, size, WORD)]

    def instructions(self) -> list[Instruction]:
        """All of them, in the order of their addresses."""
        return [each for block in self.code.blocks for each in block.instructions]

    def number(self, item: WorkItem) -> int:
        """The number of the instruction that a work-item executes next."""
        return self.starts[item.block] + item.at


class LoadedModule:
    """The kernels of a module that can be stepped, and the memory that describes them."""

    def __init__(self, module: Module) -> None:
        self.program = module.program
        self.kernels: dict[str, LoadedKernel] = {}
        count = 0
        for name in self.program.kernel_names:
            try:
                kernel = LoadedKernel(StepCode(self.program, name), count)
            except BuildError:
                continue
            self.kernels[name] = kernel
            count = kernel.end
        self._memory = ctypes.create_string_buffer(SLOT * (count + 1))
        base = ctypes.addressof(self._memory)
        self.address = -(-base // SLOT) * SLOT
        self._bytes = memoryview(self._memory).cast("B")[self.address - base :]
        self._write_slots()
        self._image = ctypes.create_string_buffer(self._make_image())

    def _write_slots(self) -> None:
        for kernel in self.kernels.values():
            for number, each in enumerate(kernel.instructions(), kernel.first):
                name = each.node.op if each.node is not None else "Branch"
                word = kernel.first_word.get(each.slot, NO_VALUE)
                packed = _SLOT.pack(0, min(word, NO_VALUE), name.encode()[:12])
                self._bytes[SLOT * number : SLOT * (number + 1)] = packed

    def _make_image(self) -> bytes:
        functions = []
        for name, kernel in self.kernels.items():
            lines: list[Line] = []
            for number, each in enumerate(kernel.instructions(), kernel.first):
                if each.location is not None:
                    place = each.location
                    lines.append(Line(self.address_of(number), place.file, place.line))
            start, end = self.address_of(kernel.first), self.address_of(kernel.end)
            functions.append(Function(name, start, end, lines))
        size = SLOT * max((each.end for each in self.kernels.values()), default=0)
        return code_image(self.address, bytes(self._bytes[:size]), functions, SLOT)

    def address_of(self, number: int) -> int:
        """Where an instruction is."""
        return self.address + SLOT * number

    @property
    def image(self) -> tuple[int, int]:
        """Where the ELF file begins and ends that describes the code."""
        begin = ctypes.addressof(self._image)
        return begin, begin + len(self._image) - 1

    def breakpoints(self, kernel: LoadedKernel) -> bytes:
        """A byte for each instruction of a kernel that is not 0 at breakpoints; none: no bytes."""
        marks = bytes(self._bytes[SLOT * kernel.first : SLOT * kernel.end : SLOT])
        return marks if any(marks) else b""
