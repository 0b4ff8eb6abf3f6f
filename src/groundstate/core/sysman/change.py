"""What happened between two snapshots: how busy engines were, how much power was used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from groundstate.core.sysman.enums import (
    EngineGroup,
    FrequencyType,
    MemoryLocation,
    PowerDomainType,
)
from groundstate.core.sysman.records import Record

if TYPE_CHECKING:
    from groundstate.core.sysman.engine import EngineReading
    from groundstate.core.sysman.frequency import FrequencyReading
    from groundstate.core.sysman.memory import MemoryReading
    from groundstate.core.sysman.pci import PciReading
    from groundstate.core.sysman.power import PowerReading
    from groundstate.core.sysman.process import ProcessState
    from groundstate.core.sysman.snapshot import Snapshot

_WHOLE = (EngineGroup.ALL, EngineGroup.THREE_D_RENDER_COMPUTE_ALL, EngineGroup.COMPUTE_ALL)
"""The engines that stand for a whole device, the one that counts the most first."""

_TOGETHER = (
    (PowerDomainType.CARD,),
    (PowerDomainType.PACKAGE, PowerDomainType.MEMORY),
    (PowerDomainType.GPU,),
)
"""The power domains that make up a whole device, the best way to count it first."""

AnyReading = TypeVar("AnyReading", bound=Record)


@dataclass(frozen=True, slots=True)
class EngineUse(Record):
    """How busy an engine was."""

    group: EngineGroup
    subdevice: int | None
    utilization: float | None
    """The share of the time in which it was busy, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class MemoryTraffic(Record):
    """What went through a memory."""

    location: MemoryLocation
    subdevice: int | None
    read_bytes_per_second: float | None
    written_bytes_per_second: float | None


