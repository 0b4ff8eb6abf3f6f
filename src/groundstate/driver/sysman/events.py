"""Events: a program says what it wants to hear of, and listens until something happens.

What happens on a machine shows in its files, and most of them cannot be waited for: a listener
looks at those that matter for its events, and sleeps in between (native/objects/sysman_events.c).
Each process watches for itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from groundstate import ze, zes
from groundstate.driver.api import Failure, Unsupported, handler, read_pointer, write_u32
from groundstate.driver.sysman import kinds, thresholds
from groundstate.driver.sysman.parts import ErrorCounters, TemperatureSensor, Watched

Value = TypeVar("Value")

_ATTACHMENT = zes.ZES_EVENT_TYPE_FLAG_DEVICE_DETACH | zes.ZES_EVENT_TYPE_FLAG_DEVICE_ATTACH
_TEMPERATURES = (
    zes.ZES_EVENT_TYPE_FLAG_TEMP_CRITICAL
    | zes.ZES_EVENT_TYPE_FLAG_TEMP_THRESHOLD1
    | zes.ZES_EVENT_TYPE_FLAG_TEMP_THRESHOLD2
)
_ERRORS: dict[int, int] = {
    zes.ZES_RAS_ERROR_TYPE_CORRECTABLE: zes.ZES_EVENT_TYPE_FLAG_RAS_CORRECTABLE_ERRORS,
    zes.ZES_RAS_ERROR_TYPE_UNCORRECTABLE: zes.ZES_EVENT_TYPE_FLAG_RAS_UNCORRECTABLE_ERRORS,
}


class Watch:
    """What a program wants to hear of one device, how things were, and what it was not told yet."""

    def __init__(self, device: Watched) -> None:
        self._device = device
        self._lock = threading.Lock()
        self._wanted = 0
        self._before: dict[object, object] = {}
        self._untold = 0

    def register(self, events: int) -> None:
        """From now on these events count, and no others."""
        with self._lock:
            self._look()
            self._wanted = events
            self._untold &= events
            self._before = {}
            self._look()

    def is_wanted(self) -> bool:
        """Whether any event of the device counts."""
        return self._wanted != 0

    def take(self) -> int:
        """What has happened and was not told yet."""
        with self._lock:
            self._look()
            told, self._untold = self._untold, 0
            return told

    def _look(self) -> None:
        for events, look in (
            (_ATTACHMENT, self._attachment),
            (zes.ZES_EVENT_TYPE_FLAG_DEVICE_RESET_REQUIRED, self._reset),
            (zes.ZES_EVENT_TYPE_FLAG_MEM_HEALTH, self._memory_health),
            (zes.ZES_EVENT_TYPE_FLAG_FREQ_THROTTLED, self._throttling),
            (zes.ZES_EVENT_TYPE_FLAG_ENERGY_THRESHOLD_CROSSED, self._energy),
            (_TEMPERATURES, self._temperatures),
            (sum(_ERRORS.values()), self._errors),
        ):
            if self._wanted & events:
                for event in look():
                    self._untold |= event & self._wanted

    def _changed(self, key: object, now: object) -> tuple[object, bool]:
        """What something was when it could last be read, and whether it is different now. What
        cannot be read at the moment (None) is as it was."""
        before = self._before.get(key, now)
        if now is None:
            return before, False
        self._before[key] = now
        return before, before != now

    def _attachment(self) -> Iterator[int]:
        is_attached = self._device.is_attached()
        if self._changed("attached", is_attached)[1]:
            yield (
                zes.ZES_EVENT_TYPE_FLAG_DEVICE_ATTACH
                if is_attached
                else zes.ZES_EVENT_TYPE_FLAG_DEVICE_DETACH
            )

    def _reset(self) -> Iterator[int]:
        reasons = self._device.reset_reasons()
        if self._changed("reset", reasons)[1] and reasons:
            yield zes.ZES_EVENT_TYPE_FLAG_DEVICE_RESET_REQUIRED

    def _memory_health(self) -> Iterator[int]:
        for memory in self._device.memories():
            if self._changed(id(memory), _readable(lambda: memory.state().health))[1]:  # noqa: B023
                yield zes.ZES_EVENT_TYPE_FLAG_MEM_HEALTH

    def _throttling(self) -> Iterator[int]:
        for domain in self._device.frequencies():
            reasons = _readable(lambda: domain.state().throttle_reasons)  # noqa: B023
            if self._changed(id(domain), reasons)[1] and reasons:
                yield zes.ZES_EVENT_TYPE_FLAG_FREQ_THROTTLED

    def _energy(self) -> Iterator[int]:
        for domain in self._device.powers():
            condition = thresholds.of_energy(domain)
            if condition is None:
                continue
            reading = _readable(domain.energy_uj)
            if reading is not None and condition.is_crossed(reading[0]):
                thresholds.set_energy(domain, None)
                yield zes.ZES_EVENT_TYPE_FLAG_ENERGY_THRESHOLD_CROSSED

    def _temperatures(self) -> Iterator[int]:
        for sensor in self._device.temperatures():
            yield from self._temperature(sensor)

    def _temperature(self, sensor: TemperatureSensor) -> Iterator[int]:
        now = _readable(sensor.celsius)
        before, changed = self._changed(id(sensor), now)
        if changed and isinstance(before, float) and now is not None:
            yield thresholds.of_temperature(sensor).events(sensor, before, now)

    def _errors(self) -> Iterator[int]:
        for counters in self._device.errors():
            yield from self._error(counters)

    def _error(self, counters: ErrorCounters) -> Iterator[int]:
        """Told once, until there are fewer again or more are accepted."""
        counts = _readable(counters.counts)
        if counts is None:
            return
        exceeded = thresholds.of_errors(counters).is_exceeded(counts)
        self._before.setdefault(id(counters), False)
        if self._changed(id(counters), exceeded)[1] and exceeded:
            yield _ERRORS.get(counters.type, 0)


def _readable(read: Callable[[], Value]) -> Value | None:
    """What a reader says, or None if it cannot read: an event must not end the listening."""
    try:
        return read()
    except (OSError, Unsupported, Failure):
        return None


_watches: dict[int, Watch] = {}


def _watch(handle: int) -> Watch:
    device = kinds.watched(handle)
    return _watches.setdefault(id(device), Watch(device))


@handler
def zesDeviceEventRegister(hDevice: int, events: int) -> None:
    _watch(hDevice).register(events)


@handler
def zesDriverEventListenEx(
    hDriver: int, timeout: int, count: int, phDevices: int, pNumDeviceEvents: int, pEvents: int
) -> int:
    """Looks once, for native/objects/sysman_events.c, which waits in between.

    If no events come in time, that is a success with no events. `NOT_READY` says to it that none
    can come, because none are registered.
    """
    if count == 0:
        raise Failure(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "there is no device to listen to")
    watches = [_watch(read_pointer(phDevices + 8 * index)) for index in range(count)]
    taken = {watch: watch.take() for watch in set(watches)}
    write_u32(pNumDeviceEvents, sum(taken[watch] != 0 for watch in watches))
    for index, watch in enumerate(watches):
        write_u32(pEvents + 4 * index, taken[watch])
    registered = any(watch.is_wanted() for watch in watches)
    return ze.ZE_RESULT_SUCCESS if registered else ze.ZE_RESULT_NOT_READY
