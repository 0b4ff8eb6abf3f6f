"""Drivers: where the devices come from."""

from __future__ import annotations

import ctypes
from functools import cache, cached_property
from typing import TYPE_CHECKING
from uuid import UUID

from groundstate import _raw, ze
from groundstate.core import libraries
from groundstate.core.api import Api
from groundstate.core.device import Device
from groundstate.core.enums import IpcFlag
from groundstate.core.fabric import FabricVertex
from groundstate.core.handle import Handle, Resource

if TYPE_CHECKING:
    from groundstate.core.sysman import SysmanDevice


class Driver(Handle):
    """A Level Zero driver, with the devices it has.

    >>> import groundstate as gs
    >>> driver = gs.drivers()[0]
    >>> driver.api_version
    (1, 17)
    >>> [device.driver is driver for device in driver.devices]
    [True]
    """

    def __init__(self, library: _raw.Library, handle: int) -> None:
        self._resource = Resource(Api(library, handle), handle, None, None)
        self._devices: dict[int, Device] = {}

    def _describe(self) -> str:
        return f"of {self.library_path}"

    @property
    def library_path(self) -> str:
        """The library through which the driver is reached."""
        return self.api.library.path

    @property
    def is_own(self) -> bool:
        """True for the driver that comes with this package."""
        return self.api.library is libraries.own()

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """The devices of this driver; sub-devices are found in them."""
        return self._known(self.api.handles("zeDeviceGet", self.handle))

    @cached_property
    def fabric(self) -> tuple[FabricVertex, ...]:
        """The places in the fabric that devices and switches have; empty without a fabric."""
        if ze.ZE_FABRIC_EXP_NAME not in self.extensions:
            return ()
        found = self.api.handles("zeFabricVertexGetExp", self.handle)
        return tuple(FabricVertex(self, handle) for handle in found)

    def _known(self, handles: list[int]) -> tuple[Device, ...]:
        """The one object for each device handle."""
        for handle in handles:
            if handle not in self._devices:
                self._devices[handle] = Device(self, handle)
        return tuple(self._devices[handle] for handle in handles)

    @cached_property
    def _properties(self) -> ze.ze_driver_properties_t:
        return self.api.struct(ze.ze_driver_properties_t, "zeDriverGetProperties", self.handle)

    @property
    def uuid(self) -> UUID:
        """The identity of the driver on this machine."""
        return UUID(bytes=bytes(self._properties.uuid.id))

    @property
    def version(self) -> int:
        """The version of the driver, a number that grows with each release."""
        return int(self._properties.driverVersion)

    @cached_property
    def api_version(self) -> tuple[int, int]:
        """The version of Level Zero that the driver speaks."""
        version = ctypes.c_uint32()
        self.api.call("zeDriverGetApiVersion", self.handle, ctypes.byref(version))
        return version.value >> 16, version.value & 0xFFFF

    @cached_property
    def extensions(self) -> dict[str, tuple[int, int]]:
        """The extensions that the driver has, each with its version."""
        found = self.api.structs(
            ze.ze_driver_extension_properties_t, "zeDriverGetExtensionProperties", self.handle
        )
        return {each.name.decode(): (each.version >> 16, each.version & 0xFFFF) for each in found}

    @cached_property
    def ipc(self) -> IpcFlag:
        """What can be shared with other processes."""
        kind = ze.ze_driver_ipc_properties_t
        return IpcFlag(self.api.struct(kind, "zeDriverGetIpcProperties", self.handle).flags)


def drivers(*, include_system: bool = True) -> tuple[Driver, ...]:
    """All drivers of this machine: our own first, then those of the system's loader.

    >>> import groundstate as gs
    >>> gs.drivers()[0].is_own
    True
    """
    return _own_drivers() + _system_drivers() if include_system else _own_drivers()


def devices(*, include_system: bool = True) -> tuple[Device, ...]:
    """The devices of all drivers.

    >>> import groundstate as gs
    >>> for device in gs.devices(include_system=False):
    ...     print(device.name)  # doctest: +ELLIPSIS
    Groundstate CPU device...
    """
    return tuple(
        device for driver in drivers(include_system=include_system) for device in driver.devices
    )


def sysman_devices(*, include_system: bool = True) -> tuple[SysmanDevice, ...]:
    """All devices that can be watched, those that run no work of ours among them.

    >>> import groundstate as gs
    >>> gs.sysman_devices()[0] is gs.devices()[0].sysman
    True
    """
    from groundstate.core.sysman import discovery

    return discovery.sysman_devices(include_system=include_system)


@cache
def _own_drivers() -> tuple[Driver, ...]:
    return _drivers_of(libraries.own())


@cache
def _system_drivers() -> tuple[Driver, ...]:
    """The drivers of the system's loader, without our own, which it can be told to load too."""
    library = libraries.system()
    if library is None:
        return ()
    ours = {driver.uuid for driver in _own_drivers()}
    return tuple(driver for driver in _drivers_of(library) if driver.uuid not in ours)


def _drivers_of(library: _raw.Library) -> tuple[Driver, ...]:
    return tuple(Driver(library, handle) for handle in Api(library, 0).handles("zeDriverGet"))
