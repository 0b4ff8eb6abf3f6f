"""What a sequence of calls has made so far: which handles live, which are gone, and memory."""

from __future__ import annotations

import threading
from collections import defaultdict

from registry.load import load

REGISTRY = load()


class Model:
    """Handles by their kind, allocations and filled structs by type, the oldest first."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.live: dict[str, list[int]] = defaultdict(list)
        self.dead: dict[str, list[int]] = defaultdict(list)
        self.memory: list[tuple[int, int]] = []
        self.freed: list[int] = []
        self.reserved: list[int] = []
        self.filled: dict[str, list[bytes]] = defaultdict(list)

    def add(self, type_name: str, handle: int) -> None:
        """A handle that a call has returned."""
        kind = str(REGISTRY.kind_of(type_name))
        with self.lock:
            if handle in self.dead[kind]:
                self.dead[kind].remove(handle)
            if handle not in self.live[kind]:
                self.live[kind].append(handle)

    def end(self, type_name: str, handle: int) -> None:
        """A handle that a call has destroyed."""
        kind = str(REGISTRY.kind_of(type_name))
        with self.lock:
            if handle in self.live[kind]:
                self.live[kind].remove(handle)
                self.dead[kind].append(handle)

    def is_dead(self, type_name: str, handle: int) -> bool:
        with self.lock:
            return handle in self.dead[str(REGISTRY.kind_of(type_name))]

    def handle(self, type_name: str, place: int) -> int:
        """A live handle, counted from the youngest; 0 if there is none."""
        with self.lock:
            return _from_end(self.live[str(REGISTRY.kind_of(type_name))], place)

    def dead_handle(self, type_name: str, place: int) -> int:
        with self.lock:
            return _from_end(self.dead[str(REGISTRY.kind_of(type_name))], place)

    def other_handle(self, type_name: str, place: int) -> int:
        """A live handle of another kind."""
        kind = REGISTRY.kind_of(type_name)
        with self.lock:
            others = [handles for each, handles in self.live.items() if each != kind and handles]
            return _from_end(others[place % len(others)], place) if others else 0

    def allocated(self, address: int, size: int) -> None:
        with self.lock:
            self.memory.append((address, size))

    def free(self, address: int) -> None:
        with self.lock:
            self.memory = [each for each in self.memory if each[0] != address]
            self.freed.append(address)

    def address(self, place: int, offset: int) -> int:
        """An address in an allocation; the offset stays inside."""
        with self.lock:
            if not self.memory:
                return 0
            start, size = self.memory[-1 - place % len(self.memory)]
            return start + (offset if offset < size else 0)

    def reserved_address(self, place: int) -> int:
        with self.lock:
            return _from_end(self.reserved, place)

    def freed_address(self, place: int) -> int:
        with self.lock:
            return _from_end(self.freed, place)


def _from_end(handles: list[int], place: int) -> int:
    return handles[-1 - place % len(handles)] if handles else 0
