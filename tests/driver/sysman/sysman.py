"""Short ways to ask system management, for its tests."""

from __future__ import annotations

import ctypes
from typing import Any

from groundstate import zes
from tests.conftest import check


def listed(function: Any, *arguments: Any) -> list[int]:
    """The handles that a function with the count protocol answers, asked for in the usual way."""
    count = ctypes.c_uint32()
    check(function(*arguments, ctypes.byref(count), None))
    handles = (ctypes.c_void_p * count.value)()
    check(function(*arguments, ctypes.byref(count), handles))
    return [handle or 0 for handle in handles]


def told(function: Any, handle: int, structure: Any) -> Any:
    """The struct that a function fills."""
    answer = structure()
    check(function(handle, ctypes.byref(answer)))
    return answer


def engines(device: int, group: int, subdevice: int | None = None) -> list[int]:
    """The engines of a group, of the whole device or of a sub-device."""
    found = []
    for engine in listed(zes.zesDeviceEnumEngineGroups, device):
        properties = told(zes.zesEngineGetProperties, engine, zes.zes_engine_properties_t)
        place = properties.subdeviceId if properties.onSubdevice else None
        if properties.type == group and place == subdevice:
            found.append(engine)
    return found


def activity(engine: int) -> tuple[int, int]:
    """How long an engine was busy, and when that was read, in microseconds."""
    stats = told(zes.zesEngineGetActivity, engine, zes.zes_engine_stats_t)
    return stats.activeTime, stats.timestamp


def busy(device: int, group: int) -> int:
    """How long the engine for a whole group was busy."""
    return activity(engines(device, group)[0])[0]


def processes(device: int) -> dict[int, Any]:
    """The processes that use a device, by their numbers."""
    count = ctypes.c_uint32(4096)
    states = (zes.zes_process_state_t * count.value)()
    check(zes.zesDeviceProcessesGetState(device, ctypes.byref(count), states))
    return {state.processId: state for state in states[: count.value]}


def memory_state(device: int) -> Any:
    """The state of a device's only memory."""
    (memory,) = listed(zes.zesDeviceEnumMemoryModules, device)
    return told(zes.zesMemoryGetState, memory, zes.zes_mem_state_t)
