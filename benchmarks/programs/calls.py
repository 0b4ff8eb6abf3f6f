"""What single calls cost from Python: the raw bindings, the object layer, and calls of an empty
function through ctypes with the same arguments.

Usage: calls.py EMPTY_LIBRARY ROUNDS CALLS_PER_ROUND. Prints `name nanoseconds` for each sample.
"""

from __future__ import annotations

import ctypes
import sys
import timeit
from ctypes import byref
from typing import Any

import groundstate as gs
from groundstate import ze

RAW = {
    "zeEventQueryStatus": "zeEventQueryStatus(event)",
    "zeMemGetAllocProperties": "zeMemGetAllocProperties(context, memory, byref(allocation), None)",
    "zeCommandListAppendBarrier": "zeCommandListAppendBarrier(items, None, 0, None)",
    "zeEventCreate+Destroy": "zeEventCreate(pool, byref(desc), byref(made)); zeEventDestroy(made)",
    "zeDeviceGetProperties": "zeDeviceGetProperties(device, byref(properties))",
}
OBJECTS = {
    "zeEventQueryStatus": "event.is_signaled",
    "zeMemGetAllocProperties": "memory.allocation_properties()",
    "zeCommandListAppendBarrier": "commands.barrier()",
    "zeEventCreate+Destroy": "pool.event(1).close()",
    "zeDeviceGetProperties": "device.properties",
}
FUNCTIONS = (
    "zeEventQueryStatus",
    "zeMemGetAllocProperties",
    "zeCommandListAppendBarrier",
    "zeEventCreate",
    "zeEventDestroy",
    "zeDeviceGetProperties",
)


def check(result: int) -> None:
    """Ends the program if a call of the preparation failed."""
    if result != ze.ZE_RESULT_SUCCESS:
        raise SystemExit(f"a Level Zero call failed with {ze.ze_result_t(result)!r}")


def handles() -> dict[str, Any]:
    """A device, a context, and one handle of each kind that the raw calls need."""
    driver, device, context = (ctypes.c_void_p() for _ in range(3))
    check(ze.zeInit(0))
    check(ze.zeDriverGet(byref(ctypes.c_uint32(1)), byref(driver)))
    check(ze.zeDeviceGet(driver, byref(ctypes.c_uint32(1)), byref(device)))
    check(ze.zeContextCreate(driver, byref(ze.ze_context_desc_t()), byref(context)))
    pool, event, items, memory = (ctypes.c_void_p() for _ in range(4))
    pool_desc = ze.ze_event_pool_desc_t(flags=ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE, count=2)
    check(ze.zeEventPoolCreate(context, byref(pool_desc), 1, byref(device), byref(pool)))
    check(ze.zeEventCreate(pool, byref(ze.ze_event_desc_t(index=0)), byref(event)))
    queue_desc = ze.ze_command_queue_desc_t()
    check(ze.zeCommandListCreateImmediate(context, device, byref(queue_desc), byref(items)))
    mem_desc = ze.ze_device_mem_alloc_desc_t()
    check(ze.zeMemAllocDevice(context, byref(mem_desc), 1 << 20, 64, device, byref(memory)))
    return {
        "byref": byref,
        "device": device.value,
        "context": context.value,
        "pool": pool.value,
        "event": event.value,
        "items": items.value,
        "memory": memory.value,
        "made": ctypes.c_void_p(),
        "desc": ze.ze_event_desc_t(index=1),
        "properties": ze.ze_device_properties_t(),
        "allocation": ze.ze_memory_allocation_properties_t(),
    }


def objects() -> dict[str, Any]:
    """The same as objects."""
    device = gs.devices()[0]
    context = gs.Context(device)
    pool = gs.EventPool(context, 2)
    return {
        "device": device,
        "pool": pool,
        "event": pool.event(0),
        "memory": context.alloc_device(1 << 20),
        "commands": gs.CommandList.immediate(context),
    }


def empty_like(library: ctypes.CDLL, function: Any) -> Any:
    """The empty function, declared as `function` is."""
    empty = library["empty"]
    empty.argtypes, empty.restype = function.argtypes, function.restype
    return empty


def main(empty_library: str, rounds: int, calls: int) -> None:
    """Times each call in turn, as many rounds as asked for."""
    names = handles()
    library = ctypes.CDLL(empty_library)
    real = {name: getattr(ze, name) for name in FUNCTIONS}
    empty = {name: empty_like(library, function) for name, function in real.items()}
    sides = {
        "raw": (RAW, {**names, **real}),
        "empty": (RAW, {**names, **empty}),
        "object": (OBJECTS, objects()),
    }
    timers = {
        f"{side} {name}": timeit.Timer(code, globals=known)
        for side, (calls_of_side, known) in sides.items()
        for name, code in calls_of_side.items()
    }
    for _ in range(rounds):
        for name, timer in timers.items():
            print(f"{name} {timer.timeit(calls) / calls * 1e9:.3f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
