"""How programs share the device: by time slices, on a CPU."""

from __future__ import annotations

from groundstate import zes
from groundstate.driver.api import handler, write_bool, write_u32
from groundstate.driver.sysman import kinds
from groundstate.driver.sysman.handles import enumerate_parts, part_of
from groundstate.driver.sysman.parts import Scheduler
from groundstate.driver.sysman.structs import write_place

_first_slices: dict[int, tuple[int, int]] = {}
"""The time slices before this process changed them, for want of a better default."""


@handler
def zesDeviceEnumSchedulers(hDevice: int, pCount: int, phScheduler: int) -> None:
    schedulers = kinds.watched(hDevice).schedulers()
    enumerate_parts(pCount, phScheduler, schedulers, "zes_sched_handle_t")


@handler
def zesSchedulerGetProperties(hScheduler: int, pProperties: int) -> None:
    scheduler = part_of(hScheduler, Scheduler)
    properties = zes.zes_sched_properties_t.from_address(pProperties)
    write_place(properties, scheduler)
    properties.canControl = scheduler.can_control
    properties.engines = scheduler.engines
    properties.supportedModes = scheduler.modes


@handler
def zesSchedulerGetCurrentMode(hScheduler: int, pMode: int) -> None:
    write_u32(pMode, part_of(hScheduler, Scheduler).mode())


@handler
def zesSchedulerGetTimesliceModeProperties(hScheduler: int, getDefaults: int, pConfig: int) -> None:
    scheduler = part_of(hScheduler, Scheduler)
    now = scheduler.timeslice_us()
    first = _first_slices.setdefault(id(scheduler), now)
    config = zes.zes_sched_timeslice_properties_t.from_address(pConfig)
    config.interval, config.yieldTimeout = first if getDefaults else now


@handler
def zesSchedulerSetTimesliceMode(hScheduler: int, pProperties: int, pNeedReload: int) -> None:
    scheduler = part_of(hScheduler, Scheduler)
    _first_slices.setdefault(id(scheduler), scheduler.timeslice_us())
    wanted = zes.zes_sched_timeslice_properties_t.from_address(pProperties)
    scheduler.set_timeslice(wanted.interval, wanted.yieldTimeout)
    write_bool(pNeedReload, False)
