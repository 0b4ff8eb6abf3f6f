"""Readings from the object layer: one snapshot of each device, compared with the one before."""

from __future__ import annotations

import enum
import os
import socket
import threading
from collections import Counter
from collections.abc import Iterable, Sequence

from groundstate import core
from groundstate.core.sysman import SysmanDevice, change, snapshot
from groundstate.monitor import readings

PER_SECOND = 1e6
"""Microseconds in a second, microjoules in a joule."""


class Source:
    """Reads devices. Calling it gives a reading of all of them.

    A monitor does not use the devices that it watches, so its own process is left out.
    """

    def __init__(self, devices: Sequence[SysmanDevice] | None = None) -> None:
        self._devices = core.sysman_devices() if devices is None else tuple(devices)
        self._earlier: dict[int, snapshot.Snapshot] = {}
        self._host = socket.gethostname()
        self._lock = threading.Lock()  # several servers may scrape at once

    def __call__(self) -> readings.Reading:
        """A reading, compared with the last one that was asked for."""
        with self._lock:
            return self._read()

    def _read(self) -> readings.Reading:
        shots = {number: each.snapshot() for number, each in enumerate(self._devices)}
        changes = {
            number: shot.since(self._earlier[number])
            for number, shot in shots.items()
            if number in self._earlier
        }
        self._earlier = shots
        return readings.Reading(
            max((shot.unix_time for shot in shots.values()), default=0.0),
            max((each.seconds for each in changes.values()), default=None),
            tuple(_device(number, shot, changes.get(number)) for number, shot in shots.items()),
            self._host,
        )


def _device(number: int, shot: snapshot.Snapshot, since: change.Change | None) -> readings.Device:
    return readings.Device(
        number,
        shot.name,
        str(shot.uuid),
        _subdevice_count(shot),
        engines=_engines(shot, since),
        memories=_memories(shot),
        clocks=_clocks(shot),
        temperatures=_temperatures(shot),
        powers=_powers(shot, since),
        fans=_fans(shot),
        errors=_errors(shot),
        processes=_processes(shot, since),
        refused=dict(shot.refused),
    )


def word(value: enum.Enum | int) -> str:
    """A member of an enumeration as a word; one that only a newer API has is a number.

    >>> from groundstate.core.sysman import EngineGroup
    >>> word(EngineGroup.COMPUTE_ALL), word(99)
    ('compute_all', 'kind_99')
    """
    return value.name.lower() if isinstance(value, enum.Enum) else f"kind_{value}"


def unique(parts: Iterable[tuple[str, int | None]]) -> list[str]:
    """A name for each part: its kind, with a number where a sub-device has several of it.

    >>> unique([("package", None), ("memory", None), ("package", None), ("memory", 0)])
    ['package-0', 'memory', 'package-1', 'memory']
    """
    listed = list(parts)
    total, seen, names = Counter(listed), Counter[tuple[str, int | None]](), []
    for each in listed:
        names.append(each[0] if total[each] == 1 else f"{each[0]}-{seen[each]}")
        seen[each] += 1
    return names


def engine_names(groups: Iterable[tuple[str, int | None]]) -> list[str]:
    """Short names of engines; those of single engines end with a number.

    >>> engine_names([("compute_all", None), ("compute_single", None), ("compute_single", None)])
    ['compute', 'compute-0', 'compute-1']
    """
    seen, names = Counter[tuple[str, int | None]](), []
    for group, subdevice in groups:
        short = group.removesuffix("_all").removesuffix("_single").replace("three_d", "3d")
        if group.endswith("_single"):
            number = seen[group, subdevice]
            seen[group, subdevice] += 1
            short = f"{short}-{number}"
        names.append(short.replace("_", "-"))
    return names


def _engines(shot: snapshot.Snapshot, since: change.Change | None) -> tuple[readings.Engine, ...]:
    names = engine_names((word(each.group), each.subdevice) for each in shot.engines)
    shares = [each.utilization for each in since.engines] if since else [None] * len(names)
    return tuple(
        readings.Engine(
            name,
            word(each.group),
            each.subdevice,
            None if each.active_us is None else each.active_us / PER_SECOND,
            share,
        )
        for name, each, share in zip(names, shot.engines, shares, strict=True)
    )


def _memories(shot: snapshot.Snapshot) -> tuple[readings.Memory, ...]:
    names = unique((word(each.type), each.subdevice) for each in shot.memory)
    return tuple(
        readings.Memory(
            name,
            each.subdevice,
            each.size_bytes,
            each.free_bytes,
            each.bandwidth.read_bytes if each.bandwidth else None,
            each.bandwidth.written_bytes if each.bandwidth else None,
        )
        for name, each in zip(names, shot.memory, strict=True)
    )


def _clocks(shot: snapshot.Snapshot) -> tuple[readings.Clock, ...]:
    names = unique((word(each.type), each.subdevice) for each in shot.frequency)
    return tuple(
        readings.Clock(
            name,
            each.subdevice,
            each.actual_mhz,
            each.minimum_mhz,
            each.maximum_mhz,
            tuple(word(reason).replace("_", " ") for reason in each.throttle_reasons or ()),
            each.throttle_time.throttled_us / PER_SECOND if each.throttle_time else None,
        )
        for name, each in zip(names, shot.frequency, strict=True)
    )


def _temperatures(shot: snapshot.Snapshot) -> tuple[readings.Temperature, ...]:
    names = unique((word(each.type), each.subdevice) for each in shot.temperature)
    return tuple(
        readings.Temperature(name, each.subdevice, each.celsius, each.maximum_celsius)
        for name, each in zip(names, shot.temperature, strict=True)
    )


def _powers(shot: snapshot.Snapshot, since: change.Change | None) -> tuple[readings.Power, ...]:
    names = unique((word(each.domain), each.subdevice) for each in shot.power)
    watts = [each.watts for each in since.power] if since else [None] * len(names)
    return tuple(
        readings.Power(
            name,
            word(each.domain),
            each.subdevice,
            None if each.energy_uj is None else each.energy_uj / PER_SECOND,
            mean,
            None if each.limit_mw is None else each.limit_mw / 1000,
        )
        for name, each, mean in zip(names, shot.power, watts, strict=True)
    )


def _fans(shot: snapshot.Snapshot) -> tuple[readings.Fan, ...]:
    return tuple(
        readings.Fan(f"fan-{number}", each.rpm, each.percent)
        for number, each in enumerate(shot.fans)
    )


def _errors(shot: snapshot.Snapshot) -> tuple[readings.Errors, ...]:
    return tuple(
        readings.Errors(
            word(each.type), word(category).removesuffix("_errors"), count, each.subdevice
        )
        for each in shot.ras
        for category, count in (each.counts or {}).items()
    )


def _processes(
    shot: snapshot.Snapshot, since: change.Change | None
) -> tuple[readings.Process, ...] | None:
    if shot.processes is None:
        return None
    used = since.processes if since else None
    shares = {each.pid: each.utilization for each in used or ()}
    return tuple(
        readings.Process(
            each.pid,
            each.command or "",
            each.memory_bytes,
            each.shared_bytes,
            None if each.active_us is None else each.active_us / PER_SECOND,
            shares.get(each.pid),
        )
        for each in shot.processes
        if each.pid != os.getpid()
    )


def _subdevice_count(shot: snapshot.Snapshot) -> int:
    """How many sub-devices the parts belong to."""
    found = [each.subdevice for each in shot.engines] + [each.subdevice for each in shot.memory]
    return max((each + 1 for each in found if each is not None), default=0)
