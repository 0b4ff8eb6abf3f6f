"""The devices that can be watched, by their handles: one file for each kind of device."""

from __future__ import annotations

import threading

from groundstate import knobs
from groundstate.driver import native, platform
from groundstate.driver.sysman.kinds import nvidia
from groundstate.driver.sysman.kinds.cpu import Cpu
from groundstate.driver.sysman.parts import Watched

_lock = threading.Lock()
_watched: dict[int, Watched] = {}
_by_number: dict[int, Watched] = {}
"""The devices of this driver, by their place on the machine."""


def devices() -> dict[int, Watched]:
    """The devices by handle, in the order in which they are listed.

    They are whole devices, whatever a mask or the hierarchy shows to the core: what belongs to a
    sub-device is a part of its device that says so. Those that the core has not got come last.
    """
    with _lock:
        if not _watched:
            for device in platform.current().whole_devices():
                watched = Cpu(device)
                _watched[device.handle] = watched
                _by_number[device.part.path[0]] = watched
            for gpu in nvidia.gpus(knobs.SYSFS_ROOT.get()):
                _watched[native.object_new("zes_device_handle_t")] = gpu
        return _watched


def watched(handle: int) -> Watched:
    """The device behind a handle. That of a sub-device stands for the whole device."""
    found = devices().get(handle)
    return found or _by_number[platform.device(handle).part.path[0]]


def handle_of(device: Watched) -> int:
    """The handle of a device."""
    return next(handle for handle, each in devices().items() if each is device)


def uuid_of(handle: int) -> bytes:
    """The UUID of a device, which is the same for the core and for system management."""
    device = platform.current().by_handle.get(handle)
    return devices()[handle].description.uuid if device is None else device.uuid
