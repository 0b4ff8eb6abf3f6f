"""Puts the object file of a kernel into memory, without LLVM, which takes longer to import.

Kernels are simple files: code and constants that refer to each other by distance, and now and then
to a function of the C library. One that needs more is left to LLVM's linker, and so is everything
on other kinds of CPU.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import struct
from functools import cache
from typing import NamedTuple

HEADER = struct.Struct("<4sBB10xHH4x8x8xQ4x8xH2x")
"""What it is, where the section table is, and how many sections there are."""
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQq")

RELOCATABLE_FILE, X86_64 = 1, 62
PROGBITS, SYMBOL_TABLE, RELOCATIONS = 1, 2, 4
WRITABLE, ALLOCATED = 1, 2
PC32, PLT32 = 2, 4
"""Relocations that are a distance of 32 bits from where they stand."""


JUMP_TO_NEXT_WORD = bytes.fromhex("ff2500000000")


BEYOND = (
    struct.error,
    LookupError,
    ValueError,
    OverflowError,
    AttributeError,
    StopIteration,
)
"""What happens with a file that is damaged, or that needs a linker."""


class Section(NamedTuple):
    """One entry of the section table."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class Symbol(NamedTuple):
    """One entry of the symbol table."""

    name: int
    info: int
    other: int
    section: int
    value: int
    size: int


class Loaded:
    """Code in memory. It lives as long as this object."""

    def __init__(self, memory: mmap.mmap, address: int) -> None:
        self.memory = memory
        self.address = address


def load(code: bytes, symbol: str = "run") -> Loaded | None:
    """Makes an object file executable; None if that takes more than is done here."""
    try:
        sections, symbols, names = _read(code)
        places, image = _lay_out(code, sections)
        _relocate(code, image, sections, symbols, names, places)
        entry = _find(symbols, names, symbol)
        start = places[entry.section] + entry.value
        return _executable(image, start) if start < len(image) else None
    except OSError as problem:
        if problem.errno == errno.ENOMEM:
            raise MemoryError("no room for the code of a kernel") from problem
        return None
    except BEYOND:
        return None


def _read(code: bytes) -> tuple[list[Section], list[Symbol], bytes]:
    """The tables of a relocatable file for x86-64; ValueError if it is anything else."""
    magic, bits, order, kind, cpu, table, count = HEADER.unpack_from(code)
    if (magic, bits, order, kind, cpu) != (b"\x7fELF", 2, 1, RELOCATABLE_FILE, X86_64):
        raise ValueError("not an object file for x86-64")
    size = SECTION.size
    sections = [Section(*SECTION.unpack_from(code, table + size * i)) for i in range(count)]
    listed = next(section for section in sections if section.kind == SYMBOL_TABLE)
    content = _content(code, listed)
    strings = _content(code, sections[listed.link])
    return sections, [Symbol(*fields) for fields in SYMBOL.iter_unpack(content)], strings


def _content(code: bytes, section: Section) -> bytes:
    end = section.offset + section.size
    if end > len(code):
        raise ValueError("a section ends behind the file")
    return code[section.offset : end]


def _lay_out(code: bytes, sections: list[Section]) -> tuple[dict[int, int], bytearray]:
    """The sections that belong into memory, one behind the other, and where each is."""
    places, image = {}, bytearray()
    for index, section in enumerate(sections):
        if not section.flags & ALLOCATED:
            continue
        if section.kind != PROGBITS or section.flags & WRITABLE:
            raise ValueError("a section is to be written to")
        if not 0 < section.alignment <= mmap.PAGESIZE:
            raise ValueError("a section is aligned strangely")
        image += bytes(-len(image) % section.alignment)
        places[index] = len(image)
        image += _content(code, section)
        if len(image) > len(code) + mmap.PAGESIZE * len(places):
            raise ValueError("its sections lie on top of each other")
    return places, image


def _relocate(
    code: bytes,
    image: bytearray,
    sections: list[Section],
    symbols: list[Symbol],
    names: bytes,
    places: dict[int, int],
) -> None:
    """Fills in the distances; ValueError if one is of another kind."""
    bridges: dict[str, int] = {}
    for section in sections:
        if section.kind != RELOCATIONS or section.info not in places:
            continue
        start = places[section.info]
        for offset, info, addend in RELOCATION.iter_unpack(_content(code, section)):
            symbol, kind = symbols[info >> 32], info & 0xFFFFFFFF
            if symbol.section in places and kind in (PC32, PLT32):
                target = places[symbol.section] + symbol.value
            elif symbol.section == 0 and kind == PLT32:
                target = _bridge(image, bridges, _name(names, symbol))
            else:
                raise ValueError("a reference of another kind")
            at = start + offset
            struct.pack_into("<i", image, at, target + addend - at)


def _bridge(image: bytearray, bridges: dict[str, int], name: str) -> int:
    """Where the image jumps on to a function of the process, which may be far away."""
    if name not in bridges:
        image += bytes(-len(image) % 16)
        bridges[name] = len(image)
        function = getattr(ctypes.CDLL(None), name, None) or getattr(_mathematics(), name)
        address = ctypes.cast(function, ctypes.c_void_p).value or 0
        image += JUMP_TO_NEXT_WORD + address.to_bytes(8, "little")
    return bridges[name]


@cache
def _mathematics() -> ctypes.CDLL:
    return ctypes.CDLL("libm.so.6")


def _name(names: bytes, symbol: Symbol) -> str:
    return names[symbol.name : names.index(b"\0", symbol.name)].decode()


def _find(symbols: list[Symbol], names: bytes, wanted: str) -> Symbol:
    text = wanted.encode() + b"\0"
    return next(each for each in symbols if each.section and names.startswith(text, each.name))


def _executable(image: bytearray, entry: int) -> Loaded:
    memory = mmap.mmap(-1, len(image), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[:] = bytes(image)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if protect(address, len(image), mmap.PROT_READ | mmap.PROT_EXEC) != 0:
        raise ValueError("the system does not let memory become code")
    return Loaded(memory, address + entry)
