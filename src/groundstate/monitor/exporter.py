"""Readings for Prometheus: one reading for each scrape, in base units, counters as counters.

Names follow what exporters for accelerators have in common: a family for each quantity, labels for
where it was measured. Shares and watts are not exported: `rate()` of a counter gives them over any
time, and several servers may scrape without disturbing each other. What is not known is left out.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

from groundstate.monitor.readings import Device, Reading
from groundstate.monitor.words import cut, printable
from groundstate.version import __version__

PREFIX = "groundstate_"
DEVICE = ("device", "uuid")
PART = (*DEVICE, "subdevice")

Sample = tuple[tuple[str, ...], float | None]
"""The values of the labels after those of the device, and the value."""

Find = Callable[[Device], Iterable[Sample]]

MHZ = 1e6


def part(subdevice: int | None) -> str:
    """A sub-device as a label; an empty one is none at all for Prometheus."""
    return "" if subdevice is None else str(subdevice)


class Family:
    """A quantity: its name, what it means, its labels, and where it is found in a device."""

    def __init__(
        self, name: str, meaning: str, labels: tuple[str, ...], find: Find, *, counter: bool = False
    ) -> None:
        self.name = PREFIX + name
        self.meaning = meaning
        self.labels = labels
        self.find = find
        self.counter = counter

    def of(self, reading: Reading) -> Metric | None:
        """The values in a reading, or None if there are none."""
        kind = CounterMetricFamily if self.counter else GaugeMetricFamily
        metric = kind(self.name, self.meaning, labels=self.labels)
        for device in reading.devices:
            for labels, value in self.find(device):
                if value is not None:
                    metric.add_metric([str(device.number), device.uuid, *labels], value)
        return metric if metric.samples else None


def _memories(name: str) -> Find:
    def find(device: Device) -> Iterator[Sample]:
        for each in device.memories:
            yield (part(each.subdevice), each.name), getattr(each, name)

    return find


def _clocks(name: str, factor: float) -> Find:
    def find(device: Device) -> Iterator[Sample]:
        for each in device.clocks:
            value: float | None = getattr(each, name)
            yield (part(each.subdevice), each.name), None if value is None else value * factor

    return find


def _temperatures(name: str) -> Find:
    def find(device: Device) -> Iterator[Sample]:
        for each in device.temperatures:
            yield (part(each.subdevice), each.name), getattr(each, name)

    return find


def _powers(name: str) -> Find:
    def find(device: Device) -> Iterator[Sample]:
        for each in device.powers:
            yield (part(each.subdevice), each.name), getattr(each, name)

    return find


def _throttled(device: Device) -> Iterator[Sample]:
    for each in device.clocks:
        if each.actual_mhz is not None:
            yield (part(each.subdevice), each.name), float(bool(each.throttled_by))


def _engines(device: Device) -> Iterator[Sample]:
    for each in device.engines:
        yield (part(each.subdevice), each.name, each.group), each.busy_seconds


def _fans(device: Device) -> Iterator[Sample]:
    for each in device.fans:
        yield (each.name,), each.rpm


def _fan_ratios(device: Device) -> Iterator[Sample]:
    for each in device.fans:
        yield (each.name,), None if each.percent is None else each.percent / 100


def _errors(device: Device) -> Iterator[Sample]:
    for each in device.errors:
        yield (part(each.subdevice), each.kind, each.category), each.count


def _process_count(device: Device) -> Iterator[Sample]:
    if device.processes is not None:
        yield (), len(device.processes)


WORKER = re.compile(r"dask worker (?:(\S+) )?\[(\w+://\S+)\]")
"""What Dask's workers call themselves where a process has its command line: name and address."""


def _workers(name: str) -> Find:
    def find(device: Device) -> Iterator[Sample]:
        for each in device.processes or ():
            named = WORKER.match(each.command)
            if named is not None:
                labels = (cut(printable(text)) for text in (named[1] or named[2], named[2]))
                yield (*labels,), getattr(each, name)

    return find


def _processes(name: str) -> Find:
    def find(device: Device) -> Iterator[Sample]:
        for each in device.processes or ():
            yield (str(each.pid), cut(printable(each.command))), getattr(each, name)

    return find


