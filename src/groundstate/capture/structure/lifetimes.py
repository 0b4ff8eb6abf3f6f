"""Lives of a stream's objects and memory: which call made each, on what it depends, what ended it.

A handle or an address may be used again after it ended, and calls of several threads overlap: a
call can only mean what had been made when it began.
"""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field

from groundstate.capture.describe import NamedCall
from groundstate.capture.stream.formats import Phase
from groundstate.capture.structure.references import DESCRIPTOR, Reference, references

MEMORY = "memory"
UNKNOWN_EXTENT = 1 << 32
"""How far memory reaches at most whose size no call tells, such as that of another process."""

_ENDS_HANDLE = re.compile(r"(Destroy(Exp|Ext)?|CloseIpcHandle|Release\w+)$")
_ENDS_MEMORY = {"zeMemFree", "zeMemFreeExt", "zeVirtualMemFree", "zeMemCloseIpcHandle"}
_MAKES_ANEW = re.compile(r"Create|Alloc|Open|Import|Instantiate|Reserve")
_MEMORY_SORTS = {
    "zeMemAllocHost": "host",
    "zeMemAllocDevice": "device",
    "zeMemAllocShared": "shared",
    "zeVirtualMemReserve": "reserved",
    "zeMemOpenIpcHandle": "opened",
    "zeModuleGetGlobalPointer": "global",
    "zeModuleGetFunctionPointer": "function",
}


@dataclass(eq=False)
class Life:
    """An object or a range of memory from the call that made it to the one that ended it."""

    kind: str  # "ze_kernel_handle_t", or "memory"
    sort: str  # "device" for memory of zeMemAllocDevice, "" for handles
    value: int  # the handle, or where the memory begins
    size: int | None  # of memory, in bytes; None if no call tells
    made_by: int  # the record of the call that gave it back
    function: str  # the function of that call
    needs: tuple[Life, ...]  # what that call was given
    ended_by: int | None = None
    changed_by: list[int] = field(default_factory=list)  # later calls that were given it

    @property
    def is_memory(self) -> bool:
        return self.kind == MEMORY

    def covers(self, address: int) -> bool:
        """Whether an address lies in this memory."""
        size = UNKNOWN_EXTENT if self.size is None else max(self.size, 1)
        return self.value <= address < self.value + size

    def lives_at(self, number: int) -> bool:
        """Whether it existed when the record of that number was written."""
        return self.made_by < number and (self.ended_by is None or self.ended_by >= number)

    def __repr__(self) -> str:
        return f"<{self.sort or self.kind} 0x{self.value:x} of record {self.made_by}>"


class Lifetimes:
    """The lives that the calls seen so far tell of."""

    def __init__(self) -> None:
        self.lives: list[Life] = []
        self.uses: dict[int, tuple[Life, ...]] = {}
        self.made: dict[int, tuple[Life, ...]] = {}
        self.ended: dict[int, Life] = {}
        self._handles: dict[int, list[Life]] = {}
        self._memory: dict[int, list[Life]] = {}
        self._starts: list[int] = []

    def see(self, call: NamedCall) -> None:
        """Takes in the next call of the stream."""
        given = list(references(call))
        used = self._used(given, call.call.began)
        if used:
            self.uses[call.number] = used
            for life in used:
                life.changed_by.append(call.number)
        if call.call.result == 0 or call.returns != "ze_result_t":
            self._end(call)
            self._make(call, given, used)

    def handle(self, value: int, before: int | None = None) -> Life | None:
        """The object that a handle stands for, as a call that began at record `before` means it."""
        return _meant(self._handles.get(value), before)

    def memory(self, address: int, before: int | None = None) -> Life | None:
        """The memory that an address lies in."""
        place = bisect_right(self._starts, address) - 1
        if place < 0:
            return None
        life = _meant(self._memory[self._starts[place]], before)
        return life if life is not None and life.covers(address) else None

    def alive_at(self, number: int) -> Iterator[Life]:
        """What existed when the record of that number was written."""
        return (life for life in self.lives if life.lives_at(number))

    def _used(self, given: list[Reference], began: int) -> tuple[Life, ...]:
        found: dict[Life, None] = {}
        for reference in given:
            if reference.given_back:
                continue
            life = None if not _may_be_handle(reference) else self.handle(reference.value, began)
            if life is None and not reference.is_handle:
                life = self.memory(reference.value, began)
            if life is not None:
                found[life] = None
        return tuple(found)

    def _make(self, call: NamedCall, given: list[Reference], used: tuple[Life, ...]) -> None:
        sort = _MEMORY_SORTS.get(call.name)
        anew = _MAKES_ANEW.search(call.name) is not None
        made = []
        for reference in given:
            if not reference.given_back:
                continue
            new = anew or reference.kind == DESCRIPTOR or self.handle(reference.value) is None
            if reference.is_handle and new:
                made.append(self._born(call, reference.kind, "", reference.value, None, used))
            elif not reference.is_handle and sort is not None:
                size = _size_of(call)
                made.append(self._born(call, MEMORY, sort, reference.value, size, used))
        if made:
            self.made[call.number] = tuple(made)

    def _born(
        self,
        call: NamedCall,
        kind: str,
        sort: str,
        value: int,
        size: int | None,
        needs: tuple[Life, ...],
    ) -> Life:
        life = Life(kind, sort, value, size, call.number, call.name, needs)
        self.lives.append(life)
        books = self._memory if life.is_memory else self._handles
        if value not in books:
            books[value] = []
            if life.is_memory:
                insort(self._starts, value)
        books[value].append(life)
        return life

    def _end(self, call: NamedCall) -> None:
        life = None
        if call.name in _ENDS_MEMORY:
            life = self.memory(_argument(call, "ptr"), call.call.began)
        elif _ENDS_HANDLE.search(call.name) and call.call.arguments:
            # Where there are several handles, such as zePhysicalMemDestroy's, the last one ends.
            life = self.handle(call.call.arguments[-1], call.call.began)
        if life is None:
            return
        self._bury(life, call.number)
        self.ended[call.number] = life
        if life.kind == "ze_module_handle_t":
            for other in self._owned_by(life):
                self._bury(other, call.number)

    def _owned_by(self, module: Life) -> list[Life]:
        """The memory that goes with a module: its variables and functions."""
        sorts = ("global", "function")
        stacks = self._memory.values()
        return [x for stack in stacks for x in stack if x.sort in sorts and module in x.needs]

    def _bury(self, life: Life, number: int) -> None:
        life.ended_by = number
        books = self._memory if life.is_memory else self._handles
        stack = books[life.value]
        stack.remove(life)
        if not stack:
            del books[life.value]
            if life.is_memory:
                del self._starts[bisect_right(self._starts, life.value) - 1]


def _meant(stack: list[Life] | None, before: int | None) -> Life | None:
    """The last one that had been made then; if none had, the oldest: a damaged stream may lie."""
    if not stack:
        return None
    if before is not None:
        for life in reversed(stack):
            if life.made_by < before:
                return life
    return stack[-1] if before is None else stack[0]


def _may_be_handle(reference: Reference) -> bool:
    return reference.kind != "pointer"


def _argument(call: NamedCall, name: str) -> int:
    try:
        return call.argument(name)
    except KeyError:
        return 0


def _size_of(call: NamedCall) -> int | None:
    """How much memory a call gave; a function's pointer is only an address."""
    if call.name == "zeModuleGetFunctionPointer":
        return 1
    if call.name == "zeModuleGetGlobalPointer":
        sizes = call.value("pSize", Phase.AFTER)
        return int(sizes[0]) if isinstance(sizes, list) and sizes else None
    return _argument(call, "size") or None
