"""SPIR-V taken apart into instructions, and each word into what the grammar says it is."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.instructions import ROWS
from groundstate.compiler.spirv.opcodes import Op
from groundstate.compiler.spirv.operands import walk

HEADER_WORDS = 5
TYPE_OPCODES = frozenset(number for number, row in ROWS.items() if row.name.startswith("OpType"))


@dataclass
class Line:
    """One instruction, with the kind of each word after the first."""

    opcode: int
    words: list[int]
    kinds: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.kinds:
            self.kinds = kinds_of(self.opcode, self.words)

    def copy(self) -> Line:
        return Line(self.opcode, list(self.words), list(self.kinds))

    def places(self, kind: str) -> list[int]:
        """Where words of a kind are."""
        return [at for at, each in enumerate(self.kinds) if each == kind]

    @property
    def result(self) -> int:
        at = self.places("result")
        return self.words[at[0]] if at else 0

    @property
    def type(self) -> int:
        at = self.places("type")
        return self.words[at[0]] if at else 0


def kinds_of(opcode: int, words: Sequence[int]) -> list[str]:
    """What the words behind the first word of an instruction are, as far as it can be told."""
    row = ROWS.get(opcode)
    if row is None:
        return ["number"] * len(words)
    kinds = ["type"] * row.has_type + ["result"] * row.has_result
    rest = words[len(kinds) :]
    try:
        for kind, _ in walk(row.operands, rest):
            kinds.append(kind)
    except (InvalidModule, KeyError, ValueError, IndexError):
        pass
    kinds = kinds[: len(words)]
    return kinds + ["number"] * (len(words) - len(kinds))


class Text:
    """A module taken apart."""

    def __init__(self, data: bytes) -> None:
        words = array("I", data[: len(data) // 4 * 4]).tolist()
        self.header = (words + [0] * HEADER_WORDS)[:HEADER_WORDS]
        self.lines: list[Line] = []
        self.rest: list[int] = []
        at = HEADER_WORDS
        while at < len(words):
            count = words[at] >> 16
            if count == 0 or at + count > len(words):
                self.rest = words[at:]
                break
            self.lines.append(Line(words[at] & 0xFFFF, words[at + 1 : at + count]))
            at += count

    def pack(self) -> bytes:
        words = list(self.header)
        for line in self.lines:
            words.append((len(line.words) + 1 & 0xFFFF) << 16 | line.opcode)
            words += line.words
        return array("I", words + self.rest).tobytes()

    def new_id(self) -> int:
        """An id that nobody uses."""
        self.header[3] = min(self.header[3] + 1, 0xFFFFFFFF)
        return self.header[3] - 1

    @property
    def first_function(self) -> int:
        """Where functions begin."""
        places = (at for at, line in enumerate(self.lines) if line.opcode == Op.Function)
        return next(places, len(self.lines))

    def ids(self, wanted: Callable[[Line], bool]) -> list[int]:
        """The results of some instructions."""
        return [line.result for line in self.lines if line.result and wanted(line)]

    def types(self) -> list[int]:
        return self.ids(lambda line: line.opcode in TYPE_OPCODES)

    def line_of(self, id: int) -> Line | None:
        return next((line for line in self.lines if id and line.result == id), None)
