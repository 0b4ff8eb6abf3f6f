"""The objects that every sequence of calls finds, made for each and taken down after it."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Sequence

from groundstate import _raw, standin, ze
from tests.fuzz.calls.arena import Arena
from tests.fuzz.calls.execute import Run
from tests.fuzz.calls.generate import REGISTRY, Call, Value
from tests.fuzz.calls.model import Model

LIVE = ["live", 0]
OUT = ["room", 8]


def _struct(name: str, **fields: Value) -> Value:
    return ["struct", name, fields]


def _memory(kind: str, **more: Value) -> Call:
    return [f"zeMemAlloc{kind}", {"hContext": LIVE, "size": 65_536, "pptr": OUT, **more}]


_DEVICE_MEMORY = {"hDevice": LIVE, "device_desc": _struct("ze_device_mem_alloc_desc_t")}
_HOST_MEMORY = {"host_desc": _struct("ze_host_mem_alloc_desc_t")}
_PLACE = {"hContext": LIVE, "hDevice": LIVE}

_physical = _struct("ze_physical_mem_desc_t", size=4096)
_mutable = _struct("ze_mutable_command_list_exp_desc_t")
_counted = _struct("ze_event_counter_based_desc_t", flags=0xF)


def _list(**fields: Value) -> Call:
    description = _struct("ze_command_list_desc_t", **fields)
    return ["zeCommandListCreate", {**_PLACE, "desc": description, "phCommandList": OUT}]


def _immediate() -> Call:
    description = _struct("ze_command_queue_desc_t", flags=2)
    function = "zeCommandListCreateImmediate"
    return [function, {**_PLACE, "altdesc": description, "phCommandList": OUT}]


_BARRIER: Call = ["zeCommandListAppendBarrier", {"hCommandList": LIVE, "hSignalEvent": LIVE}]

SYSMAN: list[Call] = [
    [name, {"hDevice": LIVE, "pCount": ["bytes", "04000000"], _array: ["room", 32]}]
    for name, _array in (
        (function.name, function.parameters[2].name)
        for function in REGISTRY.functions.values()
        if function.name.startswith("zesDeviceEnum") and len(function.parameters) == 3
    )
]
"""The parts of a device that system management knows."""

PRELUDE: list[Call] = [
    ["zeInit", {"flags": 0}],
    ["zesInit", {"flags": 0}],
    ["zeDriverGet", {"pCount": ["bytes", "01000000"], "phDrivers": OUT}],
    ["zeDeviceGet", {"hDriver": LIVE, "pCount": ["bytes", "01000000"], "phDevices": OUT}],
    ["zeContextCreate", {"hDriver": LIVE, "desc": _struct("ze_context_desc_t"), "phContext": OUT}],
    ["zeContextCreate", {"hDriver": LIVE, "desc": _struct("ze_context_desc_t"), "phContext": OUT}],
    _memory("Host", **_HOST_MEMORY),
    _memory("Device", **_DEVICE_MEMORY),
    _memory("Shared", **_HOST_MEMORY, **_DEVICE_MEMORY),
    [
        "zeCommandQueueCreate",
        {**_PLACE, "desc": _struct("ze_command_queue_desc_t"), "phCommandQueue": OUT},
    ],
    [
        "zeCommandListCreate",
        {**_PLACE, "desc": _struct("ze_command_list_desc_t"), "phCommandList": OUT},
    ],
    [
        "zeCommandListCreateImmediate",
        {**_PLACE, "altdesc": _struct("ze_command_queue_desc_t"), "phCommandList": OUT},
    ],
    [
        "zeEventPoolCreate",
        {
            "hContext": LIVE,
            "desc": _struct("ze_event_pool_desc_t", count=8, flags=7),
            "phEventPool": OUT,
        },
    ],
    *(
        [
            "zeEventCreate",
            {
                "hEventPool": LIVE,
                "desc": _struct("ze_event_desc_t", index=index),
                "phEvent": OUT,
            },
        ]
        for index in range(3)
    ),
    ["zeFenceCreate", {"hCommandQueue": LIVE, "desc": _struct("ze_fence_desc_t"), "phFence": OUT}],
    [
        "zeImageCreate",
        {
            **_PLACE,
            "desc": _struct("ze_image_desc_t", type=2, width=16, height=16, depth=1),
            "phImage": OUT,
        },
    ],
    ["zeSamplerCreate", {**_PLACE, "desc": _struct("ze_sampler_desc_t"), "phSampler": OUT}],
    [
        "zeModuleCreate",
        {
            **_PLACE,
            "desc": _struct("ze_module_desc_t", pInputModule=["module"]),
            "phModule": OUT,
        },
    ],
    ["zePhysicalMemCreate", {**_PLACE, "desc": _physical, "phPhysicalMemory": OUT}],
    ["zeVirtualMemReserve", {"hContext": LIVE, "size": 65_536, "pptr": OUT}],
    *(
        [
            "zeKernelCreate",
            {
                "hModule": LIVE,
                "desc": _struct("ze_kernel_desc_t", pKernelName=["text", name]),
                "phKernel": OUT,
            },
        ]
        for name in ("first", "second", "third")
    ),
    _list(),
    _BARRIER,
    ["zeCommandListClose", {"hCommandList": LIVE}],
    _list(pNext=_mutable),
    [
        "zeCommandListGetNextCommandIdExp",
        {
            "hCommandList": LIVE,
            "desc": _struct("ze_mutable_command_id_exp_desc_t"),
            "pCommandId": OUT,
        },
    ],
    _BARRIER,
    _immediate(),
    ["zeCommandListBeginGraphCaptureExt", {"hCommandList": LIVE}],
    ["zeCommandListAppendBarrier", {"hCommandList": LIVE}],
    ["zeCommandListEndGraphCaptureExt", {"hCommandList": LIVE, "phGraph": OUT}],
    ["zeGraphInstantiateExt", {"hGraph": LIVE, "phExecutableGraph": OUT}],
    ["zeEventCounterBasedCreate", {**_PLACE, "desc": _counted, "phEvent": OUT}],
]
"""What there is before the first call."""

ORDER = (
    "COMMAND_LIST",
    "COMMAND_QUEUE",
    "EXECUTABLE_GRAPH",
    "GRAPH",
    "FENCE",
    "EVENT",
    "EVENT_POOL",
    "KERNEL",
    "MODULE",
    "MODULE_BUILD_LOG",
    "IMAGE",
    "SAMPLER",
    "EXTERNAL_SEMAPHORE_EXT",
)
"""What is destroyed before the contexts: what uses something comes before what is used."""

MOST_LEFT = 100
"""Objects that sequences may leave behind before the process is replaced."""

MOST_WAITED = 50_000_000
"""Nanoseconds for a queue to come to an end."""


class Bench:
    """Runs sequences, and knows whether they left something behind."""

    def __init__(self) -> None:
        self.arena = Arena()
        self.library = ctypes.CDLL(str(standin.library()))
        self.library.gs_live_objects.restype = ctypes.c_uint64
        self._objects: int | None = None
        self._blocked = False

    def run(self, calls: Sequence[Call], threads: int) -> list[str]:
        """Runs a sequence; what is wrong."""
        self.arena.clear()
        model = Model()
        run = Run(model, self.arena)
        run.run(PRELUDE, 1)
        if any(name.startswith("zes") for name, _ in calls):
            run.run(SYSMAN, 1)
        run.run(calls, threads)
        self._blocked = not take_down(model)
        if self._objects is None:
            self._objects = self.live_objects()
            gc.collect()
            gc.freeze()
        return run.wrong

    def is_clean(self) -> bool:
        """Whether another sequence can run: nothing is under way, and little is left behind."""
        return not self._blocked and self.live_objects() < (self._objects or 0) + MOST_LEFT

    def live_objects(self) -> int:
        return int(self.library.gs_live_objects(0))


def take_down(model: Model) -> bool:
    """Ends what still lives; False if something does not want to end."""
    library = _raw.default_library()
    for event in model.live["EVENT"]:
        ze.zeEventHostSignal(event)
    for queue in model.live["COMMAND_QUEUE"]:
        ze.zeCommandQueueSynchronize(queue, MOST_WAITED)
    for commands in model.live["COMMAND_LIST"]:
        ze.zeCommandListHostSynchronize(commands, MOST_WAITED)
    for kind in ORDER:
        for handle in reversed(model.live[kind]):
            getattr(library, ENDINGS[kind])(handle)
    for context in model.live["CONTEXT"]:
        for physical in model.live["PHYSICAL_MEM"]:
            ze.zePhysicalMemDestroy(context, physical)
        for address, _ in model.memory:
            ze.zeMemFree(context, address)
    return not any(ze.zeContextDestroy(context) for context in model.live["CONTEXT"])


def _endings() -> dict[str, str]:
    """The function that ends an object, for each kind."""
    return {
        str(REGISTRY.kind_of(function.parameters[0].type.base)): function.name
        for function in REGISTRY.functions.values()
        if len(function.parameters) == 1
        and "CloseIpc" not in function.name
        and (function.parameters[0].release or "ReleaseExternal" in function.name)
    }


ENDINGS = _endings()
