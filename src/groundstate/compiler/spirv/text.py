"""The words of operands as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from groundstate.compiler.spirv import types as t
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.fold_numbers import from_float, to_float
from groundstate.compiler.spirv.grammar import ENUMERATIONS
from groundstate.compiler.spirv.instructions import (
    ROWS,
    Operand,
    Row,
    enumeration,
    is_bits,
    opencl_rows,
)
from groundstate.compiler.spirv.operands import OPENCL_STD, PAIRS, parameters_of
from groundstate.compiler.spirv.strings import read_string
from groundstate.printable import printable

ShowId = Callable[[int], str]

FLOAT_SHAPES = {16: (10, 15, 5), 32: (23, 127, 9), 64: (52, 1023, 17)}
"""By width: bits of the fraction, bias of the exponent, digits that tell all numbers apart."""


class OperandText:
    """Turns the operands of one instruction into words for people.

    `number_type` is the type of numbers whose size depends on it: those of OpConstant and OpSwitch.
    `extension` is the name of the set that OpExtInst uses.
    """

    def __init__(
        self, show_id: ShowId, number_type: t.Type | None = None, extension: str | None = None
    ) -> None:
        self.show_id = show_id
        self.number_type = number_type
        self.extension = extension

    def texts(self, row: Row, words: Sequence[int]) -> list[str]:
        """One text for each operand. Words that the grammar does not expect follow as numbers."""
        texts: list[str] = []
        at = self._take_all(row.operands, words, 0, texts)
        return texts + [f"!{word}" for word in words[at:]]

    def _take_all(
        self, kinds: Sequence[Operand], words: Sequence[int], at: int, texts: list[str]
    ) -> int:
        for kind in kinds:
            if kind.repeated:
                while at < len(words):
                    at = self._take(kind.kind, words, at, texts)
            elif at < len(words):
                at = self._take(kind.kind, words, at, texts)
        return at

    def _take(self, kind: str, words: Sequence[int], at: int, texts: list[str]) -> int:
        """Adds the text of one operand and returns where the next one begins."""
        word = words[at]
        if kind == "id":
            texts.append(self.show_id(word))
        elif kind == "string":
            return self._take_string(words, at, texts)
        elif kind == "number" or (kind == "case" and self.number_type is not None):
            at = self._take_number(words, at, texts)
            if kind == "case" and at < len(words):
                return self._take("id", words, at, texts)
            return at
        elif kind in PAIRS:
            for part in PAIRS[kind][: len(words) - at]:
                at = self._take(part, words, at, texts)
            return at
        elif kind == "operation":
            return self._take_operation(words, at, texts)
        elif kind in ENUMERATIONS:
            texts.append(enumerant_text(kind, word))
            for parameter in parameters_of(kind, word):
                if at + 1 < len(words):
                    at = self._take(parameter.kind, words, at + 1, texts) - 1
        elif kind == "extension_instruction":
            texts.append(self._extension_name(word))
        else:
            texts.append(str(word))
        return at + 1

    def _take_string(self, words: Sequence[int], at: int, texts: list[str]) -> int:
        try:
            text, used = read_string(words[at:])
        except InvalidModule:
            texts.extend(f"!{word}" for word in words[at:])
            return len(words)
        texts.append(quoted(text))
        return at + used

    def _take_number(self, words: Sequence[int], at: int, texts: list[str]) -> int:
        kind = self.number_type
        width = kind.width if isinstance(kind, t.Int | t.Float) else 32
        count = (width + 31) // 32
        if kind is None or at + count > len(words):
            texts.append(f"!{words[at]}")
            return at + 1
        bits = sum(words[at + index] << 32 * index for index in range(count))
        texts.append(number_text(kind, bits))
        return at + count

    def _take_operation(self, words: Sequence[int], at: int, texts: list[str]) -> int:
        """The operation of OpSpecConstantOp, with operands of its own."""
        row = ROWS.get(words[at])
        texts.append(row.name.removeprefix("Op") if row else f"!{words[at]}")
        return self._take_all(row.operands, words, at + 1, texts) if row else at + 1

    def _extension_name(self, number: int) -> str:
        row = opencl_rows().get(number) if self.extension == OPENCL_STD else None
        return row.name if row else str(number)


def quoted(text: str) -> str:
    """A text in quotes.

    >>> print(quoted('say "hi"'))
    "say \\"hi\\""
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{printable(escaped)}"'


def enumerant_text(kind: str, value: int) -> str:
    """The name of a value of an enumeration, or the names of bits.

    >>> enumerant_text("StorageClass", 5), enumerant_text("MemoryAccess", 6)
    ('CrossWorkgroup', 'Aligned|Nontemporal')
    """
    known = enumeration(kind)
    if value in known or not is_bits(kind):
        return known[value].name if value in known else f"!{value}"
    names = list(_bit_names(kind, value))
    return "|".join(names) if names else f"!{value}"


def _bit_names(kind: str, value: int) -> Iterator[str]:
    known = enumeration(kind)
    for bit in range(value.bit_length()):
        if value >> bit & 1 and 1 << bit in known:
            yield known[1 << bit].name


def number_text(kind: t.Type, bits: int) -> str:
    """A number of a type as text from which its bits can be found again."""
    if isinstance(kind, t.Bool):
        return "true" if bits else "false"
    if isinstance(kind, t.Int):
        bits &= (1 << kind.width) - 1
        negative = kind.signed and bits >> (kind.width - 1)
        return str(bits - (1 << kind.width) if negative else bits)
    if isinstance(kind, t.Float):
        return float_text(kind, bits)
    return str(bits)


def float_text(kind: t.Float, bits: int) -> str:
    """A floating-point number with as few digits as tell it apart.

    >>> float_text(t.Float(32), 0x3DCCCCCD), float_text(t.Float(32), 0xFF800000)
    ('0.1', '-0x1p+128')
    """
    if kind.encoding is not None or kind.width not in FLOAT_SHAPES:
        return f"0x{bits:x}"
    fraction_bits, bias, digits = FLOAT_SHAPES[kind.width]
    bits &= (1 << kind.width) - 1
    value = to_float(kind, bits)
    if math.isfinite(value):
        for precision in range(1, digits + 1):
            text = f"{value:.{precision}g}"
            if from_float(kind, float(text)) == bits:
                return text
    sign = "-" if bits >> (kind.width - 1) & 1 else ""
    fraction = (bits & ((1 << fraction_bits) - 1)) << (-fraction_bits % 4)
    hexadecimal = f"{fraction:0{(fraction_bits + 3) // 4}x}".rstrip("0")
    point = f".{hexadecimal}" if hexadecimal else ""
    return f"{sign}0x1{point}p+{bias + 1}"
