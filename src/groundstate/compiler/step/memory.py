"""The memory of this process, as a stepped kernel reads and writes it.

Every access is looked up in what the system says is mapped, so that a wrong address ends the
work-item and not the process. What is overwritten is kept, so that a group can be taken back.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Callable

MAPS = "/proc/self/maps"


class AccessError(Exception):
    """An access of memory that is not there, or may not be written."""

    def __init__(
        self, address: int, size: int, writes: bool, where: str = "", is_mapped: bool = True
    ) -> None:
        self.address = address
        self.size = size
        self.writes = writes
        self.is_mapped = is_mapped
        """Whether there is memory, which may not be used so."""
        what = "writes" if writes else "reads"
        there = where or f"at {address:#x}, where the process has no memory for that"
        super().__init__(f"it {what} {size} bytes {there}")


class Memory:
    """Reads and writes, and what they have overwritten."""

    def __init__(self) -> None:
        self.undo: list[tuple[int, bytes]] = []
        """Where something was written, and what was there before, the oldest first."""
        self.keeps_undo = True
        self.guard: Callable[[int, int], str] | None = None
        """Says what is wrong with an access of memory that is there; nothing if it is right."""
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._writable: list[bool] = []

    def read(self, address: int, size: int) -> bytes:
        """The bytes at an address."""
        self._need(address, size, writes=False)
        return ctypes.string_at(address, size)

    def write(self, address: int, data: bytes) -> None:
        """Puts bytes at an address."""
        size = len(data)
        self._need(address, size, writes=True)
        if self.keeps_undo:
            self.undo.append((address, ctypes.string_at(address, size)))
        ctypes.memmove(address, data, size)

    def _need(self, address: int, size: int, writes: bool) -> None:
        if not self.allows(address, size, writes):
            is_mapped = writes and self.allows(address, size, writes=False)
            raise AccessError(address, size, writes, is_mapped=is_mapped)
        wrong = self.guard(address, size) if self.guard is not None else ""
        if wrong:
            raise AccessError(address, size, writes, wrong)

    def note(self, address: int, most: int) -> tuple[int, bytes]:
        """Keeps what may be overwritten by code that writes by itself, as far as it is there."""
        while most and not self.allows(address, most, writes=True):
            most //= 2
        before = ctypes.string_at(address, most) if most else b""
        if self.keeps_undo and most:
            self.undo.append((address, before))
        return address, before

    def take_back(self) -> None:
        """Puts everything back that was overwritten, as far as its memory is still there."""
        for address, data in reversed(self.undo):
            if self.allows(address, len(data), writes=True):
                ctypes.memmove(address, data, len(data))
        self.undo.clear()

    def allows(self, address: int, size: int, writes: bool) -> bool:
        """Whether the process has memory there. What it has learnt since, it is asked again."""
        return self._knows(address, size, writes) or self._look(address, size, writes)

    def _look(self, address: int, size: int, writes: bool) -> bool:
        self._starts, self._ends, self._writable = [], [], []
        with open(MAPS, encoding="ascii", errors="replace") as file:
            for line in file:
                span, access = line.split(" ", 2)[:2]
                if access[0] == "r" and not line.rstrip().endswith(("[vvar]", "[vsyscall]")):
                    start, end = (int(each, 16) for each in span.split("-"))
                    self._add(start, end, access[1] == "w")
        return self._knows(address, size, writes)

    def _add(self, start: int, end: int, is_writable: bool) -> None:
        if self._ends and self._ends[-1] == start and self._writable[-1] == is_writable:
            self._ends[-1] = end
            return
        self._starts.append(start)
        self._ends.append(end)
        self._writable.append(is_writable)

    def _knows(self, address: int, size: int, writes: bool) -> bool:
        at = bisect_right(self._starts, address) - 1
        end = address + max(size, 1)
        while at >= 0 and at < len(self._starts) and self._starts[at] <= address < self._ends[at]:
            if writes and not self._writable[at]:
                return False
            if end <= self._ends[at]:
                return True
            address, at = self._ends[at], at + 1
        return False
