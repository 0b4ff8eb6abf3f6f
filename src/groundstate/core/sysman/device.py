"""Devices as system management sees them: what they are, their parts, and who uses them."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

from groundstate import zes
from groundstate.core.api import Api
from groundstate.core.enums import DeviceFlag, DeviceType
from groundstate.core.handle import Handle, Resource
from groundstate.core.properties import DeviceProperties
from groundstate.core.sysman.card import (
    DiagnosticSuite,
    FabricPort,
    Led,
    PerformanceDomain,
    StandbyDomain,
)
from groundstate.core.sysman.ecc import Ecc
from groundstate.core.sysman.engine import Engine
from groundstate.core.sysman.enums import RepairStatus, ResetReason
from groundstate.core.sysman.events import Events
from groundstate.core.sysman.fan import Fan
from groundstate.core.sysman.firmware import Firmware
from groundstate.core.sysman.frequency import FrequencyDomain
from groundstate.core.sysman.memory import MemoryModule
from groundstate.core.sysman.part import chained, record, records
from groundstate.core.sysman.pci import Pci
from groundstate.core.sysman.power import PowerDomain
from groundstate.core.sysman.process import Processes, ProcessState
from groundstate.core.sysman.psu import PowerSupply
from groundstate.core.sysman.ras import ErrorCounters
from groundstate.core.sysman.records import CHAINED, Record
from groundstate.core.sysman.scheduler import Scheduler
from groundstate.core.sysman.temperature import TemperatureSensor

if TYPE_CHECKING:
    from groundstate.core.device import Device
    from groundstate.core.sysman.snapshot import Snapshot

NOBODY, NO_FLAGS = UUID(int=0), DeviceFlag(0)


@dataclass(frozen=True, slots=True)
class SysmanProperties(Record):
    """What a device is; what nobody knows is None."""

    STRUCT = "zes_device_properties_t"

    core: DeviceProperties
    """What the device says of itself where work is given to it."""
    subdevice_count: Annotated[int, "numSubdevices"]
    serial_number: str | None
    board_number: str | None
    brand_name: str | None
    model_name: str | None
    vendor_name: str | None
    driver_version: str | None
    uuid: Annotated[UUID, CHAINED] = NOBODY
    type: Annotated[DeviceType, CHAINED] = DeviceType.GPU
    flags: Annotated[DeviceFlag, CHAINED] = NO_FLAGS


@dataclass(frozen=True, slots=True)
class SysmanState(Record):
    """Whether a device works."""

    STRUCT = "zes_device_state_t"

    reset_reasons: Annotated[ResetReason, "reset"]
    """Why it has to be reset; nothing if it works."""
    repaired: RepairStatus


@dataclass(frozen=True, slots=True)
class SubdeviceIdentity(Record):
    """The number of a sub-device, by which parts say where they belong, and its UUID."""

    STRUCT = "zes_subdevice_exp_properties_t"

    number: Annotated[int, "subdeviceId"]
    uuid: UUID


class SysmanDevice(Handle):
    """A device as system management sees it: `device.sysman`, or one of `gs.sysman_devices()`.

    What the device has not got is an empty tuple; a value that is not known is None. Each part is
    read when it is asked, and `snapshot()` reads all of them.

    >>> import groundstate as gs
    >>> sysman = gs.devices()[0].sysman
    >>> sysman.device is gs.devices()[0]
    True
    >>> [engine.group.name for engine in sysman.engines][:3]
    ['ALL', 'COMPUTE_ALL', 'COPY_ALL']
    """

    def __init__(self, api: Api, driver_handle: int, handle: int) -> None:
        self.driver_handle = driver_handle
        """The driver as the C API knows it."""
        self._resource = Resource(api, handle, None, None)
        self.settings: dict[str, tuple[float, Any]] = {}
        """What snapshots keep for some seconds: see `Look`."""
        self._processes = Processes(self)

    def _describe(self) -> str:
        return repr(self.name)

    # --- What it is -------------------------------------------------------------------------------

    @cached_property
    def properties(self) -> SysmanProperties:
        """What the device is."""
        more = zes.zes_device_ext_properties_t()
        head = chained(zes.zes_device_properties_t(), more)
        self.api.call("zesDeviceGetProperties", self.handle, ctypes.byref(head))
        facts = SysmanProperties.read(head)
        if not more.type:  # a driver that does not know of the second struct
            core = facts.core
            return replace(facts, uuid=core.uuid, type=core.type, flags=core.flags)
        return replace(
            facts,
            uuid=UUID(bytes=bytes(more.uuid.id)),
            type=DeviceType(more.type),
            flags=DeviceFlag(more.flags),
        )

    @property
    def name(self) -> str:
        """The name of the device."""
        return self.properties.core.name

    @property
    def uuid(self) -> UUID:
        """The identity of the device on this machine."""
        return self.properties.uuid

    @cached_property
    def subdevices(self) -> tuple[SubdeviceIdentity, ...]:
        """The sub-devices that parts can belong to."""
        name = "zesDeviceGetSubDevicePropertiesExp"
        return records(SubdeviceIdentity, self.api, name, self.handle) or ()

    @property
    def device(self) -> Device | None:
        """The device to give work to; None if there is none.

        There is none for a device that can only be watched, and for one that the hierarchy of
        devices does not show, but only its sub-devices.
        """
        from groundstate.core.sysman.discovery import core_device

        return core_device(self)

    @property
    def state(self) -> SysmanState | None:
        """Whether it works."""
        return record(SysmanState, self.api, "zesDeviceGetState", self.handle)

    def reset(self, *, force: bool = False) -> None:
        """Starts the device anew; with force, although programs use it."""
        self.api.call("zesDeviceReset", self.handle, force)

    # --- Its parts --------------------------------------------------------------------------------

    @cached_property
    def engines(self) -> tuple[Engine, ...]:
        """Its workers, alone and together."""
        return Engine.all_of(self)

    @cached_property
    def memory(self) -> tuple[MemoryModule, ...]:
        """Its memories."""
        return MemoryModule.all_of(self)

    @cached_property
    def frequency(self) -> tuple[FrequencyDomain, ...]:
        """Its clocks."""
        return FrequencyDomain.all_of(self)

    @cached_property
    def temperature(self) -> tuple[TemperatureSensor, ...]:
        """Its thermometers."""
        return TemperatureSensor.all_of(self)

    @cached_property
    def power(self) -> tuple[PowerDomain, ...]:
        """What of it has a counter of energy."""
        return PowerDomain.all_of(self)

    @cached_property
    def fans(self) -> tuple[Fan, ...]:
        """Its fans."""
        return Fan.all_of(self)

    @cached_property
    def psus(self) -> tuple[PowerSupply, ...]:
        """Its power supplies."""
        return PowerSupply.all_of(self)

    @cached_property
    def ras(self) -> tuple[ErrorCounters, ...]:
        """Its counters of errors."""
        return ErrorCounters.all_of(self)

    @cached_property
    def schedulers(self) -> tuple[Scheduler, ...]:
        """What shares it among programs."""
        return Scheduler.all_of(self)

    @cached_property
    def firmware(self) -> tuple[Firmware, ...]:
        """What it runs by itself."""
        return Firmware.all_of(self)

    @cached_property
    def standby(self) -> tuple[StandbyDomain, ...]:
        """What of it may go to sleep."""
        return StandbyDomain.all_of(self)

    @cached_property
    def performance(self) -> tuple[PerformanceDomain, ...]:
        """What of it can be balanced between computing and memory."""
        return PerformanceDomain.all_of(self)

    @cached_property
    def leds(self) -> tuple[Led, ...]:
        """Its lights."""
        return Led.all_of(self)

    @cached_property
    def diagnostics(self) -> tuple[DiagnosticSuite, ...]:
        """Its tests of itself."""
        return DiagnosticSuite.all_of(self)

    @cached_property
    def fabric_ports(self) -> tuple[FabricPort, ...]:
        """Its ports to other devices."""
        return FabricPort.all_of(self)

    @cached_property
    def pci(self) -> Pci | None:
        """Its place on the PCI bus, or None."""
        return Pci.of(self)

    @cached_property
    def ecc(self) -> Ecc:
        """Error correction of its memory."""
        return Ecc(self)

    @cached_property
    def events(self) -> Events:
        """What a program can be told about it."""
        return Events(self)

    @property
    def processes(self) -> tuple[ProcessState, ...]:
        """The processes that use it now."""
        return self._processes.read() or ()

    def snapshot(self) -> Snapshot:
        """Everything about the device at one time."""
        from groundstate.core.sysman.snapshot import take

        return take(self)
