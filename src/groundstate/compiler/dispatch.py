"""How compiled code is called: the structure that it reads (docs/compiler.md)."""

from __future__ import annotations

import ctypes

ALIGNMENT = 128
"""Of local memory, and of the scratch memory behind it."""


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


RunGroups = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p
)
"""void run(const gs_dispatch *, uint64_t first_group, uint64_t group_count, char *scratch)"""


def aligned(number: int) -> int:
    """The next multiple of the alignment."""
    return -(-number // ALIGNMENT) * ALIGNMENT
