"""Schedulers: how a device is shared among programs."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Annotated, Any

from groundstate import zes
from groundstate.core.sysman.enums import EngineFlag, SchedulerMode
from groundstate.core.sysman.part import Look, Part, PartProperties
from groundstate.core.sysman.records import Record


@dataclass(frozen=True, slots=True)
class SchedulerProperties(PartProperties):
    """Which engines are shared, and how they can be."""

    STRUCT = "zes_sched_properties_t"

    can_control: bool
    engines: EngineFlag
    mode_bits: Annotated[int, "supportedModes"]

    @property
    def modes(self) -> tuple[SchedulerMode, ...]:
        """The modes that there are."""
        return tuple(mode for mode in SchedulerMode if self.mode_bits >> mode & 1)


@dataclass(frozen=True, slots=True)
class Timeslice(Record):
    """How long each program has its turn."""

    STRUCT = "zes_sched_timeslice_properties_t"

    interval_us: Annotated[int, "interval"]
    yield_timeout_us: Annotated[int, "yieldTimeout"]


@dataclass(frozen=True, slots=True)
class Timeout(Record):
    """After which time a program that does not let others have a turn is ended."""

    STRUCT = "zes_sched_timeout_properties_t"

    watchdog_us: Annotated[int, "watchdogTimeout"]


@dataclass(frozen=True, slots=True)
class SchedulerReading(Record):
    """A scheduler in a snapshot."""

    subdevice: int | None
    engines: EngineFlag
    mode: SchedulerMode | None


class Scheduler(Part[SchedulerProperties]):
    """What shares some engines of a device among programs.

    Setting a mode returns True if it takes effect only when the driver is loaded again.
    """

    ENUMERATE = "zesDeviceEnumSchedulers"
    DESCRIBE = "zesSchedulerGetProperties"
    FACTS = SchedulerProperties

    @property
    def mode(self) -> SchedulerMode | None:
        """How the engines are shared now."""
        mode = self._number(ctypes.c_uint32, "zesSchedulerGetCurrentMode")
        return None if mode is None else SchedulerMode(mode)

    def timeslice(self, *, default: bool = False) -> Timeslice | None:
        """How long each program has its turn, now or by default."""
        return self._record(Timeslice, "zesSchedulerGetTimesliceModeProperties", int(default))

    def timeout(self, *, default: bool = False) -> Timeout | None:
        """After which time a program is ended, now or by default."""
        return self._record(Timeout, "zesSchedulerGetTimeoutModeProperties", int(default))

    def _set_mode(self, function: str, *arguments: Any) -> bool:
        needs_reload = ctypes.c_uint8()
        self._set(function, *arguments, ctypes.byref(needs_reload))
        return bool(needs_reload.value)

    def set_timeslice(self, interval_us: int, yield_timeout_us: int) -> bool:
        """Gives each program its turn."""
        wanted = zes.zes_sched_timeslice_properties_t(
            interval=interval_us, yieldTimeout=yield_timeout_us
        )
        return self._set_mode("zesSchedulerSetTimesliceMode", ctypes.byref(wanted))

    def set_timeout(self, watchdog_us: int | None) -> bool:
        """Lets a program run until others wait, and ends it after some time; never with None."""
        disabled = zes.ZES_SCHED_WATCHDOG_DISABLE
        wanted = zes.zes_sched_timeout_properties_t(
            watchdogTimeout=disabled if watchdog_us is None else watchdog_us
        )
        return self._set_mode("zesSchedulerSetTimeoutMode", ctypes.byref(wanted))

    def set_exclusive(self) -> bool:
        """Lets one program have the engines to itself."""
        return self._set_mode("zesSchedulerSetExclusiveMode")

    def set_compute_unit_debug(self) -> bool:
        """Lets one program have the engines for a debugger."""
        return self._set_mode("zesSchedulerSetComputeUnitDebugMode")

    def reading(self, look: Look) -> SchedulerReading:
        """All of it, for a snapshot."""
        mode = look.at_setting(f"schedulers[{self.index}].mode", lambda: self.mode)
        return SchedulerReading(self.subdevice, self.properties.engines, mode)