FAMILIES = (
    Family(
        "engine_busy_seconds",
        "How long an engine was busy; its rate is the utilisation from 0 to 1.",
        (*PART, "engine", "group"),
        _engines,
        counter=True,
    ),
    Family(
        "memory_size_bytes",
        "How much can be allocated of a memory.",
        (*PART, "memory"),
        _memories("size_bytes"),
    ),
    Family(
        "memory_used_bytes",
        "How much of a memory is allocated, by all processes.",
        (*PART, "memory"),
        _memories("used_bytes"),
    ),
    Family(
        "memory_free_bytes",
        "How much of a memory can still be allocated.",
        (*PART, "memory"),
        _memories("free_bytes"),
    ),
    Family(
        "memory_read_bytes",
        "What was read from a memory.",
        (*PART, "memory"),
        _memories("read_bytes"),
        counter=True,
    ),
    Family(
        "memory_written_bytes",
        "What was written to a memory.",
        (*PART, "memory"),
        _memories("written_bytes"),
        counter=True,
    ),
    Family("clock_hertz", "How fast a clock is.", (*PART, "domain"), _clocks("actual_mhz", MHZ)),
    Family(
        "clock_minimum_hertz",
        "How slow a clock can be.",
        (*PART, "domain"),
        _clocks("minimum_mhz", MHZ),
    ),
    Family(
        "clock_maximum_hertz",
        "How fast a clock can be.",
        (*PART, "domain"),
        _clocks("maximum_mhz", MHZ),
    ),
    Family(
        "clock_throttled",
        "1 while heat, power or a limit holds a clock down, else 0.",
        (*PART, "domain"),
        _throttled,
    ),
    Family(
        "clock_throttled_seconds",
        "How long a clock was held down.",
        (*PART, "domain"),
        _clocks("throttled_seconds", 1.0),
        counter=True,
    ),
    Family("temperature_celsius", "A temperature.", (*PART, "sensor"), _temperatures("celsius")),
    Family(
        "temperature_critical_celsius",
        "The temperature that must not be reached.",
        (*PART, "sensor"),
        _temperatures("critical_celsius"),
    ),
    Family(
        "energy_joules",
        "The energy that was used; its rate is the power in watts.",
        (*PART, "domain"),
        _powers("energy_joules"),
        counter=True,
    ),
    Family(
        "power_limit_watts",
        "The limit of the mean power.",
        (*PART, "domain"),
        _powers("limit_watts"),
    ),
    Family("fan_rpm", "How many turns a fan makes in a minute.", (*DEVICE, "fan"), _fans),
    Family("fan_ratio", "How fast a fan turns, of its most.", (*DEVICE, "fan"), _fan_ratios),
    Family(
        "errors",
        "Errors of the hardware, by whether they were put right.",
        (*PART, "type", "category"),
        _errors,
        counter=True,
    ),
    Family("processes", "How many processes use a device.", DEVICE, _process_count),
    Family(
        "worker_memory_bytes",
        "What a worker of Dask has of a device's memory.",
        (*DEVICE, "worker", "address"),
        _workers("memory_bytes"),
    ),
    Family(
        "worker_busy_seconds",
        "How long a worker of Dask kept a device busy; its rate is its share of the device.",
        (*DEVICE, "worker", "address"),
        _workers("busy_seconds"),
        counter=True,
    ),
)

PROCESS_FAMILIES = (
    Family(
        "process_memory_bytes",
        "What a process has of a device's memory.",
        (*DEVICE, "pid", "command"),
        _processes("memory_bytes"),
    ),
    Family(
        "process_busy_seconds",
        "How long a process kept a device busy; its rate is its share of the device.",
        (*DEVICE, "pid", "command"),
        _processes("busy_seconds"),
        counter=True,
    ),
)


class Devices(Collector):
    """Takes a reading whenever somebody scrapes."""

    def __init__(self, read: Callable[[], Reading], *, processes: bool = False) -> None:
        self._read = read
        self._families = FAMILIES + (PROCESS_FAMILIES if processes else ())

    def describe(self) -> Iterable[Metric]:
        """Nothing: which families there are is known only from a reading."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """All families of one reading."""
        started = time.perf_counter()
        reading = self._read()
        took = time.perf_counter() - started
        yield self._about_us()
        yield self._names(reading)
        for family in self._families:
            metric = family.of(reading)
            if metric is not None:
                yield metric
        yield GaugeMetricFamily(
            PREFIX + "reading_duration_seconds", "How long it took to ask all devices.", took
        )

    def _about_us(self) -> Metric:
        info = InfoMetricFamily(PREFIX + "build", "The version of Groundstate.")
        info.add_metric([], {"version": __version__})
        return info

    def _names(self, reading: Reading) -> Metric:
        info = InfoMetricFamily(PREFIX + "device", "The names of the devices.", labels=DEVICE)
        for device in reading.devices:
            labels = {"name": printable(device.name), "subdevices": str(device.subdevices)}
            info.add_metric([str(device.number), device.uuid], labels)
        return info


def registry(read: Callable[[], Reading], *, processes: bool = False) -> CollectorRegistry:
    """A registry with the devices in it, and nothing else."""
    found = CollectorRegistry()
    found.register(Devices(read, processes=processes))
    return found
