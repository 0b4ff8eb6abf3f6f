"""Snapshots: everything about a device at one time, and what happened between two of them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar
from uuid import UUID

from groundstate.core.sysman.ecc import EccStatus
from groundstate.core.sysman.engine import EngineReading
from groundstate.core.sysman.fan import FanReading
from groundstate.core.sysman.firmware import FirmwareProperties
from groundstate.core.sysman.frequency import FrequencyReading
from groundstate.core.sysman.memory import MemoryReading
from groundstate.core.sysman.part import Look
from groundstate.core.sysman.pci import PciReading
from groundstate.core.sysman.power import PowerReading
from groundstate.core.sysman.process import ProcessState
from groundstate.core.sysman.psu import PowerSupplyReading
from groundstate.core.sysman.ras import ErrorReading
from groundstate.core.sysman.records import Record
from groundstate.core.sysman.scheduler import SchedulerReading
from groundstate.core.sysman.temperature import TemperatureReading

if TYPE_CHECKING:
    from groundstate.core.sysman.change import Change
    from groundstate.core.sysman.device import SysmanDevice, SysmanState

AnyReading = TypeVar("AnyReading", covariant=True)


@dataclass(frozen=True, slots=True)
class Snapshot(Record):
    """Everything about a device at one time.

    >>> import groundstate as gs
    >>> sysman = gs.devices()[0].sysman
    >>> before, after = sysman.snapshot(), sysman.snapshot()
    >>> after.since(before).seconds > 0
    True
    >>> sorted(after.as_dict())[:3]
    ['ecc', 'engines', 'fans']
    """

    name: str
    uuid: UUID
    unix_time: float
    """When it was taken, in seconds since 1970."""
    monotonic_ns: int
    """The same by the clock that nobody sets."""
    state: SysmanState | None
    engines: tuple[EngineReading, ...]
    memory: tuple[MemoryReading, ...]
    frequency: tuple[FrequencyReading, ...]
    temperature: tuple[TemperatureReading, ...]
    power: tuple[PowerReading, ...]
    fans: tuple[FanReading, ...]
    psus: tuple[PowerSupplyReading, ...]
    ras: tuple[ErrorReading, ...]
    schedulers: tuple[SchedulerReading, ...]
    firmware: tuple[FirmwareProperties, ...]
    pci: PciReading | None
    ecc: EccStatus | None
    processes: tuple[ProcessState, ...] | None
    refused: dict[str, str]
    """Why something is missing that the device has, by its name, such as "power[0].energy"."""

    def since(self, earlier: Snapshot) -> Change:
        """What happened since an earlier snapshot of the same device: shares, watts, rates."""
        from groundstate.core.sysman.change import between

        return between(earlier, self)

    def as_json(self) -> str:
        """The same as a line of JSON."""
        return json.dumps(self.as_dict())


class _Readable(Protocol[AnyReading]):
    """A part that can be read."""

    def reading(self, look: Look) -> AnyReading: ...


def _readings(
    look: Look, noun: str, parts: Callable[[], tuple[_Readable[AnyReading], ...]]
) -> tuple[AnyReading, ...]:
    """All parts of a kind; a device that is lost may not even tell which it has."""
    found = look.at(noun, parts) or ()
    readings = (
        look.at(f"{noun}[{index}]", partial(part.reading, look)) for index, part in enumerate(found)
    )
    return tuple(reading for reading in readings if reading is not None)


def take(sysman: SysmanDevice) -> Snapshot:
    """A snapshot of a device. What cannot be read does not keep the rest from being read."""
    look = Look(sysman.settings)
    return Snapshot(
        name=sysman.name,
        uuid=sysman.uuid,
        unix_time=time.time(),
        monotonic_ns=time.monotonic_ns(),
        state=look.at("state", lambda: sysman.state),
        engines=_readings(look, "engines", lambda: sysman.engines),
        memory=_readings(look, "memory", lambda: sysman.memory),
        frequency=_readings(look, "frequency", lambda: sysman.frequency),
        temperature=_readings(look, "temperature", lambda: sysman.temperature),
        power=_readings(look, "power", lambda: sysman.power),
        fans=_readings(look, "fans", lambda: sysman.fans),
        psus=_readings(look, "psus", lambda: sysman.psus),
        ras=_readings(look, "ras", lambda: sysman.ras),
        schedulers=_readings(look, "schedulers", lambda: sysman.schedulers),
        firmware=look.at("firmware", lambda: tuple(each.properties for each in sysman.firmware))
        or (),
        pci=look.at("pci", lambda: sysman.pci.reading(look) if sysman.pci else None),
        ecc=look.at_setting("ecc", lambda: sysman.ecc.status),
        processes=look.at("processes", sysman._processes.read),
        refused=look.refused,
    )
