"""What is known of the devices at one moment: plain records that every view reads.

Units are in the names. None is what the machine does not tell, or what needs an earlier reading to
compare with: views show it as a dash or leave it out, never as zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Engine:
    """Something that works, and whose busy time is counted."""

    name: str
    """Short, and different for each engine of a sub-device: `compute`, `copy`, `compute-3`."""
    group: str
    """The kind of engines of Level Zero: `compute_all`, `compute_single`."""
    subdevice: int | None = None
    busy_seconds: float | None = None
    """How long it was busy since the device started."""
    utilisation: float | None = None
    """The share of the time since the earlier reading that it was busy, from 0 to 1."""

    @property
    def is_single(self) -> bool:
        """Whether it is one engine, not a sum over several."""
        return self.group.endswith("_single")


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory of a device."""

    name: str
    subdevice: int | None = None
    size_bytes: int | None = None
    free_bytes: int | None = None
    read_bytes: int | None = None
    """What went out of it since the device started."""
    written_bytes: int | None = None

    @property
    def used_bytes(self) -> int | None:
        """What is taken of it."""
        if self.size_bytes is None or self.free_bytes is None:
            return None
        return self.size_bytes - self.free_bytes


@dataclass(frozen=True, slots=True)
class Clock:
    """A frequency domain."""

    name: str
    subdevice: int | None = None
    actual_mhz: float | None = None
    minimum_mhz: float | None = None
    maximum_mhz: float | None = None
    throttled_by: tuple[str, ...] = ()
    """Why it is held down now; empty if it is not."""
    throttled_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Temperature:
    """A thermometer."""

    name: str
    subdevice: int | None = None
    celsius: float | None = None
    critical_celsius: float | None = None


@dataclass(frozen=True, slots=True)
class Power:
    """Something whose energy is counted."""

    name: str
    domain: str
    """What it is: `card`, `package`, `memory`."""
    subdevice: int | None = None
    energy_joules: float | None = None
    watts: float | None = None
    """The mean since the earlier reading."""
    limit_watts: float | None = None


@dataclass(frozen=True, slots=True)
class Fan:
    """A fan."""

    name: str
    rpm: int | None = None
    percent: int | None = None


@dataclass(frozen=True, slots=True)
class Errors:
    """A counter of hardware errors."""

    kind: str
    """`correctable` or `uncorrectable`."""
    category: str
    count: int
    subdevice: int | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """A process that uses a device."""

    pid: int
    command: str
    memory_bytes: int | None = None
    shared_bytes: int | None = None
    busy_seconds: float | None = None
    utilisation: float | None = None
    """The share of the whole device's time since the earlier reading, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Device:
    """A device and everything that is known of it."""

    number: int
    name: str
    uuid: str
    subdevices: int = 0
    engines: tuple[Engine, ...] = ()
    memories: tuple[Memory, ...] = ()
    clocks: tuple[Clock, ...] = ()
    temperatures: tuple[Temperature, ...] = ()
    powers: tuple[Power, ...] = ()
    fans: tuple[Fan, ...] = ()
    errors: tuple[Errors, ...] = ()
    processes: tuple[Process, ...] | None = ()
    """None if they cannot be listed."""
    refused: dict[str, str] = field(default_factory=dict)
    """Why something is missing that the device has, such as a counter of energy."""

    def engine(self, group: str, subdevice: int | None = None) -> Engine | None:
        """The first engine of a group, of the whole device or of a sub-device."""
        for engine in self.engines:
            if engine.group == group and engine.subdevice == subdevice:
                return engine
        return None

    def workers(self, subdevice: int | None = None) -> tuple[Engine, ...]:
        """The single engines that compute; without a sub-device, those of all of them."""
        return tuple(
            engine
            for engine in self.engines
            if engine.group == "compute_single" and subdevice in (None, engine.subdevice)
        )

    def memory(self, subdevice: int | None = None) -> Memory | None:
        """All memories together, of the whole device or of a sub-device."""
        parts = [each for each in self.memories if subdevice in (None, each.subdevice)]
        sizes = [each.size_bytes for each in parts if each.size_bytes is not None]
        free = [each.free_bytes for each in parts if each.free_bytes is not None]
        if not sizes:
            return None
        complete = len(free) == len(sizes)
        return Memory("memory", subdevice, sum(sizes), sum(free) if complete else None)

    def clock(self) -> Clock | None:
        """The clock of what computes: the first domain that says how fast it is."""
        known = [each for each in self.clocks if each.actual_mhz is not None]
        return next(iter(known or self.clocks), None)

    def temperature(self) -> Temperature | None:
        """The hottest thermometer."""
        known = [each for each in self.temperatures if each.celsius is not None]
        return max(known, key=lambda each: each.celsius or 0.0, default=None)

    def power(self) -> Power | None:
        """The whole device: a card counts all of its parts; without one, packages are summed."""
        for domain in ("card", "package", "gpu"):
            found = [each for each in self.powers if each.domain == domain]
            parts = [each for each in found if each.subdevice is None] or found
            if parts:
                return Power(
                    domain,
                    domain,
                    None,
                    _sum(each.energy_joules for each in parts),
                    _sum(each.watts for each in parts),
                    _sum(each.limit_watts for each in parts),
                )
        return next(iter(self.powers), None)


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum, which is not known if one of the values is not."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


@dataclass(frozen=True, slots=True)
class Reading:
    """All devices at one moment."""

    time: float
    """Seconds since 1970."""
    seconds: float | None = None
    """How much later than the reading that it was compared with."""
    devices: tuple[Device, ...] = ()
    host: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON has it."""
        return asdict(self)

    def processes(self) -> Iterator[tuple[Device, Process]]:
        """Every process with the device that it uses."""
        for device in self.devices:
            for process in device.processes or ():
                yield device, process
