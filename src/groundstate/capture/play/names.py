"""What recorded handles, addresses and numbers are called now."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import count

from groundstate.capture.play.descriptors import Descriptors
from groundstate.capture.play.images import ImageSize
from groundstate.capture.play.memory import Memory

_WORD = 8


class Names:
    """The map from recorded to present values, which calls add to.

    `handles` also has other 64-bit values that the driver hands out and wants back: pointers to
    functions, and places of images for kernels. A value that is used again gets a new entry.
    """

    def __init__(self, memory: Memory, note: Callable[[str], None]) -> None:
        self.memory = memory
        self.note = note
        self.handles: dict[int, int] = {}
        self.descriptors = Descriptors(note)
        self.commands: dict[tuple[int, int], int] = {}
        self.shared: dict[bytes, bytes] = {}
        self.find_elsewhere: Callable[[bytes], bytes | None] = lambda recorded: None
        self.images: dict[int, ImageSize] = {}
        self._counter = count(1)
        self.changes = 0
        """Counts changes of what handles are called."""
        self.scan_arguments = False
        self.unknown_handles = False
        # Callbacks of the recorded program cannot be called; `free` does nothing with null.
        self.callback = ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p).value or 0

    def handle(self, recorded: int) -> int:
        """The present handle of a recorded one.

        One that was never valid stays what it was for our driver, which tells it from others. Most
        drivers would follow it, so they get none.
        """
        return self.handles.get(recorded, recorded if self.unknown_handles else 0)

    def learn(self, recorded: int, present: int) -> None:
        """A value that the driver has handed out."""
        if recorded and present and self.handles.get(recorded) != present:
            self.handles[recorded] = present
            self.changes = next(self._counter)

    def shared_handle(self, recorded: bytes) -> bytes:
        """The present handle for IPC, which this or another process was given."""
        present = self.shared.get(recorded) or self.find_elsewhere(recorded)
        if present is None:
            self.note("a handle came from a process that is not part of this recording")
            return recorded
        return present

    def argument(self, data: bytes) -> bytes:
        """The value of a kernel's argument: an address, an object, or what is left as it is."""
        if len(data) == _WORD:
            word = self.word(int.from_bytes(data, "little"))
            return data if word is None else word.to_bytes(_WORD, "little")
        return self.scanned(data) if self.scan_arguments and len(data) > _WORD else data

    def word(self, recorded: int) -> int | None:
        """What 64 bits are now, if they are an address or a handle that is known."""
        if recorded == 0:
            return None
        found = self.memory.find(recorded)
        if found is not None:
            return found.at(recorded)
        known = self.handles.get(recorded)
        return self.memory.known(recorded) if known is None else known

    def scanned(self, data: bytes) -> bytes:
        """Bytes in which every word that is an address in an allocation is its present one."""
        return self._replaced(data, self._present_of)

    def unscanned(self, data: bytes) -> bytes:
        """The way back: present addresses become recorded ones."""
        return self._replaced(data, self.memory.find_present)

    def _present_of(self, recorded: int) -> int | None:
        found = self.memory.find(recorded)
        return None if found is None else found.at(recorded)

    def _replaced(self, data: bytes, other: Callable[[int], int | None]) -> bytes:
        result = bytearray(data)
        words = memoryview(result)[: len(result) // _WORD * _WORD].cast("Q")
        for place, word in enumerate(words):
            if word and (found := other(word)) is not None:
                words[place] = found
        words.release()
        return bytes(result)
