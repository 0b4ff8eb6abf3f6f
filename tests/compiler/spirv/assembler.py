"""A small assembler of SPIR-V, for instructions that the system's assembler does not know yet.

The language is that of `spirv-as`: one instruction on a line, `%name = OpIAdd %type %a %b`. It is
driven by the same tables as the reader, so that every instruction that can be read can be written.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence

from groundstate.compiler.spirv.grammar import ENUMERATIONS
from groundstate.compiler.spirv.instructions import (
    ROWS,
    Operand,
    Row,
    enumeration,
    opencl_rows,
)
from groundstate.compiler.spirv.operands import parameters_of
from groundstate.compiler.spirv.strings import string_words

MAGIC = 0x07230203
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\S+')
BY_NAME = {row.name: row for row in ROWS.values()}
FORMATS = {16: "e", 32: "f", 64: "d"}
PAIRS = {"incoming": ("id", "id"), "member": ("id", "integer"), "case": ("number", "id")}


def assemble(text: str, version: tuple[int, int] = (1, 4)) -> bytes:
    """The binary of a text."""
    return Assembler().assemble(text, version)


class Assembler:
    """Keeps what later lines need: ids by name, the types of numbers, and of values."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}
        self.numbers: dict[int, tuple[bool, int]] = {}
        """By the id of a type: whether it is a floating-point number, and its width."""
        self.types: dict[int, int] = {}
        """The type of each value."""

    def assemble(self, text: str, version: tuple[int, int]) -> bytes:
        body: list[int] = []
        for number, line in enumerate(text.splitlines(), 1):
            tokens = TOKEN.findall(line.split(";")[0])
            if tokens:
                try:
                    body += self._instruction(tokens)
                except (KeyError, ValueError, IndexError) as problem:
                    raise ValueError(f"line {number}: {line.strip()}: {problem!r}") from problem
        header = [MAGIC, version[0] << 16 | version[1] << 8, 0, len(self.ids) + 1, 0]
        words = header + body
        return struct.pack(f"<{len(words)}I", *words)

    def _id(self, token: str) -> int:
        if not token.startswith("%"):
            raise ValueError(f"{token} is no id")
        return self.ids.setdefault(token, len(self.ids) + 1)

    def _instruction(self, tokens: list[str]) -> list[int]:
        result = 0
        if len(tokens) > 1 and tokens[1] == "=":
            result, tokens = self._id(tokens[0]), tokens[2:]
        row, rest = BY_NAME[tokens[0]], tokens[1:]
        words: list[int] = []
        kind = 0
        if row.has_type:
            kind, rest = self._id(rest[0]), rest[1:]
            words.append(kind)
        if row.has_result:
            words.append(result)
            self.types[result] = kind
        source = iter(rest)
        words += self._operands(row, row.operands, source, kind)
        left = list(source)
        if left:
            raise ValueError(f"{' '.join(left)} is left over")
        self._learn(row, result, words)
        return [(len(words) + 1) << 16 | row.number, *words]

    def _learn(self, row: Row, result: int, words: Sequence[int]) -> None:
        if row.name in ("OpTypeInt", "OpTypeFloat"):
            self.numbers[result] = (row.name == "OpTypeFloat", words[1])

    def _operands(
        self, row: Row, kinds: Sequence[Operand], tokens: Iterator[str], type_: int
    ) -> list[int]:
        words: list[int] = []
        for operand in kinds:
            for token in tokens:
                if row.name == "OpSwitch" and operand.kind == "case":
                    type_ = self.types[words[0]]
                words += self._operand(row, operand.kind, token, tokens, type_)
                if not operand.repeated:
                    break
        return words

    def _operand(
        self, row: Row, kind: str, token: str, tokens: Iterator[str], type_: int
    ) -> list[int]:
        if kind in PAIRS:
            first, second = PAIRS[kind]
            return [
                *self._operand(row, first, token, tokens, type_),
                *self._operand(row, second, next(tokens), tokens, type_),
            ]
        if kind == "id":
            return [self._id(token)]
        if kind == "string":
            return string_words(token[1:-1].replace('\\"', '"'))
        if kind == "number":
            return self._number(token, type_)
        if kind == "operation":
            inner = BY_NAME[f"Op{token}"]
            return [inner.number, *self._operands(inner, inner.operands, tokens, type_)]
        if kind == "extension_instruction":
            if token.isdigit():
                return [int(token)]
            extended = next(each for each in opencl_rows().values() if each.name == token)
            return [extended.number, *self._operands(extended, extended.operands, tokens, type_)]
        if kind in ENUMERATIONS:
            value = _enumerant(kind, token)
            words = [value]
            for parameter in parameters_of(kind, value):
                words += self._operand(row, parameter.kind, next(tokens), tokens, type_)
            return words
        return [int(token, 0) & 0xFFFFFFFF]

    def _number(self, token: str, type_: int) -> list[int]:
        is_float, width = self.numbers[type_]
        if token.startswith("!"):
            bits = int(token[1:], 0)
        elif is_float:
            bits = int.from_bytes(struct.pack("<" + FORMATS[width], float(token)), "little")
        else:
            bits = int(token, 0) & ((1 << width) - 1)
        return [bits >> 32 * index & 0xFFFFFFFF for index in range((width + 31) // 32)]


def _enumerant(kind: str, text: str) -> int:
    names = {each.name: value for value, each in enumeration(kind).items()}
    value = 0
    for part in text.split("|"):
        value |= names[part] if part in names else int(part, 0)
    return value
