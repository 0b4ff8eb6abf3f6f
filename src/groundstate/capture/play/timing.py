"""When calls were made, and holding a player to it."""

from __future__ import annotations

import struct
import time

from groundstate.capture.stream.formats import CALL

_HEAD = struct.Struct(CALL.format.removesuffix("HHI"))
"""The words before the counts of arguments and blocks."""
HEAD_SIZE = _HEAD.size
RESULT_AT = HEAD_SIZE - 8
FUNCTION, THREAD, BEGAN, TIME, DURATION, RESULT = range(6)
"""The places in what `call_head` gives back."""

MOST = 3600.0
"""Seconds between two calls that a player waits at most."""

Head = tuple[int, int, int, int, int, int]


def call_head(body: bytes) -> Head | None:
    """The first part of a call's record, without unpacking the rest; None if it is too short."""
    if len(body) < HEAD_SIZE:
        return None
    head: Head = _HEAD.unpack_from(body)
    return head


class Clock:
    """Lets no call be made earlier than in the recording."""

    def __init__(self) -> None:
        self._begin: float | None = None

    def wait_for(self, nanoseconds: int) -> None:
        """Waits until it is as late as it was, counted from the first call."""
        now = time.monotonic()
        if self._begin is None:
            self._begin = now - nanoseconds / 1e9
        # A stream may say any time; nobody waits for a call of another century.
        left = min(self._begin + nanoseconds / 1e9 - now, MOST)
        if left > 0:
            time.sleep(left)
