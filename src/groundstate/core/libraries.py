"""The libraries that drivers are found in: our own, and the loader of the system."""

from __future__ import annotations

import ctypes
from functools import cache

from groundstate import _raw
from groundstate.core.api import SUCCESS, check

SYSTEM_LOADER = "libze_loader.so.1"


@cache
def own() -> _raw.Library:
    """The driver that comes with this package, initialised."""
    library = _raw.default_library()
    check(library.zeInit(0), "zeInit")
    return library


@cache
def system() -> _raw.Library | None:
    """The system's loader, initialised, or None if there is none or it finds no driver.

    Under `groundstate run` our own library stands in for the loader; that one is not listed twice.
    """
    try:
        library = _raw.Library(SYSTEM_LOADER)
    except OSError:
        return None
    if _is_same(library, _raw.default_library()) or library.zeInit(0) != SUCCESS:
        return None
    return library


def _is_same(one: _raw.Library, other: _raw.Library) -> bool:
    addresses = [ctypes.cast(each.zeInit, ctypes.c_void_p).value for each in (one, other)]
    return addresses[0] == addresses[1]
