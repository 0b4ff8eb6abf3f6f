"""Files that the recorded program shared with its driver by their numbers."""

from __future__ import annotations

import os
from collections.abc import Callable

NONE = 0xFFFFFFFF
STANDIN = 16 << 30


class Descriptors:
    """The numbers of files. No number of a recording ever reaches a file of the player itself."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._present: dict[int, int] = {}
        self._counters: dict[int, int] = {}
        self._made: list[int] = []

    def learn(self, recorded: int, present: int) -> None:
        """A file that the driver has handed out."""
        self._present[recorded] = present

    def present(self, recorded: int) -> int:
        """The number of a file now; none for one that the driver did not hand out."""
        return self._present.get(recorded, NONE)

    def imported(self, recorded: int, *, counts: bool = False) -> int:
        """The number of a file that the driver is given; an empty one for what is not known.

        `counts` is for files that are counters, as semaphores are.
        """
        known = self._counters if counts else self._present
        if recorded not in known:
            self._note("a file of the recorded program is not here; an empty one takes its place")
            made = os.eventfd(0, 0) if counts else os.memfd_create("groundstate-play")
            if not counts:
                os.ftruncate(made, STANDIN)
            self._made.append(made)
            known[recorded] = made
        return known[recorded]

    def close(self) -> None:
        """Closes what stood in for files of the program. Closing twice does nothing."""
        while self._made:
            os.close(self._made.pop())
