"""Shared objects and programs: their sections, and the pointers that the dynamic linker fills in.

Nothing in a file is trusted: what does not fit into it raises `Damaged`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from groundstate.compiler.program.object_loader import RELOCATION, RELOCATIONS, SECTION
from groundstate.compiler.program.object_loader import Section as Entry

MAGIC = b"\x7fELF"
HEADER = struct.Struct("<4sBB34xQ10xHHH")
"""What it is, where the section table is, how large and how many its entries are, and which one has
the names of sections."""
BITS_64, LITTLE_ENDIAN = 2, 1
NO_CONTENT = 8
"""The kind of a section that only takes up memory."""
RELATIVE = (8, 1027)
"""The kinds of relocation that are an address in the same file: on x86-64 and on AArch64."""


class Damaged(ValueError):  # noqa: N818 (named for what the file is)
    """A file is not what it says it is."""


class Section(NamedTuple):
    """A section that has content."""

    name: str
    kind: int
    address: int
    content: memoryview

    def at(self, address: int) -> memoryview:
        """What lies from an address on, to the end of the section."""
        return self.content[address - self.address :]

    def holds(self, address: int) -> bool:
        """True if there is something of the section at an address."""
        return self.address <= address < self.address + len(self.content)


def sections(data: memoryview) -> list[Section]:
    """The sections of a file for a 64-bit machine of little-endian byte order."""
    try:
        magic, bits, order, table, size, count, names = HEADER.unpack_from(data)
        if (magic, bits, order) != (MAGIC, BITS_64, LITTLE_ENDIAN) or size != SECTION.size:
            raise Damaged("it is no ELF file of a 64-bit little-endian machine")
        entries = [Entry(*SECTION.unpack_from(data, table + size * i)) for i in range(count)]
        strings = bytes(_content(data, entries[names])) if count else b""
    except (struct.error, IndexError, OverflowError) as problem:
        raise Damaged("its section table lies outside of the file") from problem
    return [
        Section(_text(strings, each.name), each.kind, each.address, _content(data, each))
        for each in entries
        if each.kind != NO_CONTENT
    ]


def _content(data: memoryview, entry: Entry) -> memoryview:
    if entry.offset + entry.size > len(data):
        raise Damaged("a section ends behind the file")
    return data[entry.offset : entry.offset + entry.size]


def _text(strings: bytes, start: int) -> str:
    end = strings.find(b"\0", start)
    return strings[start : end if end >= 0 else None].decode(errors="replace")


def relative_pointers(found: list[Section], within: Section) -> Iterator[tuple[int, int]]:
    """Addresses in a section, and what the dynamic linker will write there."""
    for section in found:
        if section.kind != RELOCATIONS:
            continue
        whole = len(section.content) // RELOCATION.size * RELOCATION.size
        for place, kind, value in RELOCATION.iter_unpack(section.content[:whole]):
            if kind in RELATIVE and within.holds(place):
                yield place, value
