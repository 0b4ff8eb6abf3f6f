"""Tile registers (AMX): Linux lets a process use them when it has asked for them.

They make signal frames larger, so the request fails where a thread has a small signal stack; and
once it is granted, small ones are refused. So only programs that multiply tiles ask for it.
"""

from __future__ import annotations

import ctypes

from groundstate.light_functools import cache

FEATURES = frozenset({"amx_tile", "amx_int8", "amx_bf16"})
ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA = 158, 0x1023, 18
"""A system call of x86-64, what is asked of it, and which part of the state of a CPU."""


@cache
def granted() -> bool:
    """Asks for the registers, once in a process; true if kernels may use them from now on."""
    call = ctypes.CDLL(None).syscall
    return bool(call(*(ctypes.c_long(n) for n in (ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA))) == 0)
