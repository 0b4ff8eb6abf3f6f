"""Clocks: how fast they are, why not faster, and between which limits they may change."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from groundstate import zes
from groundstate.core.sysman.enums import FrequencyType, ThrottleReason
from groundstate.core.sysman.part import Look, Part, PartProperties, supported
from groundstate.core.sysman.records import Record

Range = tuple[float | None, float | None]
"""The lowest and the highest clock in MHz; None for an end that is the machine's own or unknown."""


@dataclass(frozen=True, slots=True)
class FrequencyProperties(PartProperties):
    """What a clock is."""

    STRUCT = "zes_freq_properties_t"

    type: FrequencyType
    can_control: bool
    has_throttle_event: Annotated[bool, "isThrottleEventSupported"]
    minimum_mhz: Annotated[float | None, "min"]
    maximum_mhz: Annotated[float | None, "max"]


@dataclass(frozen=True, slots=True)
class FrequencyState(Record):
    """How fast a clock is, and why not faster."""

    STRUCT = "zes_freq_state_t"

    volts: Annotated[float | None, "currentVoltage"]
    request_mhz: Annotated[float | None, "request"]
    tdp_mhz: Annotated[float | None, "tdp"]
    efficient_mhz: Annotated[float | None, "efficient"]
    actual_mhz: Annotated[float | None, "actual"]
    throttle_reasons: ThrottleReason


@dataclass(frozen=True, slots=True)
class ThrottleTime(Record):
    """How long a clock was held down so far, and when that was read."""

    STRUCT = "zes_freq_throttle_time_t"

    throttled_us: Annotated[int, "throttleTime"]
    timestamp_us: Annotated[int, "timestamp"]


@dataclass(frozen=True, slots=True)
class FrequencyReading(Record):
    """A clock in a snapshot."""

    type: FrequencyType
    subdevice: int | None
    minimum_mhz: float | None
    maximum_mhz: float | None
    range_mhz: Range | None
    actual_mhz: float | None
    request_mhz: float | None
    tdp_mhz: float | None
    efficient_mhz: float | None
    volts: float | None
    throttle_reasons: ThrottleReason | None
    throttle_time: ThrottleTime | None


class FrequencyDomain(Part[FrequencyProperties]):
    """A clock of a device: `sysman.frequency[0].range_mhz = (800, 2000)` sets its limits."""

    ENUMERATE = "zesDeviceEnumFrequencyDomains"
    DESCRIBE = "zesFrequencyGetProperties"
    FACTS = FrequencyProperties

    def _describe(self) -> str:
        return self.properties.type.name

    @property
    def state(self) -> FrequencyState | None:
        """How fast it is now, and why not faster."""
        return self._record(FrequencyState, "zesFrequencyGetState")

    @property
    def actual_mhz(self) -> float | None:
        """How fast it is now."""
        state = self.state
        return state.actual_mhz if state else None

    @property
    def throttle_time(self) -> ThrottleTime | None:
        """How long it was held down so far."""
        return self._record(ThrottleTime, "zesFrequencyGetThrottleTime")

    @property
    def range_mhz(self) -> Range | None:
        """The limits that are set; None in place of one, or of both, for the machine's own."""
        limits = zes.zes_freq_range_t()
        if not supported(self.api, "zesFrequencyGetRange", self.handle, ctypes.byref(limits)):
            return None
        low, high = (each if each >= 0 else None for each in (limits.min, limits.max))
        return None if low is None and high is None else (low, high)

    @range_mhz.setter
    def range_mhz(self, limits: Range | None) -> None:
        low, high = limits or (None, None)
        wanted = zes.zes_freq_range_t(
            min=-1.0 if low is None else low, max=-1.0 if high is None else high
        )
        self._set("zesFrequencySetRange", ctypes.byref(wanted))

    @cached_property
    def available_mhz(self) -> tuple[float, ...]:
        """The clocks that can be asked for, slowest first; empty if nobody knows."""
        name, count = "zesFrequencyGetAvailableClocks", ctypes.c_uint32()
        if not supported(self.api, name, self.handle, ctypes.byref(count), None):
            return ()
        clocks = (ctypes.c_double * count.value)()
        if count.value:
            self.api.call(name, self.handle, ctypes.byref(count), clocks)
        return tuple(clocks[: count.value])

    def reading(self, look: Look) -> FrequencyReading:
        """All of it, for a snapshot."""
        facts, name = self.properties, f"frequency[{self.index}]"
        state = look.at(f"{name}.state", lambda: self.state)
        return FrequencyReading(
            facts.type,
            facts.subdevice,
            facts.minimum_mhz,
            facts.maximum_mhz,
            look.at_setting(f"{name}.range_mhz", lambda: self.range_mhz),
            state.actual_mhz if state else None,
            state.request_mhz if state else None,
            state.tdp_mhz if state else None,
            state.efficient_mhz if state else None,
            state.volts if state else None,
            state.throttle_reasons if state else None,
            look.at(f"{name}.throttle_time", lambda: self.throttle_time),
        )
