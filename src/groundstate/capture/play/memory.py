"""The memory that a recording names by its recorded addresses, and where it is now.

Allocations of the driver are ranges that calls add and end. Everything else that calls name is the
program's own memory, for which the player has memory of its own: addresses that were near each
other in the recorded process are as near here, because whole windows of addresses are set aside.
"""

from __future__ import annotations

import ctypes
import mmap
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from threading import RLock

from groundstate.capture.play.errors import UnplayableError

PAGE = mmap.PAGESIZE
WINDOW = 64 << 30
WINDOWS = 256
ADDRESSES = 1 << 57
DIRECT = frozenset({"host", "shared", "program"})
"""The kinds of memory that the processor reads and writes itself."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_int64]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_NO_ACCESS = 0
_NO_RESERVE = 0x4000
_FAILED = ctypes.c_void_p(-1).value


@dataclass(frozen=True)
class Range:
    """Memory in a row: where it was, where it is, and whose it is."""

    start: int
    size: int
    present: int
    kind: str
    context: int = 0
    device: int = 0

    @property
    def end(self) -> int:
        """The first address behind it, as recorded."""
        return self.start + self.size

    def at(self, address: int) -> int:
        """Where a recorded address of this range is now."""
        return self.present + address - self.start


class Ranges:
    """Ranges that do not overlap, found by address."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ranges: list[Range] = []

    def __iter__(self) -> Iterator[Range]:
        return iter(list(self._ranges))

    def add(self, new: Range) -> None:
        """Adds a range; those that it overlaps had ended, or it could not be there."""
        first, last = self._overlapping(new.start, new.end)
        self._ranges[first:last] = [new]
        self._starts[first:last] = [new.start]

    def within(self, start: int, end: int) -> list[Range]:
        """The ranges that have something in common with the addresses from one to another."""
        first, last = self._overlapping(start, end)
        return self._ranges[first:last]

    def _overlapping(self, start: int, end: int) -> tuple[int, int]:
        first = bisect_right(self._starts, start)
        if first and self._ranges[first - 1].end > start:
            first -= 1
        last = first
        while last < len(self._ranges) and self._starts[last] < end:
            last += 1
        return first, last

    def remove(self, start: int) -> Range | None:
        """Ends the range that begins at an address."""
        place = bisect_right(self._starts, start) - 1
        if place < 0 or self._starts[place] != start:
            return None
        del self._starts[place]
        return self._ranges.pop(place)

    def find(self, address: int) -> Range | None:
        """The range that an address is in."""
        place = bisect_right(self._starts, address) - 1
        if place < 0 or address >= self._ranges[place].end:
            return None
        return self._ranges[place]


