"""The debug information of loaded code: DWARF with the addresses that the code has in memory.

An object file's debug sections refer to its code by relocations. Here they are resolved, and those
of several kernels joined, as a linker does it, into one ELF file: for debuggers
(`native/faults/debuggers.c`), and for zetModuleGetDebugInfo.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import NamedTuple

from groundstate.compiler.program.object_loader import (
    ALLOCATED,
    PROGBITS,
    RELOCATION,
    RELOCATIONS,
    SECTION,
    SYMBOL,
    SYMBOL_TABLE,
    Section,
    Symbol,
)

ELF_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
IDENTITY = b"\x7fELF\x02\x01\x01" + bytes(9)
EXECUTABLE_FILE, X86_64 = 2, 62
STRING_TABLE = 3
EXECUTABLE = 4
FUNCTION_SYMBOL = 0x12
"""A function that everybody sees."""
WHOLE_WORDS, HALF_WORDS = frozenset((1, 257)), frozenset((10, 258))
"""Relocations to absolute addresses of 64 and 32 bits, of x86-64 and AArch64."""
PREFIX = b".debug_"
LINE_TABLE = b".debug_line"


NOT_ELF = (struct.error, LookupError, ValueError, StopIteration)
"""What happens with bytes that are not an object file of ours."""


class Code(NamedTuple):
    """Code in memory, and the object file that it comes from."""

    name: str
    binary: bytes
    address: int
    """Where its symbol `run` is."""


class _Object:
    """An object file, and where its parts go."""

    def __init__(self, code: Code) -> None:
        self.code = code
        header = ELF_HEADER.unpack_from(code.binary)
        self.machine = header[2]
        table, count, names = header[6], header[12], header[13]
        self.sections = [
            Section(*SECTION.unpack_from(code.binary, table + SECTION.size * index))
            for index in range(count)
        ]
        strings = self.content(self.sections[names])
        self.names = [_text(strings, each.name) for each in self.sections]
        listed = next(each for each in self.sections if each.kind == SYMBOL_TABLE)
        self.symbols = [Symbol(*each) for each in SYMBOL.iter_unpack(self.content(listed))]
        symbol_names = self.content(self.sections[listed.link])
        run = next(
            each
            for each in self.symbols
            if each.section and _text(symbol_names, each.name) == b"run"
        )
        self.text_index = run.section
        self.text_address = code.address - run.value

    def content(self, section: Section) -> bytes:
        return self.code.binary[section.offset : section.offset + section.size]

    @property
    def text(self) -> bytes:
        """The code as it is in memory."""
        return ctypes.string_at(self.text_address, self.sections[self.text_index].size)

    def debug_sections(self) -> list[tuple[int, bytes, Section]]:
        """The index, name and header of each section for debuggers."""
        return [
            (index, name, self.sections[index])
            for index, name in enumerate(self.names)
            if name.startswith(PREFIX) and self.sections[index].kind == PROGBITS
        ]


class _Linked:
    """The debug sections of objects, joined by name."""

    def __init__(self, objects: Sequence[_Object], wanted: bytes = PREFIX) -> None:
        self.sections: dict[bytes, bytearray] = {}
        for each in objects:
            places: dict[int, int] = {each.text_index: each.text_address}
            for index, name, section in each.debug_sections():
                joined = self.sections.setdefault(name, bytearray())
                places[index] = len(joined)
                joined += each.content(section)
            for index, name, _ in each.debug_sections():
                if name.startswith(wanted):
                    self._relocate(each, index, name, places)

    def _relocate(self, source: _Object, index: int, name: bytes, places: dict[int, int]) -> None:
        into, start = self.sections[name], places[index]
        for section in source.sections:
            if section.kind != RELOCATIONS or section.info != index:
                continue
            for offset, info, addend in RELOCATION.iter_unpack(source.content(section)):
                symbol, kind = source.symbols[info >> 32], info & 0xFFFFFFFF
                value = places.get(symbol.section, 0) + symbol.value + addend
                if kind in WHOLE_WORDS:
                    struct.pack_into("<Q", into, start + offset, value)
                elif kind in HALF_WORDS:
                    struct.pack_into("<I", into, start + offset, value)
                else:
                    raise ValueError(f"a relocation of kind {kind} in {name.decode()}")


def line_table(code: Code) -> bytes:
    """The line table of code in memory; empty if it has none."""
    try:
        return bytes(_Linked([_Object(code)], LINE_TABLE).sections.get(LINE_TABLE, b""))
    except NOT_ELF:
        return b""


def text_range(code: Code) -> tuple[int, int]:
    """Where code is in memory, and how many bytes it has."""
    found = _Object(code)
    return found.text_address, found.sections[found.text_index].size


def debug_image(codes: Sequence[Code]) -> bytes:
    """An ELF file with the code of kernels, their symbols and their debug information."""
    objects = [_Object(each) for each in codes]
    writer = ElfWriter(objects[0].machine if objects else X86_64)
    symbols, names = bytearray(SYMBOL.size), bytearray(1)
    for each in objects:
        text = each.text
        index = writer.add(
            b".text", PROGBITS, text, ALLOCATED | EXECUTABLE, each.text_address, alignment=16
        )
        symbols += SYMBOL.pack(len(names), FUNCTION_SYMBOL, 0, index, each.text_address, len(text))
        names += each.code.name.encode() + b"\0"
    for name, content in _Linked(objects).sections.items():
        writer.add(name, PROGBITS, bytes(content))
    strings = writer.add(b".strtab", STRING_TABLE, bytes(names))
    writer.add(
        b".symtab", SYMBOL_TABLE, bytes(symbols), link=strings, info=1, entry_size=SYMBOL.size
    )
    return writer.finish()


class ElfWriter:
    """Writes an ELF file, section by section."""

    def __init__(self, machine: int) -> None:
        self.machine = machine
        self.content = bytearray(ELF_HEADER.size)
        self.headers = [bytes(SECTION.size)]
        self.names = bytearray(1)

    def add(
        self,
        name: bytes,
        kind: int,
        content: bytes,
        flags: int = 0,
        address: int = 0,
        *,
        link: int = 0,
        info: int = 0,
        alignment: int = 1,
        entry_size: int = 0,
    ) -> int:
        """Adds a section and returns its index."""
        self.content += bytes(-len(self.content) % 16)
        self.headers.append(
            SECTION.pack(
                *(len(self.names), kind, flags, address, len(self.content), len(content)),
                *(link, info, alignment, entry_size),
            )
        )
        self.names += name + b"\0"
        self.content += content
        return len(self.headers) - 1

    def finish(self) -> bytes:
        """The whole file."""
        index = len(self.headers)
        names = bytes(self.names) + b".shstrtab\0"
        self.add(b".shstrtab", STRING_TABLE, names)
        self.content += bytes(-len(self.content) % 16)
        table = len(self.content)
        header = ELF_HEADER.pack(
            *(IDENTITY, EXECUTABLE_FILE, self.machine, 1, 0, 0, table, 0),
            *(ELF_HEADER.size, 0, 0, SECTION.size, len(self.headers), index),
        )
        self.content[: ELF_HEADER.size] = header
        return bytes(self.content) + b"".join(self.headers)


def _text(strings: bytes, at: int) -> bytes:
    return strings[at : strings.index(b"\0", at)]
