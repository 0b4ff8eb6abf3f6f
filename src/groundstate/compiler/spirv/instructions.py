"""The grammar in a form that is quick to ask: what an instruction is called and what it takes."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from groundstate.compiler.spirv import grammar
from groundstate.compiler.spirv.errors import InvalidModule


class Operand(NamedTuple):
    """One operand of an instruction, or of a value of an enumeration."""

    kind: str  # "id", "integer", "string", "MemoryAccess"...
    optional: bool
    repeated: bool


class Row(NamedTuple):
    """One instruction: its number, its name, and what words follow."""

    number: int
    name: str  # "OpLoad", or "sin" in the set OpenCL.std
    has_type: bool
    has_result: bool
    operands: tuple[Operand, ...]  # without the type and the result
    fewest: int  # words that the operands take at least
    most: int | None  # None: any number
    id_positions: tuple[int, ...] | None  # of the operands; None: they depend on the other words
    all_ids_from: int  # from here on every operand is an id
    memory_at: int | None  # where MemoryAccess is, if only ids come before it


class Enumerant(NamedTuple):
    """One value of an enumeration, with the operands that follow it."""

    number: int
    name: str
    operands: tuple[Operand, ...]


_ONE_WORD = frozenset(("id", "integer", "extension_instruction", "float"))
_PLAIN = frozenset(
    name
    for name, text in grammar.ENUMERATIONS.items()
    if text.count(" ") == text.count("\n")  # `number name`, line by line
)
"""Enumerations whose values take no operands: one word each."""


def _operand(text: str) -> Operand:
    return Operand(text.rstrip("?*"), text.endswith("?"), text.endswith("*"))


def _rows(lines: str, prefix: str) -> dict[int, Row]:
    """A row for each line. Few lists of operands are different, and each is understood once."""
    rows: dict[int, Row] = {}
    shapes: dict[str, tuple[Any, ...]] = {}
    for line in lines.splitlines():
        number, name, *rest = line.split(" ", 2)
        operands = rest[0] if rest else ""
        shape = shapes.get(operands)
        if shape is None:
            shape = shapes[operands] = _shape(operands.split())
        at = int(number)
        rows[at] = Row(at, prefix + name, *shape)
    return rows


def _shape(texts: list[str]) -> tuple[Any, ...]:
    """Everything in a row that does not depend on what the instruction is called."""
    operands = tuple(_operand(text) for text in texts if text not in ("type", "result"))
    simple = all(operand.kind in _ONE_WORD or operand.kind in _PLAIN for operand in operands)
    repeated = bool(operands) and operands[-1].repeated
    fewest = sum(not (operand.optional or operand.repeated) for operand in operands)
    tail = simple and repeated and operands[-1].kind == "id"
    fixed = operands[:-1] if repeated else operands
    ids = tuple(i for i, operand in enumerate(fixed) if operand.kind == "id")
    return (
        "type" in texts,
        "result" in texts,
        operands,
        fewest,
        None if repeated or not simple else len(operands),
        ids if simple else None,
        len(fixed) if tail else 1 << 16,
        _memory_at(operands),
    )


def _memory_at(operands: tuple[Operand, ...]) -> int | None:
    kinds = [operand.kind for operand in operands]
    at = kinds.index("MemoryAccess") if "MemoryAccess" in kinds else 0
    return at if at and all(kind == "id" for kind in kinds[:at]) else None


ROWS = _rows(grammar.INSTRUCTIONS, "Op")
"""The instructions of SPIR-V, by number."""


@cache
def opencl_rows() -> dict[int, Row]:
    """The instructions of the set OpenCL.std, by number."""
    return _rows(grammar.OPENCL, "")


@cache
def enumeration(name: str) -> dict[int, Enumerant]:
    """The values of an enumeration, by number."""
    values = {}
    for line in grammar.ENUMERATIONS[name].splitlines():
        number, text, *operands = line.split()
        values[int(number)] = Enumerant(int(number), text, tuple(map(_operand, operands)))
    return values


def is_bits(name: str) -> bool:
    """Whether the values of an enumeration combine as bits."""
    return name in grammar.BITS


def opcode_name(opcode: int) -> str:
    """What an instruction is called.

    >>> opcode_name(128), opcode_name(60000)
    ('OpIAdd', 'instruction 60000')
    """
    row = ROWS.get(opcode)
    return row.name if row else f"instruction {opcode}"


def invalid(reason: str, word: int, offset: int) -> InvalidModule:
    """The error for an instruction that begins with a word."""
    return InvalidModule(reason, offset=offset, instruction=opcode_name(word & 0xFFFF))
