"""Memory for what calls are given: structs, arrays, strings and room for answers."""

from __future__ import annotations

import ctypes
import mmap
import struct
from typing import NamedTuple

CHUNK = 1 << 20
PADDING = 16
"""Zeros behind each place: a string that does not end ends here."""
_WORD = struct.Struct("<Q")


class Place(NamedTuple):
    """Some bytes of an arena."""

    address: int
    size: int
    memory: mmap.mmap
    offset: int

    def word(self, at: int) -> int:
        """The 64 bits at an offset."""
        return int(_WORD.unpack_from(self.memory, self.offset + at)[0])

    def set_word(self, at: int, value: int) -> None:
        """Changes the 64 bits at an offset."""
        _WORD.pack_into(self.memory, self.offset + at, value)

    def number(self, at: int, size: int) -> int:
        """The unsigned number of `size` bytes at an offset."""
        begin = self.offset + at
        return int.from_bytes(self.memory[begin : begin + size], "little")

    def set_number(self, at: int, size: int, value: int) -> None:
        """Changes the unsigned number of `size` bytes at an offset."""
        begin = self.offset + at
        self.memory[begin : begin + size] = value.to_bytes(size, "little")

    def bytes(self, begin: int = 0, end: int | None = None) -> bytes:
        """A copy of the bytes from one offset to another."""
        last = self.size if end is None else min(end, self.size)
        return self.memory[self.offset + begin : self.offset + last]


class Arena:
    """Memory that is handed out from front to back and taken back as a whole."""

    def __init__(self) -> None:
        self._chunks = [_mapped(CHUNK)]
        self._used = 0

    def take(self, size: int, data: bytes) -> Place:
        """`size` bytes that begin with `data` and are zero behind it."""
        chunk, base = self._chunks[-1]
        begin = self._used
        if begin + size + PADDING > len(chunk):
            return self._take_new(size, data)
        end = begin + size + PADDING
        chunk[begin:end] = data + bytes(end - begin - len(data))
        self._used = -(-end // PADDING) * PADDING
        return Place(base + begin, size, chunk, begin)

    def _take_new(self, size: int, data: bytes) -> Place:
        """The same from a new chunk, which is zero already."""
        chunk, base = _mapped(max(CHUNK, size + PADDING))
        self._chunks.append((chunk, base))
        chunk[: len(data)] = data
        self._used = -(-(size + PADDING) // PADDING) * PADDING
        return Place(base, size, chunk, 0)

    def reset(self) -> None:
        """Takes everything back; memory beyond the first chunk goes back to the system."""
        if len(self._chunks) > 1:
            del self._chunks[1:]
        self._used = 0


def _mapped(size: int) -> tuple[mmap.mmap, int]:
    memory = mmap.mmap(-1, size)
    return memory, ctypes.addressof(ctypes.c_char.from_buffer(memory))
