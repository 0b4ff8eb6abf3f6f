"""The text that a stepped printf makes, by OpenCL's rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundstate.compiler.step.memory import Memory

MOST_BYTES = 1 << 16
"""Of a format or a string."""
SPECIFIER = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d+)?(?:\.(?P<precision>\d*))?"
    r"(?:v(?P<count>\d+))?(?P<length>hh|hl|h|l|j|z|t|L)?(?P<kind>[diouxXfFeEgGaAcsp%])"
)
BITS = {"hh": 8, "h": 16, "hl": 32, "l": 64, "j": 64, "z": 64, "t": 64}


def formatted(memory: Memory, form: int, arguments: Sequence[Sequence[int | float]]) -> str:
    """The text of a format, whose address is given, and of arguments component by component."""
    rest = iter(arguments)

    def put(match: re.Match[str]) -> str:
        if match["kind"] == "%":
            return "%"
        parts = next(rest, (0,))
        return ",".join(_one(memory, match, part) for part in parts)

    return SPECIFIER.sub(put, text_at(memory, form))


def text_at(memory: Memory, address: int) -> str:
    """The text that ends with a zero byte."""
    found = bytearray()
    while len(found) < MOST_BYTES:
        byte = memory.read(address + len(found), 1)
        if byte == b"\0":
            break
        found += byte
    return found.decode("utf-8", "replace")


def _one(memory: Memory, match: re.Match[str], value: int | float) -> str:
    kind, flags = match["kind"], match["flags"]
    width = match["width"] or ""
    precision = f".{match['precision'] or 0}" if match["precision"] is not None else ""
    if kind == "s":
        text = text_at(memory, int(value)) if value else "(null)"
        return f"%{flags}{width}{precision}s" % text
    if kind == "c":
        return f"%{flags}{width}c" % chr(int(value) & 255)
    if kind == "p":
        return f"%{flags}{width}s" % hex(int(value) & (1 << 64) - 1)
    if kind in "aA":
        text = float(value).hex()
        return text.upper() if kind == "A" else text
    if kind in "diouxX":
        bits = BITS.get(match["length"] or "", 32)
        number = int(value) & (1 << bits) - 1
        if kind in "di" and number >> (bits - 1):
            number -= 1 << bits
        return f"%{flags}{width}{precision}{'d' if kind == 'u' else kind}" % number
    return f"%{flags}{width}{precision}{kind}" % float(value)
