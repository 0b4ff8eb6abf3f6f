"""Memory for the arguments of calls, each piece right before a page that is not there.

A function that reads or writes more than it was given is struck by a signal, and the fuzzer sees
it.
"""

from __future__ import annotations

import ctypes
import mmap

_PROTECT_NONE = 0
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


class Arena:
    """Pieces of memory that are all given back at once."""

    PIECES = 1024
    LARGEST = 2 * mmap.PAGESIZE

    def __init__(self) -> None:
        self._stride = self.LARGEST + mmap.PAGESIZE
        self._memory = mmap.mmap(-1, self.PIECES * self._stride)
        self._start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._used = 0
        for piece in range(self.PIECES):
            guard = self._start + piece * self._stride + self.LARGEST
            if _libc.mprotect(guard, mmap.PAGESIZE, _PROTECT_NONE):
                raise OSError(ctypes.get_errno(), "mprotect")

    def clear(self) -> None:
        self._used = 0

    def piece(self, size: int) -> int:
        """The address of so many bytes, which are zero."""
        size = min(size, self.LARGEST)
        if self._used == self.PIECES:
            raise MemoryError("a sequence has more arguments than there are pieces")
        end = self._start + self._used * self._stride + self.LARGEST
        self._used += 1
        ctypes.memset(end - self.LARGEST, 0, self.LARGEST)
        return end - size

    def bytes(self, data: bytes) -> int:
        """The address of a copy."""
        address = self.piece(len(data))
        ctypes.memmove(address, data, min(len(data), self.LARGEST))
        return address
