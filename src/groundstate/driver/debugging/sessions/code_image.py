"""An ELF file that tells debuggers which instruction belongs to which line of the source.

It has the code with its address, a symbol for each kernel, and DWARF 4: a compile unit, its
functions, and the table of lines.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from groundstate.compiler.program.debug_image import (
    EXECUTABLE,
    FUNCTION_SYMBOL,
    STRING_TABLE,
    X86_64,
    ElfWriter,
)
from groundstate.compiler.program.object_loader import ALLOCATED, PROGBITS, SYMBOL, SYMBOL_TABLE

COMPILE_UNIT, SUBPROGRAM = 0x11, 0x2E
NAME, STATEMENTS, LOW, HIGH = 0x03, 0x10, 0x11, 0x12
STRING, ADDRESS, NUMBER, OFFSET = 0x08, 0x01, 0x07, 0x17
COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE = 1, 2, 3, 4
END_SEQUENCE, SET_ADDRESS = 1, 2
OPERANDS = bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1))
"""How many operands each standard operation of a line program has."""
LINE_BASE, LINE_RANGE = 0xFB, 14
DWARF_VERSION = 4


class Line(NamedTuple):
    """The line that an instruction belongs to."""

    address: int
    file: str
    line: int


class Function(NamedTuple):
    """A kernel in memory."""

    name: str
    start: int
    end: int
    lines: Sequence[Line]


def code_image(address: int, code: bytes, functions: Sequence[Function], step: int) -> bytes:
    """The whole file, for code whose instructions have `step` bytes each."""
    writer = ElfWriter(X86_64)
    text = writer.add(b".text", PROGBITS, code, ALLOCATED | EXECUTABLE, address, alignment=16)
    symbols, names = bytearray(SYMBOL.size), bytearray(1)
    for each in functions:
        size = each.end - each.start
        symbols += SYMBOL.pack(len(names), FUNCTION_SYMBOL, 0, text, each.start, size)
        names += each.name.encode() + b"\0"
    writer.add(b".debug_abbrev", PROGBITS, _abbreviations())
    writer.add(b".debug_info", PROGBITS, _information(address, len(code), functions))
    writer.add(b".debug_line", PROGBITS, _line_table(functions, step))
    strings = writer.add(b".strtab", STRING_TABLE, bytes(names))
    writer.add(
        b".symtab", SYMBOL_TABLE, bytes(symbols), link=strings, info=1, entry_size=SYMBOL.size
    )
    return writer.finish()


def _abbreviations() -> bytes:
    unit = bytes((1, COMPILE_UNIT, 1, NAME, STRING, STATEMENTS, OFFSET))
    function = bytes((2, SUBPROGRAM, 0, NAME, STRING))
    extent = bytes((LOW, ADDRESS, HIGH, NUMBER, 0, 0))
    return unit + extent + function + extent + b"\0"


def _information(address: int, size: int, functions: Sequence[Function]) -> bytes:
    first = next((line.file for each in functions for line in each.lines), "kernels")
    entries = b"\x01" + first.encode() + b"\0" + struct.pack("<IQQ", 0, address, size)
    for each in functions:
        entries += b"\x02" + each.name.encode() + b"\0"
        entries += struct.pack("<QQ", each.start, each.end - each.start)
    return _with_length(struct.pack("<HIB", DWARF_VERSION, 0, 8) + entries + b"\0")


def _line_table(functions: Sequence[Function], step: int) -> bytes:
    files: dict[str, int] = {}
    for each in functions:
        for line in each.lines:
            files.setdefault(line.file, len(files) + 1)
    head = struct.pack("<BBBBBB", step, 1, 1, LINE_BASE, LINE_RANGE, len(OPERANDS) + 1) + OPERANDS
    head += b"\0"  # no folders but the program's
    for name in files:
        head += name.encode() + b"\0\0\0\0"
    head += b"\0"
    program = b"".join(_sequence(each, files, step) for each in functions if each.lines)
    return _with_length(struct.pack("<HI", DWARF_VERSION, len(head)) + head + program)


def _sequence(function: Function, files: dict[str, int], step: int) -> bytes:
    """The line program of a function: a row wherever the line changes."""
    program = bytes((0, 9, SET_ADDRESS)) + struct.pack("<Q", function.start)
    address, number = function.start, 1
    last: tuple[str, int] | None = None
    for line in function.lines:
        if (line.file, line.line) == last:
            continue
        last = line.file, line.line
        program += bytes((ADVANCE_PC,)) + _unsigned((line.address - address) // step)
        program += bytes((SET_FILE,)) + _unsigned(files[line.file])
        program += bytes((ADVANCE_LINE,)) + _signed(line.line - number) + bytes((COPY,))
        address, number = line.address, line.line
    program += bytes((ADVANCE_PC,)) + _unsigned((function.end - address) // step)
    return program + bytes((0, 1, END_SEQUENCE))


def _with_length(content: bytes) -> bytes:
    return struct.pack("<I", len(content)) + content


def _unsigned(value: int) -> bytes:
    """A number of any size, seven bits in a byte."""
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))


def _signed(value: int) -> bytes:
    found = bytearray()
    while not -0x40 <= value < 0x40:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value & 0x7F))
