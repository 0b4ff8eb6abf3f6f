"""Which counters the packages of a device have: energy from powercap, and from PMUs of the kernel.

A PMU below /sys/bus/event_source/devices has a type, events with scales and units, and a CPU of
each package on which they are counted.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from groundstate import zes
from groundstate.driver import native
from groundstate.driver.devices.cpu import parse_cpu_list
from groundstate.driver.metrics.table import NAMES
from groundstate.driver.platform import Device
from groundstate.driver.sysman.system.energy import zones
from groundstate.driver.sysman.system.files import Files
from groundstate.driver.sysman.system.places import Places

_PMUS = "sys/bus/event_source/devices"
_CACHE_LINE = 64
UNITS = {"MiB": float(1 << 20), "Joules": 1e6}
"""What the units of events are in those of metrics: bytes and microjoules."""


class CountedFile(NamedTuple):
    """A file with a number that grows."""

    path: str
    turn: int
    """After which it begins anew."""

    def add(self, device: int, word: int) -> bool:
        return native.package_add_file(device, word, *self)


class CountedEvent(NamedTuple):
    """An event of a PMU."""

    type: int
    config: int
    cpu: int
    scale: float

    def add(self, device: int, word: int) -> bool:
        return native.package_add_event(device, word, *self)


Counter = CountedFile | CountedEvent


class Known(NamedTuple):
    """PMUs that count for a word, of which there is one for each package or memory channel.

    Their names and those of events are patterns: some controllers have an event for each half.
    """

    word: str
    pmus: str
    event: str
    terms: str = ""
    """What the event consists of where the kernel does not say so; it stands for a cache line."""


KNOWN = (
    Known("package_energy", r"power", "energy-pkg"),
    Known("memory_energy", r"power", "energy-ram"),
    Known("memory_read", r"uncore_imc(_\d+)?", r"cas_count_read(_sch\d)?"),
    Known("memory_written", r"uncore_imc(_\d+)?", r"cas_count_write(_sch\d)?"),
    Known("memory_read", r"uncore_imc(_\d+)?", "data_reads"),
    Known("memory_written", r"uncore_imc(_\d+)?", "data_writes"),
    Known("memory_read", r"uncore_imc_free_running(_\d+)?", "data_read"),
    Known("memory_written", r"uncore_imc_free_running(_\d+)?", "data_write"),
    Known("memory_read", r"amd_umc_\d+", "", "event=0x0a,rdwrmask=0x1"),
    Known("memory_written", r"amd_umc_\d+", "", "event=0x0a,rdwrmask=0x2"),
)
"""The first that can be read is taken: some machines count the same twice."""

_ZONES = {
    zes.ZES_POWER_DOMAIN_PACKAGE: "package_energy",
    zes.ZES_POWER_DOMAIN_MEMORY: "memory_energy",
}

_lock = threading.Lock()
_of_device: dict[int, tuple[str, ...]] = {}


def words(device: Device) -> tuple[str, ...]:
    """Those of `gs_metric_counts` that the packages of a device count and this process may read."""
    with _lock:
        if device.handle not in _of_device:
            _of_device[device.handle] = tuple(_add(device))
        return _of_device[device.handle]


def _add(device: Device) -> list[str]:
    added: list[str] = []
    for word, counters in choices(device.machine.root, device.cpus):
        number = NAMES.index(word)
        if word not in added and all(each.add(0, number) for each in counters):
            added.append(word)
            for each in counters:
                each.add(device.handle, number)
    return added


def choices(root: str, cpus: Sequence[int]) -> Iterator[tuple[str, Sequence[Counter]]]:
    """The counters of each word for the packages of these CPUs; the best ones first."""
    files = Files(root)
    places = Places(files, cpus)
    for domain, word in _ZONES.items():
        found = [zone for zone, kind, _ in zones(files, places) if kind == domain]
        if found:
            yield word, [_file(files, zone) for zone in found]
    for known in KNOWN:
        names = files.names(_PMUS, known.pmus)
        events = [each for name in names for each in _events(files, places, name, known)]
        if events:
            yield known.word, events


def _file(files: Files, zone: str) -> CountedFile:
    turn = files.number(f"{zone}/max_energy_range_uj") or 0
    return CountedFile(files.path(f"{zone}/energy_uj"), turn)


# --- PMUs -----------------------------------------------------------------------------------------


def _events(files: Files, places: Places, name: str, known: Known) -> Iterator[CountedEvent]:
    pmu = f"{_PMUS}/{name}"
    type_ = files.number(f"{pmu}/type")
    cpus = parse_cpu_list(files.text(f"{pmu}/cpumask") or "")
    if type_ is None:
        return
    for config, scale in _configs(files, pmu, known):
        for cpu in cpus:
            if places.package(files.package_of(cpu)) is not None:
                yield CountedEvent(type_, config, cpu, scale)


def _configs(files: Files, pmu: str, known: Known) -> Iterator[tuple[int, float]]:
    """The numbers of the events that are understood, and what each stands for."""
    if known.terms:
        config = _config(files, pmu, known.terms)
        if config is not None:
            yield config, _CACHE_LINE
        return
    for name in files.names(f"{pmu}/events", known.event):
        event = f"{pmu}/events/{name}"
        config, scale = _config(files, pmu, files.text(event) or ""), _scale(files, event)
        if config is not None and scale is not None:
            yield config, scale


def _scale(files: Files, event: str) -> float | None:
    """What an event stands for, in the units of metrics; None if the kernel does not say so."""
    unit = UNITS.get(files.text(f"{event}.unit") or "")
    try:
        scale = float(files.text(f"{event}.scale") or "")
    except ValueError:
        return None
    return scale * unit if unit else None


def _config(files: Files, pmu: str, terms: str) -> int | None:
    """The number that stands for terms such as `event=0x4,umask=0x3`; None if it is not known."""
    config = 0
    for term in filter(None, terms.split(",")):
        name, _, value = term.partition("=")
        place = re.fullmatch(r"config:(\d+)(-\d+)?", files.text(f"{pmu}/format/{name}") or "")
        try:
            number = int(value, 0) if value else 1
        except ValueError:
            return None
        if place is None:
            return None
        config |= number << int(place[1])
    return config if terms else None
