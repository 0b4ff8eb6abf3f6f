"""How compiled code is called: the structure that it reads (docs/compiler.md)."""

from __future__ import annotations

import ctypes

ALIGNMENT = 128
"""Of local memory."""


class Dispatch(ctypes.Structure):
    """gs_dispatch of native/kernel.h."""

    _fields_ = (
        ("arguments", ctypes.c_void_p),
        ("global_offset", ctypes.c_uint64 * 3),
        ("group_counts", ctypes.c_uint64 * 3),
        ("group_size", ctypes.c_uint32 * 3),
        ("work_dimensions", ctypes.c_uint32),
        ("print_buffer", ctypes.c_void_p),
        ("globals", ctypes.c_void_p),
        ("local_bytes", ctypes.c_uint64),
        ("streams", ctypes.c_uint64),
    )


class _Header(ctypes.Structure):
    """gs_memory_header of native/kernel_memory.h."""

    _fields_ = (
        ("saved", ctypes.c_void_p),
        ("private", ctypes.c_void_p),
        ("group", ctypes.c_uint64),
    )


class Memory:
    """What compiled code needs to run: local, private and saved memory."""

    def __init__(self, local: int, private: int, saved: int) -> None:
        sizes = (ALIGNMENT + local, private, saved)
        self._buffers = [ctypes.create_string_buffer(size + ALIGNMENT) for size in sizes]
        starts = [aligned(ctypes.addressof(buffer)) for buffer in self._buffers]
        self.address = starts[0] + ALIGNMENT
        """Of local memory: what the code is given."""
        header = _Header.from_address(self.address - ctypes.sizeof(_Header))
        header.private, header.saved = starts[1:]


RunGroups = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p
)
"""void run(const gs_dispatch *, uint64_t first_group, uint64_t group_count, char *local)"""


def aligned(number: int) -> int:
    """The next multiple of the alignment."""
    return -(-number // ALIGNMENT) * ALIGNMENT
