"""Intel's additions to the specification: functions that programs ask the driver for by name."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from groundstate import ze
from tests.conftest import check


def function(driver: int, name: str, *types: Any) -> Callable[..., int]:
    """A function that the driver finds by its name, with the types of its parameters."""
    address = ctypes.c_void_p()
    found = ze.zeDriverGetExtensionFunctionAddress(driver, name.encode(), ctypes.byref(address))
    check(found)
    assert address.value is not None
    return ctypes.CFUNCTYPE(ctypes.c_uint32, *types)(address.value)
