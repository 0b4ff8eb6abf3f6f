"""Strides in PTX: one multiplication in the place of a conversion and a shift.

LLVM widens a number in one block and shifts it in another, which it may also do twice, once on each
way to a loop. Then the assembler in the driver sees a stride of 64 bits that anything may have
written: it adds it in two halves that take two registers, and loads wait for each other. From
`mul.wide` of a number that is written once it knows that an address and the next differ by a
multiple of 32 bits, and one instruction makes each of the addresses of an unrolled loop.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_INSTRUCTION = re.compile(r"\s*(?:@!?%\w+\s+)?([a-z][\w.:]*)\s+(\{[^}]*\}|[%\w|]+)\s*,?(.*);\s*")
_REGISTER = re.compile(r"%[a-z]+\d+")
_SHIFT = re.compile(r"\tshl\.b64 \t(%rd\d+), (%rd\d+), (\d+);")
_SHORT_LOAD = re.compile(r"ld\.[\w.:]*\.([bus])32")
_WORD = re.compile(r"%(?:r|word)\d+")
"""A register of 32 bits; the low half of a longer one is widened, too."""
_WIDENED = {"cvt.u64.u32": "mul.wide.u32", "cvt.s64.s32": "mul.wide.s32"}
MOST_SHIFT = 30


class Definition(NamedTuple):
    """An instruction that writes a register."""

    line: int
    operation: str
    operands: str


def use(ptx: str) -> str:
    """The PTX of a module, with widening multiplications where a widened number was shifted."""
    lines = ptx.split("\n")
    starts = [at for at, line in enumerate(lines) if line.startswith("{")]
    for start in reversed(starts):
        end = next(at for at in range(start, len(lines)) if lines[at].startswith("}"))
        lines[start:end] = _in_function(lines[start:end])
    return "\n".join(lines)


def _definitions(lines: list[str]) -> dict[str, list[Definition]]:
    found: dict[str, list[Definition]] = {}
    for at, line in enumerate(lines):
        instruction = _INSTRUCTION.fullmatch(line)
        if instruction is not None:
            operation, written, operands = instruction.groups()
            for register in _REGISTER.findall(written):
                found.setdefault(register, []).append(Definition(at, operation, operands.strip()))
    return found


def _in_function(lines: list[str]) -> list[str]:
    lines = _with_words(lines)
    definitions = _definitions(lines)
    products: dict[str, tuple[str, str]] = {}
    for at, line in enumerate(lines):
        shift = _SHIFT.fullmatch(line)
        source = _widened(definitions, shift[2]) if shift is not None else None
        if shift is None or source is None or int(shift[3]) > MOST_SHIFT:
            continue
        operation, number = source
        lines[at] = f"\t{operation} \t{shift[1]}, {number}, {1 << int(shift[3])};"
        products[shift[1]] = lines[at], number
    return _written_once(lines, definitions, products)


def _with_words(lines: list[str]) -> list[str]:
    """Gives numbers of 32 bits that are loaded into long registers, and shifted there, a register
    of 32 bits and a conversion."""
    definitions = _definitions(lines)
    shifted = {shift[2] for shift in map(_SHIFT.fullmatch, lines) if shift is not None}
    added: dict[int, list[str]] = {}
    for register in sorted(shifted):
        only = definitions.get(register, [])
        load = _SHORT_LOAD.fullmatch(only[0].operation) if len(only) == 1 else None
        if load is not None:
            at, word = only[0].line, f"%word{len(added)}"
            kind = "s" if load[1] == "s" else "u"
            widened = f"\tcvt.{kind}64.{kind}32 \t{register}, {word};"
            added[at] = [lines[at].replace(register, word, 1), widened]
    if not added:
        return lines
    result = [lines[0], f"\t.reg .b32 \t%word<{len(added)}>;"]
    for at, line in enumerate(lines[1:], 1):
        result += added.get(at, [line])
    return result


def _widened(definitions: dict[str, list[Definition]], register: str) -> tuple[str, str] | None:
    """Of a register that holds a widened number: the multiplication that widens, and the number."""
    only = definitions.get(register, [])
    if len(only) != 1 or only[0].operation not in _WIDENED:
        return None
    number = only[0].operands
    is_fixed = _WORD.fullmatch(number) is not None and len(definitions.get(number, [])) == 1
    return (_WIDENED[only[0].operation], number) if is_fixed else None


def _written_once(
    lines: list[str],
    definitions: dict[str, list[Definition]],
    products: dict[str, tuple[str, str]],
) -> list[str]:
    """Products that are computed at several places are, behind the number, computed once."""
    added: dict[int, list[str]] = {}
    dropped: set[int] = set()
    for register, (line, number) in products.items():
        places = [each.line for each in definitions[register]]
        if len(places) > 1 and all(lines[at] == line for at in places):
            added.setdefault(definitions[number][0].line, []).append(line)
            dropped.update(places)
    result: list[str] = []
    for at, line in enumerate(lines):
        if at not in dropped:
            result.append(line)
        result += added.get(at, [])
    return result
