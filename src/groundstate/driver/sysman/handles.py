"""The handles that stand for the parts of devices.

A part gets its handle when it is first listed, and keeps it as long as the process lives.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TypeVar

from groundstate.driver import native
from groundstate.driver.api import Handles, take_count, write_pointer

Kept = TypeVar("Kept")

_lock = threading.Lock()
_handles: dict[tuple[int, str], int] = {}
_parts: Handles[object] = Handles("handle of system management")


def handle_of(part: object, kind: str) -> int:
    """The handle of a part, which is always the same: `kind` is such as `zes_engine_handle_t`."""
    key = (id(part), kind)
    handle = _handles.get(key)
    if handle is not None:
        return handle
    with _lock:
        if key not in _handles:
            handle = native.object_new(kind)
            _parts[handle] = part  # which keeps the part, and so its identity, alive
            _handles[key] = handle
        return _handles[key]


def part_of(handle: int, expected: type[Kept]) -> Kept:
    """The part behind a handle that the C side has found to be live and of the right kind."""
    part = _parts[handle]
    assert isinstance(part, expected)
    return part


def enumerate_parts(pCount: int, phArray: int, parts: Sequence[object], kind: str) -> None:
    """Answers a query for the handles of parts with the count protocol."""
    written = take_count(pCount, phArray, len(parts))
    for index in range(written):
        write_pointer(phArray + 8 * index, handle_of(parts[index], kind))
