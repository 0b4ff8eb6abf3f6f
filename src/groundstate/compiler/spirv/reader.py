"""Reads a SPIR-V binary: finds what is where, and leaves function bodies for later."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator, Mapping

from groundstate.compiler.light_dataclass import replace
from groundstate.compiler.spirv.annotations import Annotations
from groundstate.compiler.spirv.bodies import read_function
from groundstate.compiler.spirv.debug_info import DebugInfo
from groundstate.compiler.spirv.declarations import Declarations
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.instructions import invalid
from groundstate.compiler.spirv.module import Function, Module
from groundstate.compiler.spirv.opcodes import Op
from groundstate.compiler.spirv.preamble import Preamble

MAGIC = 0x07230203
SWAPPED_MAGIC = 0x03022307
HEADER_WORDS = 5
MAX_MINOR = 6
MAX_BOUND = 1 << 26
"""Sixteen times as many ids as SPIR-V's limits ask implementations to support."""

FUNCTION = (5 << 16) | Op.Function
FUNCTION_END = (1 << 16) | Op.FunctionEnd
BETWEEN_FUNCTIONS = frozenset(
    (Op.Nop, Op.Line, Op.NoLine, Op.ExtInst, Op.ExtInstWithForwardRefsKHR)
)
"""What may stand between two functions; all of it is for debuggers."""


def read(data: bytes | bytearray | memoryview) -> Module:
    """Reads a module; raises `InvalidModule` for anything that is not one."""
    words = to_words(data)
    module = read_header(words)
    return _Reader(module, words).read()


def to_words(data: bytes | bytearray | memoryview) -> array[int]:
    """The words of a binary in the byte order of this machine."""
    if len(data) % 4:
        raise InvalidModule(f"the size of a module is a multiple of 4 bytes; this has {len(data)}")
    words = array("I", bytes(data))
    if len(words) < HEADER_WORDS:
        raise InvalidModule(f"a module has at least {4 * HEADER_WORDS} bytes; this has {len(data)}")
    if words[0] == SWAPPED_MAGIC:
        words.byteswap()
    if words[0] != MAGIC:
        first = bytes(data[:4]).hex(" ")
        raise InvalidModule(f"this is not SPIR-V: it begins with the bytes {first}", offset=0)
    return words


def is_spirv(data: bytes | bytearray | memoryview) -> bool:
    """Whether something begins as a SPIR-V binary does, in either byte order."""
    magic = MAGIC.to_bytes(4, sys.byteorder)
    return bytes(data[:4]) in (magic, magic[::-1])


def read_header(words: array[int]) -> Module:
    """The empty module that a header announces."""
    version, generator, bound = words[1], words[2], words[3]
    major, minor = version >> 16 & 0xFF, version >> 8 & 0xFF
    if version >> 24 or version & 0xFF or major != 1 or minor > MAX_MINOR:
        raise InvalidModule(f"SPIR-V version {major}.{minor} is not known", offset=1)
    if not 0 < bound <= MAX_BOUND:
        raise InvalidModule(f"the bound of ids is {bound}; the limit is {MAX_BOUND}", offset=3)
    return Module((major, minor), generator, bound)


class _Reader:
    """Reads one module in three steps: preamble, declarations, the places of functions."""

    def __init__(self, module: Module, words: array[int]) -> None:
        self.module = module
        self.words = words
        self.ranges: dict[int, tuple[int, int]] = {}

    def read(self) -> Module:
        module, words = self.module, self.words
        annotations = Annotations(module)
        preamble = Preamble(module, words, annotations)
        end = preamble.read(HEADER_WORDS)
        annotations.apply_groups()
        module._read_names = preamble.read_names
        module._read_debug_info = lambda of: DebugInfo(of, words, end)
        self._index_functions(end, preamble.places)
        declarations = Declarations(module, words, preamble)
        declarations.define_all({})
        preamble.finish()
        module.global_ids = preamble.places.keys()
        module._read_function = self._read_function
        module._specialise = lambda values: self._specialised(values, preamble)
        return module

    def _specialised(self, values: Mapping[int, bytes], preamble: Preamble) -> Module:
        base = self.module
        modes = {id: dict(mode) for id, mode in preamble.raw_modes.items()}
        fresh = replace(base, types={}, constants={}, variables={}, execution_modes=modes)
        Declarations(fresh, self.words, preamble).define_all(values)
        preamble.resolve_modes(fresh)
        return fresh

    def _read_function(self, module: Module, id: int) -> Function:
        start, end = self.ranges[id]
        return read_function(module, self.words, start, end)

    def _index_functions(self, position: int, places: dict[int, int]) -> None:
        """Finds where each function begins and ends, looking at nothing but word counts."""
        words, module = self.words, self.module
        first, end, start = position, len(words), -1
        seen: set[int] = set()
        while position < end:
            word = words[position]
            seen.add(word & 0xFFFF)
            if word == FUNCTION_END:
                if start < 0:
                    raise invalid("no function is open", word, position)
                self._add_function(start, position + 1, places)
                start = -1
            elif word & 0xFFFF == Op.Function:
                if start >= 0:
                    raise invalid("a function begins inside another", word, position)
                if word != FUNCTION or position + 5 > end:
                    raise invalid("it has 5 words", word, position)
                start = position
            elif start < 0 and word & 0xFFFF not in BETWEEN_FUNCTIONS:
                raise invalid("it stands outside of a function", word, position)
            position += word >> 16
            if word < 0x10000:
                raise invalid("an instruction of 0 words", word, position)
        if position > end:
            raise InvalidModule(
                f"the last instruction ends {position - end} words after the module"
            )
        if start >= 0:
            name = module.function_name(words[start + 2])
            raise InvalidModule(
                "it has no end", offset=start, instruction="OpFunction", function=name
            )
        module.function_ids = tuple(self.ranges)
        module.opcodes = frozenset(seen)
        if Op.ConstantFunctionPointerINTEL in seen:
            module.functions_pointed_to = tuple(self._pointed_to(first))
        if any(id in self.ranges for id in module.imports):
            module.functions_called = frozenset(self._called(first))

    def _called(self, position: int) -> Iterator[int]:
        """The functions that instructions of a body call."""
        words = self.words
        while position < len(words):
            count = words[position] >> 16
            if words[position] & 0xFFFF == Op.FunctionCall and count > 3:
                yield words[position + 3]
            position += count

    def _pointed_to(self, position: int) -> Iterator[int]:
        """The functions whose address is taken by an instruction of a body."""
        words = self.words
        while position < len(words):
            count = words[position] >> 16
            is_pointer = words[position] == 4 << 16 | Op.ConstantFunctionPointerINTEL
            if is_pointer and words[position + 3] in self.ranges:
                yield words[position + 3]
            position += count

    def _add_function(self, start: int, end: int, places: dict[int, int]) -> None:
        id, kind = self.words[start + 2], self.words[start + 4]
        if not 0 < id < self.module.bound:
            raise InvalidModule(
                f"the id %{id} is out of range", offset=start, instruction="OpFunction"
            )
        if id in places:
            raise InvalidModule(f"%{id} is defined twice", offset=start, instruction="OpFunction")
        places[id] = start
        self.ranges[id] = (start, end)
        self.module.function_types[id] = kind
