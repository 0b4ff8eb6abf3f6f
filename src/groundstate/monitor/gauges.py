"""What is shown of a device, row by row: a name, a text, and how full a bar of it would be."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from groundstate.monitor import words
from groundstate.monitor.readings import Clock, Device, Memory, Power, Reading, Temperature

HOT_CELSIUS = 100.0
"""What a thermometer without a limit of its own is compared with."""

LENGTH = 600
"""How many readings are remembered: more than any terminal has columns."""

COMPUTING = (
    ("compute_all", "compute"),
    ("three_d_render_compute_all", "compute"),
    ("all", "busy"),
)
"""Where the engines that compute are looked for: not all devices tell them from others."""

OPTIONAL_ENGINES = (
    ("media_all", "media"),
    ("media_decode_single", "decode"),
    ("media_encode_single", "encode"),
    ("render_all", "render"),
    ("three_d_all", "3d"),
)


@dataclass(frozen=True, slots=True)
class Gauge:
    """One row."""

    name: str
    text: str
    share: float | None
    """From 0 to 1; None if it is not known, or if there is nothing to compare it with."""


def gauges(device: Device) -> tuple[Gauge, ...]:
    """The rows of a device. The first six are always there; a dash stands for what is unknown."""
    return (
        _busy(device),
        _engine(device, "copy_all", "copy"),
        *(
            _engine(device, group, name)
            for group, name in OPTIONAL_ENGINES
            if device.engine(group) is not None
        ),
        _memory(device.memory()),
        _clock(device.clock()),
        _heat(device.temperature()),
        _power(device.power()),
    )


def subdevice_gauges(device: Device, subdevice: int) -> tuple[Gauge, Gauge]:
    """How busy a sub-device is, and its memory."""
    return _busy(device, subdevice), _memory(device.memory(subdevice))


def _busy(device: Device, subdevice: int | None = None) -> Gauge:
    """The engines that compute."""
    for group, name in COMPUTING:
        if device.engine(group, subdevice) is not None:
            return _engine(device, group, name, subdevice)
    return Gauge("compute", words.DASH, None)


def _engine(device: Device, group: str, name: str, subdevice: int | None = None) -> Gauge:
    engine = device.engine(group, subdevice)
    share = None if engine is None else engine.utilisation
    return Gauge(name, words.percent_text(share), share)


def _memory(memory: Memory | None) -> Gauge:
    if memory is None:
        return Gauge("memory", words.DASH, None)
    used, size = memory.used_bytes, memory.size_bytes
    share = used / size if used is not None and size else None
    return Gauge("memory", words.memory_text(used, size), share)


def _clock(clock: Clock | None) -> Gauge:
    if clock is None or clock.actual_mhz is None:
        return Gauge("clock", words.DASH, None)
    share = clock.actual_mhz / clock.maximum_mhz if clock.maximum_mhz else None
    held = " held" if clock.throttled_by else ""
    return Gauge("clock", words.clock_text(clock.actual_mhz) + held, share)


def _heat(temperature: Temperature | None) -> Gauge:
    if temperature is None or temperature.celsius is None:
        return Gauge("heat", words.DASH, None)
    limit = temperature.critical_celsius or HOT_CELSIUS
    text = words.celsius_text(temperature.celsius)
    return Gauge("heat", text, temperature.celsius / limit)


def _power(power: Power | None) -> Gauge:
    if power is None or power.watts is None:
        return Gauge("power", words.DASH, None)
    if not power.limit_watts:
        return Gauge("power", words.watts_text(power.watts), None)
    text = f"{power.watts:.0f} / {power.limit_watts:.0f} W"
    return Gauge("power", text, power.watts / power.limit_watts)


class History:
    """The shares of every gauge over the last readings, oldest first.

    A value that has nothing to be compared with, such as the power of a device without a limit, is
    a share of the highest that was seen.
    """

    def __init__(self, length: int = LENGTH) -> None:
        self._length = length
        self._series: dict[tuple[str, str], deque[float | None]] = {}
        self._without_limit: set[tuple[str, str]] = set()

    def add(self, reading: Reading) -> None:
        """Remembers a reading; what a gone device had is forgotten."""
        kept: dict[tuple[str, str], deque[float | None]] = {}
        for device in reading.devices:
            values = _without_limit(device)
            for gauge in gauges(device):
                key = (device.uuid, gauge.name)
                kept[key] = self._series.get(key) or deque(maxlen=self._length)
                kept[key].append(values.get(gauge.name, gauge.share))
                if gauge.name in values:
                    self._without_limit.add(key)
        self._series = kept

    def of(self, device: Device, name: str) -> Sequence[float | None]:
        """The shares of a gauge, from 0 to 1."""
        key = (device.uuid, name)
        series = self._series.get(key, deque())
        if key not in self._without_limit:
            return series
        top = max((each for each in series if each is not None), default=0.0)
        return [None if each is None or not top else each / top for each in series]


def _without_limit(device: Device) -> dict[str, float]:
    """The values of gauges that are known and have nothing to be compared with."""
    clock, power, found = device.clock(), device.power(), {}
    if clock is not None and clock.actual_mhz is not None and not clock.maximum_mhz:
        found["clock"] = clock.actual_mhz
    if power is not None and power.watts is not None and not power.limit_watts:
        found["power"] = power.watts
    return found
