"""Which devices can be watched, and which of them is which device of the core."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TYPE_CHECKING

from groundstate import _raw, zes
from groundstate.core import libraries
from groundstate.core.api import SUCCESS, Api
from groundstate.core.driver import devices as core_devices
from groundstate.core.errors import LevelZeroError, UnsupportedFeature
from groundstate.core.sysman.device import SysmanDevice
from groundstate.core.sysman.part import UNSUPPORTED

if TYPE_CHECKING:
    from groundstate.core.device import Device


class SysmanApi(Api):
    """The functions of a library for the handles of system management.

    The specification has no sentence about the last error for those handles. In our own driver they
    are those of the core, which has one.
    """

    def last_error(self, function: str) -> str:
        """The driver's sentence about a call that has just failed in this thread."""
        return super().last_error(function) if self.library is libraries.own() else ""


@cache
def _devices_of(library: _raw.Library) -> tuple[SysmanDevice, ...]:
    """The devices of all drivers behind a library; none if it has no system management."""
    api = SysmanApi(library, 0)
    try:
        if api.raw("zesInit", 0) != SUCCESS:
            return ()
    except UnsupportedFeature:
        return ()
    return tuple(
        SysmanDevice(SysmanApi(library, driver), driver, handle)
        for driver in api.handles("zesDriverGet")
        for handle in api.handles("zesDeviceGet", driver)
    )


def sysman_devices(*, include_system: bool = True) -> tuple[SysmanDevice, ...]:
    """All devices that can be watched: those of our own driver, then those of the system's."""
    own = _devices_of(libraries.own())
    library = libraries.system() if include_system else None
    if library is None:
        return own
    ours = {each.uuid for each in own}
    return own + tuple(each for each in _devices_of(library) if each.uuid not in ours)


def sysman_of(device: Device) -> SysmanDevice:
    """A device of the core as system management sees it; that of a sub-device is the whole."""
    candidates = _devices_of(device.api.library)
    for wanted in (device, device.root_device):
        for candidate in candidates:
            if wanted is not None and _is_same(wanted, candidate):
                return candidate
    for candidate in candidates:
        handle = _by_uuid(candidate, device)
        if handle == candidate.handle:
            return candidate
    sentence = f"{device.name} has no system management"
    raise UnsupportedFeature(UNSUPPORTED, "zesDeviceGet", sentence)


def core_device(sysman: SysmanDevice) -> Device | None:
    """The device of the core behind one of system management, or None."""
    is_own = sysman.api.library is libraries.own()
    candidates = core_devices(include_system=not is_own)
    return next((each for each in candidates if _is_same(each, sysman)), None)


def _is_same(device: Device, sysman: SysmanDevice) -> bool:
    """Our own driver has one handle for both; others tell by the UUID."""
    if device.api.library is not sysman.api.library:
        return False
    if device.driver.is_own:
        return device.handle == sysman.handle
    return device.uuid == sysman.properties.core.uuid


def _by_uuid(sysman: SysmanDevice, device: Device) -> int:
    """The whole device to which a sub-device belongs that is listed as a device of its own."""
    found, on_subdevice, number = ctypes.c_void_p(), ctypes.c_uint8(), ctypes.c_uint32()
    uuid = zes.zes_uuid_t((ctypes.c_uint8 * 16)(*device.uuid.bytes))
    pointers = map(ctypes.byref, (found, on_subdevice, number))
    try:
        sysman.api.call("zesDriverGetDeviceByUuidExp", sysman.driver_handle, uuid, *pointers)
    except LevelZeroError:
        return 0
    return found.value or 0