@dataclass(frozen=True, slots=True)
class ClockThrottling(Record):
    """How long a clock was held down."""

    type: FrequencyType
    subdevice: int | None
    throttled: float | None
    """The share of the time, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class PowerUse(Record):
    """The mean power of a domain."""

    domain: PowerDomainType
    subdevice: int | None
    watts: float | None


@dataclass(frozen=True, slots=True)
class PciTraffic(Record):
    """What went through the PCI link."""

    received_bytes_per_second: float | None
    sent_bytes_per_second: float | None


@dataclass(frozen=True, slots=True)
class ProcessUse(Record):
    """How much of the device a process used."""

    pid: int
    utilization: float | None
    """The share of the device, from 0 to 1; None if it began in between, or nobody knows."""


@dataclass(frozen=True, slots=True)
class Change(Record):
    """What happened to a device between two snapshots.

    The parts are in the order in which the snapshots have them. What cannot be told, because it was
    not read both times or a counter went back, is None.
    """

    seconds: float
    engines: tuple[EngineUse, ...]
    memory: tuple[MemoryTraffic, ...]
    frequency: tuple[ClockThrottling, ...]
    power: tuple[PowerUse, ...]
    pci: PciTraffic | None
    processes: tuple[ProcessUse, ...] | None
    """Those that are there at the end."""

    @property
    def utilization(self) -> float | None:
        """How busy the whole device was, from 0 to 1, as far as it counts its work together."""
        whole = {each.group: each for each in self.engines if each.subdevice is None}
        return next((whole[group].utilization for group in _WHOLE if group in whole), None)

    @property
    def watts(self) -> float | None:
        """The mean power of the whole device, as far as it is counted.

        A card counts all of its parts. Without one, packages count their own, and memory that lies
        beside them is added.
        """
        for domains in _TOGETHER:
            known = [watts for domain in domains for watts in self._watts_of(domain)]
            if known:
                return sum(known)
        return None

    def _watts_of(self, domain: PowerDomainType) -> list[float]:
        """The power of the domains of a kind; those of sub-devices only if that is all there is."""
        found = [each for each in self.power if each.domain == domain]
        whole = [each for each in found if each.subdevice is None] or found
        return [each.watts for each in whole if each.watts is not None]


def between(earlier: Snapshot, later: Snapshot) -> Change:
    """What happened between two snapshots of a device."""
    if earlier.uuid != later.uuid:
        raise ValueError(f"{later.name} and {earlier.name} are two devices, so nothing is between")
    return Change(
        seconds=(later.monotonic_ns - earlier.monotonic_ns) / 1e9,
        engines=tuple(_engine(*pair) for pair in _pairs(earlier.engines, later.engines)),
        memory=tuple(_memory(*pair) for pair in _pairs(earlier.memory, later.memory)),
        frequency=tuple(_clock(*pair) for pair in _pairs(earlier.frequency, later.frequency)),
        power=tuple(_power(*pair) for pair in _pairs(earlier.power, later.power)),
        pci=_pci(earlier.pci, later.pci),
        processes=_processes(earlier.processes, later.processes),
    )


def _pairs(
    earlier: Sequence[AnyReading], later: Sequence[AnyReading]
) -> Iterator[tuple[AnyReading, AnyReading]]:
    """The readings of each part, which a device lists always in the same order.

    There are none if there are more parts now, because some could not be read before.
    """
    return zip(earlier, later, strict=True) if len(earlier) == len(later) else iter(())


def _rate(
    before: int | None, after: int | None, started_us: int | None, ended_us: int | None
) -> float | None:
    """By how much a counter grew in each microsecond, or None if that cannot be told."""
    if before is None or after is None or started_us is None or ended_us is None:
        return None
    if ended_us <= started_us or after < before:
        return None
    return (after - before) / (ended_us - started_us)


def _share(rate: float | None) -> float | None:
    return None if rate is None else min(1.0, rate)


def _per_second(rate: float | None) -> float | None:
    return None if rate is None else rate * 1e6


def _engine(before: EngineReading, after: EngineReading) -> EngineUse:
    rate = _rate(before.active_us, after.active_us, before.timestamp_us, after.timestamp_us)
    return EngineUse(after.group, after.subdevice, _share(rate))


def _memory(before: MemoryReading, after: MemoryReading) -> MemoryTraffic:
    old, new = before.bandwidth, after.bandwidth
    if old is None or new is None:
        return MemoryTraffic(after.location, after.subdevice, None, None)
    times = old.timestamp_us, new.timestamp_us
    read = _rate(old.read_bytes, new.read_bytes, *times)
    written = _rate(old.written_bytes, new.written_bytes, *times)
    return MemoryTraffic(after.location, after.subdevice, _per_second(read), _per_second(written))


def _clock(before: FrequencyReading, after: FrequencyReading) -> ClockThrottling:
    old, new = before.throttle_time, after.throttle_time
    rate = None
    if old is not None and new is not None:
        rate = _rate(old.throttled_us, new.throttled_us, old.timestamp_us, new.timestamp_us)
    return ClockThrottling(after.type, after.subdevice, _share(rate))


def _power(before: PowerReading, after: PowerReading) -> PowerUse:
    """A microjoule in a microsecond is a watt."""
    watts = _rate(before.energy_uj, after.energy_uj, before.timestamp_us, after.timestamp_us)
    return PowerUse(after.domain, after.subdevice, watts)


def _pci(before: PciReading | None, after: PciReading | None) -> PciTraffic | None:
    old, new = (each.stats if each is not None else None for each in (before, after))
    if old is None or new is None:
        return None
    times = old.timestamp_us, new.timestamp_us
    received = _rate(old.received_bytes, new.received_bytes, *times)
    sent = _rate(old.sent_bytes, new.sent_bytes, *times)
    return PciTraffic(_per_second(received), _per_second(sent))


def _processes(
    earlier: tuple[ProcessState, ...] | None, later: tuple[ProcessState, ...] | None
) -> tuple[ProcessUse, ...] | None:
    if later is None:
        return None
    before = {process.pid: process for process in earlier or ()}
    return tuple(_process(before.get(process.pid), process) for process in later)


def _process(before: ProcessState | None, after: ProcessState) -> ProcessUse:
    if before is None:
        return ProcessUse(after.pid, None)
    rate = _rate(before.active_us, after.active_us, before.timestamp_us, after.timestamp_us)
    return ProcessUse(after.pid, _share(rate))
