"""How compiled code is called: the structure that it reads (docs/internals/compiler.md)."""

from __future__ import annotations

import ctypes

from groundstate.native_layouts import LOCAL_ALIGNMENT, Dispatch, MemoryHeader, RunGroups

__all__ = ["ALIGNMENT", "Dispatch", "Memory", "RunGroups", "aligned"]

ALIGNMENT = LOCAL_ALIGNMENT


class Memory:
    """What compiled code needs to run: local, private and saved memory."""

    def __init__(self, local: int, private: int, saved: int) -> None:
        sizes = (ALIGNMENT + local, private, saved)
        self._buffers = [ctypes.create_string_buffer(size + ALIGNMENT) for size in sizes]
        starts = [aligned(ctypes.addressof(buffer)) for buffer in self._buffers]
        self.address = starts[0] + ALIGNMENT
        """Of local memory: what the code is given."""
        header = MemoryHeader.from_address(self.address - ctypes.sizeof(MemoryHeader))
        header.private, header.saved = starts[1:]


def aligned(number: int) -> int:
    """The next multiple of the alignment."""
    return -(-number // ALIGNMENT) * ALIGNMENT
