"""The devices that can be watched, by their handles: one file for each kind of device."""

from __future__ import annotations

import threading

from groundstate.driver import platform
from groundstate.driver.sysman.kinds.cpu import Cpu
from groundstate.driver.sysman.parts import Watched

_lock = threading.Lock()
_watched: dict[int, Watched] = {}


def devices() -> dict[int, Watched]:
    """The devices by handle, in the order in which they are listed.

    They are whole devices: what belongs to a sub-device is a part of its device that says so.
    """
    with _lock:
        if not _watched:
            for device in platform.current().devices:
                root = device.parent or device
                if root.handle not in _watched:
                    _watched[root.handle] = Cpu(root)
        return _watched


def watched(handle: int) -> Watched:
    """The device behind a handle. That of a sub-device stands for the whole device."""
    found = devices().get(handle)
    if found is not None:
        return found
    device = platform.device(handle)
    return devices()[(device.parent or device).handle]
