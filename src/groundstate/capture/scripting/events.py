"""Tells a script what a player does: when state is restored, and when the program's part begins."""

from __future__ import annotations

import ctypes

from groundstate.capture.stream import Kind, Mark, Record, unpack_mark

FRAME = 1
"""Level Zero knows no frames: the whole program after the restored state is the first one."""


class Events:
    """The script that a capture library runs."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._event = library.gc_script_event
        self._event.argtypes = [ctypes.c_char_p, ctypes.c_int64]
        self._event.restype = None
        self._restoring = False
        self._in_frame = False

    @classmethod
    def of(cls, library_path: str) -> Events | None:
        """The events of a library; None for one that runs no scripts."""
        library = ctypes.CDLL(library_path)
        return cls(library) if hasattr(library, "gc_script_event") else None

    def tell(self, name: str, number: int = -1) -> None:
        """Calls the script's function of that name, if it has one."""
        self._event(name.encode(), number)

    def see(self, record: Record) -> None:
        """A record is about to be played."""
        mark = unpack_mark(record.body) if record.kind == Kind.MARK else None
        if mark == Mark.RESTORE_BEGIN:
            self._restoring = True
            self.tell("gitsStateRestoreBegin")
        elif mark == Mark.RESTORE_END:
            self._restoring = False
            self.tell("gitsStateRestoreEnd")
        elif record.kind == Kind.CALL and not self._restoring and not self._in_frame:
            self._in_frame = True
            self.tell("gitsFrameBegin", FRAME)

    def end(self) -> None:
        """The stream has been played."""
        if self._in_frame:
            self._in_frame = False
            self.tell("gitsFrameEnd", FRAME)
