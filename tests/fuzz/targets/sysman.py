"""The first device of system management, and its parts."""

from __future__ import annotations

import ctypes

from groundstate import zes


def device() -> int:
    assert not zes.zesInit(0)
    one, driver, handle = ctypes.c_uint32(1), ctypes.c_void_p(), ctypes.c_void_p()
    assert not zes.zesDriverGet(ctypes.byref(one), ctypes.byref(driver))
    assert not zes.zesDeviceGet(driver, ctypes.byref(one), ctypes.byref(handle))
    assert handle.value is not None
    return handle.value


def parts(handle: int, enumeration: str) -> list[int]:
    count, found = ctypes.c_uint32(64), (ctypes.c_void_p * 64)()
    assert not getattr(zes, enumeration)(handle, ctypes.byref(count), found)
    return [each for each in found[: count.value] if each]
