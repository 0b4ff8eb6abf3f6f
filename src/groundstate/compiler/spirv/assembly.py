"""Shows every instruction of a module, one on a line, in the assembly language of SPIR-V.

The text says all that the binary says: assembled again, it gives the same words. A module that
breaks rules is shown too, as far as its instructions can be told apart.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from groundstate.compiler.spirv import types as t
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.instructions import ROWS, Row
from groundstate.compiler.spirv.opcodes import Op
from groundstate.compiler.spirv.reader import HEADER_WORDS, read_header, to_words
from groundstate.compiler.spirv.strings import read_string
from groundstate.compiler.spirv.text import OperandText

EXTENDED = frozenset((Op.ExtInst, Op.ExtInstWithForwardRefsKHR))


def assembly(data: bytes | bytearray | memoryview, with_places: bool = False) -> Iterator[str]:
    """The lines of a module, with the word that each instruction begins at if that is wanted.
    Raises `InvalidModule` where an instruction has no end."""
    words = to_words(data)
    module = read_header(words)
    major, minor = module.version
    yield f"; SPIR-V\n; Version: {major}.{minor}\n; Bound: {module.bound}\n; Schema: {words[4]}"
    for place, line in _Lines(words).lines():
        yield f"{line}  ; word {place}" if with_places else line


def instruction_at(data: bytes | bytearray | memoryview, position: int) -> str:
    """The instruction that begins at a word of a module; empty if there is none."""
    lines = _Lines(to_words(data)).lines()
    return next((line.strip() for place, line in lines if place == position), "")


class _Lines:
    def __init__(self, words: array[int]) -> None:
        self.words = words
        self.number_types: dict[int, t.Type] = {}
        self.value_types: dict[int, int] = {}
        self.extensions: dict[int, str] = {}
        self.margin = len(f"%{words[3] - 1} = ")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Each instruction, and the word that it begins at."""
        position, end = HEADER_WORDS, len(self.words)
        while position < end:
            opcode, count = self.words[position] & 0xFFFF, self.words[position] >> 16
            if count == 0 or position + count > end:
                raise InvalidModule("an instruction does not fit", offset=position)
            operands = self.words[position + 1 : position + count].tolist()
            row = ROWS.get(opcode)
            if row is None or len(operands) < row.has_type + row.has_result:
                known = " ".join(f"!{word}" for word in self.words[position : position + count])
                yield position, " " * self.margin + known
            else:
                yield position, self._line(row, operands)
            position += count

    def _line(self, row: Row, words: list[int]) -> str:
        type_ = words[0] if row.has_type else 0
        result = words[row.has_type] if row.has_result else 0
        rest = words[row.has_type + row.has_result :]
        if result:
            self.value_types[result] = type_
        self._learn(row.number, result, rest)
        left = f"%{result} = " if row.has_result else ""
        parts = [row.name, *([f"%{type_}"] if row.has_type else [])]
        return left.rjust(self.margin) + " ".join(parts + self._operands(row, type_, rest))

    def _operands(self, row: Row, type_: int, words: list[int]) -> list[str]:
        kind, extension = self.number_types.get(type_), None
        if row.number == Op.Switch and words:
            kind = self.number_types.get(self.value_types.get(words[0], 0))
        if row.number in EXTENDED and words:
            extension = self.extensions.get(words[0])
        return OperandText("%{}".format, kind, extension).texts(row, words)

    def _learn(self, opcode: int, result: int, words: list[int]) -> None:
        """Remembers what later lines need to be told apart."""
        if opcode == Op.TypeInt and len(words) == 2 and 0 < words[0] <= 4096:
            self.number_types[result] = t.Int(words[0], bool(words[1]))
        elif opcode == Op.TypeFloat and words and words[0] in (16, 32, 64):
            self.number_types[result] = t.Float(*words[:2])
        elif opcode == Op.ExtInstImport and words:
            self.extensions[result] = read_string(words)[0]
