"""Streams of several processes that are played at the same time, each in a process of its own.

The members share a folder. `clock` has 64 bits for each of them: all its calls that had returned
before that time, in nanoseconds since 1970, are done. A member makes a call once the others have
done what had returned before the call was made; whoever waits for somebody waits for an earlier
call, so nobody waits in a circle. What one hands to the others (handles for IPC) lies in files
beside it. `progress` has 64 bits for each, too: how many records it has read.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from pathlib import Path
from types import TracebackType

from groundstate.capture.stream.layout import digest

ENDED = 2**64 - 1
NAP_S = 0.0005
_SLOT = struct.Struct("<Q")


def prepare(folder: Path, members: int) -> None:
    """Makes the clock for a number of members."""
    for name in ("clock", "progress"):
        (folder / name).write_bytes(bytes(_SLOT.size * members))


def records_read(folder: Path) -> int:
    """How many records all members together have read so far."""
    return sum(number for (number,) in _SLOT.iter_unpack((folder / "progress").read_bytes()))


def _shared(path: Path) -> mmap.mmap:
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)


class Member:
    """One of several players."""

    def __init__(self, folder: Path, place: int, patience: float) -> None:
        self._folder = folder
        self._place = place
        self._patience = patience
        self._clock, self._progress = _shared(folder / "clock"), _shared(folder / "progress")
        self._others = [each for each in range(len(self._clock) // _SLOT.size) if each != place]

    def say(self, moment: int) -> None:
        """Tells the others that all is done that had returned before a moment."""
        _SLOT.pack_into(self._clock, self._place * _SLOT.size, min(moment, ENDED))

    def advance(self, records: int) -> None:
        """Tells whoever shows it how many records have been read."""
        _SLOT.pack_into(self._progress, self._place * _SLOT.size, records)

    def wait_for_others(self, moment: int) -> bool:
        """Waits until the others have done what had returned before a moment.

        False if nobody has got on for as long as patience lasts.
        """
        seen, since = self._said(), time.monotonic()
        while any(said <= moment for said in seen):
            time.sleep(NAP_S)
            now = self._said()
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > self._patience:
                return False
        return True

    def give(self, recorded: bytes, present: bytes) -> None:
        """Lets the others know what a recorded handle is now."""
        path = self._folder / digest(recorded).hex()
        unfinished = path.with_suffix(f".{self._place}")
        unfinished.write_bytes(present)
        os.replace(unfinished, path)

    def find(self, recorded: bytes) -> bytes | None:
        """What another member said a recorded handle is now."""
        try:
            return (self._folder / digest(recorded).hex()).read_bytes()
        except FileNotFoundError:
            return None

    def _said(self) -> list[int]:
        return [int(_SLOT.unpack_from(self._clock, each * _SLOT.size)[0]) for each in self._others]

    def __enter__(self) -> Member:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.say(ENDED)
        if kind is None:
            # What a process shares lives as long as it does.
            self.wait_for_others(ENDED - 1)
