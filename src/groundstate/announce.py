"""Says what takes long, so that nobody takes a program that compiles for one that hangs.

Only on a terminal, and only after two seconds; GROUNDSTATE_PROGRESS=0 turns it off.
"""

from __future__ import annotations

import os

from groundstate import knobs
from groundstate.printable import printable

TYPE_CHECKING = False  # as in driver/platform.py
if TYPE_CHECKING:
    from threading import Timer

DELAY_S = 2.0
STDERR = 2


class Announced:
    """Work that is announced if it takes long: `with Announced("compiling kernel add")`."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._timer: Timer | None = None

    def __enter__(self) -> None:
        if os.isatty(STDERR) and knobs.PROGRESS.get():
            from threading import Timer

            self._timer = Timer(DELAY_S, self._say)
            self._timer.daemon = True
            self._timer.start()

    def __exit__(self, *exception: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _say(self) -> None:
        os.write(STDERR, f"groundstate: {printable(self.what)}...\n".encode(errors="replace"))
