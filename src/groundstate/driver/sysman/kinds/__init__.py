"""The devices that can be watched, by their handles: one file for each kind of device."""

from __future__ import annotations

import threading

from groundstate import knobs, ze
from groundstate.driver import native, platform
from groundstate.driver.api import Failure
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
            core = {device.uuid: device.handle for device in platform.current().gpus()}
            for gpu in nvidia.gpus(knobs.SYSFS_ROOT.get()):
                known = core.pop(gpu.description.uuid, 0)
                _watched[known or native.object_new("zes_device_handle_t")] = gpu
            _order(_watched)
        return _watched


def _order(devices: dict[int, Watched]) -> None:
    """Puts those that the core lists first, in its order."""
    here = [device.handle for device in platform.current().devices]
    first = {handle: devices.pop(handle) for handle in here if handle in devices}
    rest = dict(devices)
    devices.clear()
    devices.update(first | rest)


def watched(handle: int) -> Watched:
    """The device behind a handle. That of a sub-device stands for the whole device."""
    found = devices().get(handle)
    if found is None and platform.device(handle).gpu is not None:
        raise Failure(
            ze.ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE,
            "system management of NVIDIA's GPUs needs its library and the package nvidia-ml-py: "
            "pip install 'groundstate[nvidia]'",
        )
    return found or _by_number[platform.device(handle).part.path[0]]


def handle_of(device: Watched) -> int:
    """The handle of a device."""
    return next(handle for handle, each in devices().items() if each is device)


def uuid_of(handle: int) -> bytes:
    """The UUID of a device, which is the same for the core and for system management."""
    device = platform.current().by_handle.get(handle)
    return devices()[handle].description.uuid if device is None else device.uuid