class ProgramMemory:
    """Memory of our own in place of what the recorded program had from elsewhere."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.usable = 0
        self._windows = Ranges()
        self._replaced: list[Range] = []
        """Windows in whose place there are larger ones; commands may still use their addresses."""
        self._count = 0
        self._open = Ranges()

    def at(self, address: int, size: int) -> int:
        """Where `size` bytes of the program are now; they can be read and written from now on."""
        window = self._windows.find(address)
        if window is None or address + size > window.end:
            window = self._reserve(address, size)
        self._make_usable(window, address, size)
        return window.at(address)

    def close(self) -> None:
        """Gives all of it back; nobody may use it any more."""
        for window in (*self._windows, *self._replaced):
            _libc.munmap(window.present, window.size)
        self._windows, self._open, self._replaced = Ranges(), Ranges(), []

    def known(self, address: int) -> int | None:
        """Where an address of the program is now, if a call has named its page before."""
        found = self._open.find(address)
        return None if found is None else found.at(address)

    def ranges(self) -> Iterator[Range]:
        """What calls have named so far, in whole pages."""
        return iter(self._open)

    def _reserve(self, address: int, size: int) -> Range:
        if address + size > ADDRESSES or self._count == WINDOWS:
            raise UnplayableError(f"there was no memory of {size} bytes at 0x{address:x}")
        start = address // WINDOW * WINDOW
        length = -(-(address + size - start) // WINDOW) * WINDOW
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
        present = _libc.mmap(None, length, _NO_ACCESS, flags, -1, 0)
        if present == _FAILED:
            raise UnplayableError("there is not enough address space for the program's memory")
        window = Range(start, length, present, "program")
        for lost in self._windows.within(start, window.end):
            self._replaced.append(lost)
            for known in self._open.within(lost.start, lost.end):
                self._open.remove(known.start)
        self._windows.add(window)
        self._count += 1
        return window

    def _make_usable(self, window: Range, address: int, size: int) -> None:
        start, end = address // PAGE * PAGE, -(-(address + size) // PAGE) * PAGE
        known = self._open.find(start)
        if start == end or (known is not None and end <= known.end):
            return
        beside = self._open.within(max(start - 1, window.start), min(end + 1, window.end))
        more = (end - start) - sum(min(end, e.end) - max(start, e.start) for e in beside)
        if self.usable + more > self.limit:
            raise UnplayableError(
                f"{size} bytes at 0x{address:x} are more than the limit of {self.limit >> 20} MiB "
                "for the program's own memory allows; see --memory-limit"
            )
        access = mmap.PROT_READ | mmap.PROT_WRITE
        if _libc.mprotect(window.at(start), end - start, access) != 0:
            raise UnplayableError("there is not enough memory for the program's memory")
        first = min([start, *(each.start for each in beside)])
        last = max([end, *(each.end for each in beside)])
        self._open.add(Range(first, last - first, window.at(first), "program"))
        self.usable += more


Transfer = Callable[[Range, int, int, int, bool], None]
"""Copies between a range of the device and an address here: range, address, other, size, reads."""


class Memory:
    """All memory of a recording, by recorded addresses."""

    def __init__(self, limit: int, transfer: Transfer) -> None:
        self.program = ProgramMemory(limit)
        self._counter = count(1)
        self.changes = 0
        """Counts changes of what is where."""
        self._ranges = Ranges()
        self._present = Ranges()
        self._leaving: dict[int, tuple[Range, int]] = {}
        self._transfer = transfer
        self._lock = RLock()

    def add(self, new: Range, number: int = 0) -> None:
        """Memory that the driver has given out, in the call of a number.

        What is still there is about to be freed by another thread, whose call returned later.
        """
        if new.start + new.size > ADDRESSES or not new.start or not new.present:
            raise UnplayableError(f"a recorded allocation of {new.size} bytes at 0x{new.start:x}")
        with self._lock:
            old = self._ranges.find(new.start)
            if old is not None and old.start == new.start:
                self._leaving[new.start] = old, number
            self._ranges.add(new)
            self._present.add(Range(new.present, new.size, new.start, new.kind))
            self.changes = next(self._counter)

    def leaving(self, start: int, began: int) -> int | None:
        """Where the memory is that a call frees, if its address was given out again meanwhile."""
        with self._lock:
            old, number = self._leaving.get(start, (None, 0))
        return old.present if old is not None and began <= number else None

    def end(self, start: int, present: int) -> None:
        """Memory that the driver has taken back."""
        with self._lock:
            old, _ = self._leaving.get(start, (None, 0))
            if old is not None and old.present == present:
                del self._leaving[start]
                self._present.remove(present)
                return
            ended = self._ranges.remove(start)
            if ended is not None:
                self._present.remove(ended.present)
                self.changes = next(self._counter)

    def ranges(self) -> list[Range]:
        """All live memory: the driver's allocations, then the program's own."""
        with self._lock:
            return [*self._ranges, *self.program.ranges()]

    def find(self, address: int) -> Range | None:
        """The driver's allocation that a recorded address is in."""
        with self._lock:
            return self._ranges.find(address)

    def find_present(self, address: int) -> int | None:
        """The recorded address of an address that is in an allocation now."""
        with self._lock:
            found = self._present.find(address)
        return None if found is None else found.at(address)

    def at(self, address: int, size: int) -> int:
        """Where recorded memory is now, all `size` bytes of it; 0 stays 0."""
        if address == 0:
            return 0
        found = self.find(address)
        if found is not None:
            if address + size > found.end:
                raise UnplayableError(
                    f"{size} bytes at 0x{address:x} reach beyond an allocation of {found.size}"
                )
            return found.at(address)
        with self._lock:
            return self.program.at(address, size)

    def known(self, address: int) -> int | None:
        """Where a recorded address is now, if it is in memory that is known."""
        found = self.find(address)
        return self.program.known(address) if found is None else found.at(address)

    def read(self, address: int, size: int) -> bytes:
        """The bytes that are now in recorded memory, whoever it belongs to."""
        buffer = ctypes.create_string_buffer(size)
        self._move(address, ctypes.addressof(buffer), size, reads=True)
        return buffer.raw[:size]

    def write(self, address: int, data: bytes) -> None:
        """Puts bytes into recorded memory."""
        buffer = ctypes.create_string_buffer(data, len(data))
        self._move(address, ctypes.addressof(buffer), len(data), reads=False)

    def _move(self, address: int, other: int, size: int, *, reads: bool) -> None:
        present = self.at(address, size)
        found = self.find(address)
        if found is not None and found.kind not in DIRECT:
            self._transfer(found, present, other, size, reads)
        elif reads:
            ctypes.memmove(other, present, size)
        else:
            ctypes.memmove(present, other, size)
