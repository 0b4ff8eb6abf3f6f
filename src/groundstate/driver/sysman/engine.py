"""Engines: the workers of a device, and how long they were busy."""

from __future__ import annotations

from groundstate import zes
from groundstate.driver.api import answer_structs, chained, handler
from groundstate.driver.sysman import kinds
from groundstate.driver.sysman.handles import enumerate_parts, part_of
from groundstate.driver.sysman.parts import Engine
from groundstate.driver.sysman.structs import write_place

Activity = tuple[int, int]


@handler
def zesDeviceEnumEngineGroups(hDevice: int, pCount: int, phEngine: int) -> None:
    engines = kinds.watched(hDevice).engines()
    enumerate_parts(pCount, phEngine, engines, "zes_engine_handle_t")


@handler
def zesEngineGetProperties(hEngine: int, pProperties: int) -> None:
    engine = part_of(hEngine, Engine)
    properties = zes.zes_engine_properties_t.from_address(pProperties)
    properties.type = engine.group
    write_place(properties, engine)
    functions = chained(properties, zes.zes_engine_ext_properties_t)
    if functions is not None:
        functions.countOfVirtualFunctionInstance = len(engine.function_activity()) - 1


@handler
def zesEngineGetActivity(hEngine: int, pStats: int) -> None:
    activity = part_of(hEngine, Engine).activity()
    _write_activity(zes.zes_engine_stats_t.from_address(pStats), activity)


@handler
def zesEngineGetActivityExt(hEngine: int, pCount: int, pStats: int) -> None:
    activities = part_of(hEngine, Engine).function_activity()
    answer_structs(pCount, pStats, zes.zes_engine_stats_t, activities, _write_activity)


def _write_activity(stats: zes.zes_engine_stats_t, activity: Activity) -> None:
    stats.activeTime, stats.timestamp = activity
