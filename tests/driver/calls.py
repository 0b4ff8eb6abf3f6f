"""A valid call of each function of the driver: `Calls(bench).of(function)` makes one.

`spoiling.py` breaks exactly one of the registry's checks with it. The bad-input tests run both.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

from groundstate import ze
from groundstate._raw import c_type
from registry.load import load
from registry.model import Direction, Function, Parameter
from tests.conftest import check
from tests.driver.images.images import describe, format_of, image
from tests.driver.support import COPY_ORDINAL, Bench, barrier, close_list, handles

REGISTRY = load()
PAGE = 4096
SIZE = 1 << 16

_CHAPTERS = {
    "driver", "device", "context", "cmdqueue", "cmdlist", "barrier", "copy", "event", "fence",
    "memory", "virtual", "residency", "eventquerytimestamps", "memoryFreePolicies", "fabric",
    "eventQueryKernelTimestamps", "commandListClone", "immediateCommandListAppend",
    "hostFunction", "PCIProperties", "deviceVectorSizes", "ipcMemHandleType", "image", "sampler",
    "imageCopy", "imageQueryAllocProperties", "imagememoryproperties", "imageview",
    "bindlessimages", "mutableCommandList", "externalSemaphores", "graph",
}  # fmt: skip

_ELSEWHERE = {
    # what they describe does not exist here, and the answer to a valid call says so
    "zeDeviceGetRuntimeRequirements",
    "zeDeviceGetRuntimeRequirementsKey",
    "zeDeviceValidateRuntimeRequirements",
    "zeFabricVertexGetSubVerticesExp",
    "zeFabricEdgeGetVerticesExp",
    "zeFabricEdgeGetPropertiesExp",
    # they take kernels; test_lists_mutable_rules.py has them
    "zeCommandListGetNextCommandIdWithKernelsExp",
    "zeCommandListUpdateMutableCommandKernelsExp",
}


def functions() -> list[Function]:
    """The functions whose bad input is tested: all of the guide that need no kernel."""
    return [
        function
        for function in REGISTRY.functions.values()
        if function.namespace == "ze"
        and function.region in _CHAPTERS
        and function.name not in _ELSEWHERE
    ]


def hardware_functions() -> list[Function]:
    """Functions for hardware that a CPU does not have, as far as there are objects to call them."""
    return [
        function
        for function in REGISTRY.functions.values()
        if function.namespace == "ze"
        and function.region in {"RTAS", "RTASBuilder", "cacheReservation"}
        and not any(
            "_rtas_" in parameter.type.base
            and REGISTRY.kind_of(parameter.type.base)
            and parameter.type.depth == 0
            for parameter in function.parameters
        )
    ]


COUNTER = os.eventfd(1 << 30, os.EFD_SEMAPHORE)
"""A semaphore for which nobody waits long; open as long as the tests run."""

DO_NOTHING = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
"""A host function."""


class Call:
    """One function with its arguments, by the names of its parameters."""

    def __init__(self, function: Function, arguments: dict[str, Any]) -> None:
        self.function = function
        self.arguments = arguments

    def run(self) -> int:
        by_reference = (ctypes.Structure, ctypes._SimpleCData)
        values = [
            ctypes.byref(value)
            if parameter.type.is_pointer and isinstance(value, by_reference)
            else value
            for parameter, value in zip(
                self.function.parameters, self.arguments.values(), strict=True
            )
        ]
        answer: int | None = getattr(ze, self.function.name)(*values)
        return answer or 0


class Calls:
    """Makes valid calls with objects of one bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.memory = bench.host(SIZE)
        self.shared = bench.shared(SIZE)
        self.queue = bench.queue()
        self.immediate = bench.immediate(in_order=True)
        self.pool = bench.pool(2, ze.ZE_EVENT_POOL_FLAG_IPC)
        self.event = bench.event(ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP)
        check(ze.zeEventHostSignal(self.event))
        self.counter_event = bench.counter_event(
            ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ze.ZE_EVENT_COUNTER_BASED_FLAG_IPC
        )
        check(ze.zeCommandListAppendSignalEvent(self.immediate, self.counter_event))
        self.closed_list = close_list(bench.list(flags=ze.ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE))
        self.page = self._page()
        self.reserved = self._reserve()
        self.physical = self._physical()

    def _page(self) -> int:
        """Bytes of a page of virtual memory."""
        page = ctypes.c_size_t()
        context, device = self.bench.context, self.bench.device
        check(ze.zeVirtualMemQueryPageSize(context, device, PAGE, ctypes.byref(page)))
        return page.value

    def _reserve(self) -> int:
        return self.bench._made(
            lambda start: int(ze.zeVirtualMemFree(self.bench.context, start, 4 * self.page)),
            ze.zeVirtualMemReserve,
            self.bench.context,
            None,
            4 * self.page,
        )

    def _physical(self) -> int:
        description = ze.ze_physical_mem_desc_t(size=2 * self.page)
        return self.bench._made(
            lambda handle: int(ze.zePhysicalMemDestroy(self.bench.context, handle)),
            ze.zePhysicalMemCreate,
            self.bench.context,
            self.bench.device,
            ctypes.byref(description),
        )

    def _image(self) -> int:
        return image(self.bench, "2D", (16, 16))

    def _sampler(self) -> int:
        return self.bench._made(
            ze.zeSamplerDestroy,
            ze.zeSamplerCreate,
            self.bench.context,
            self.bench.device,
            ctypes.byref(ze.ze_sampler_desc_t()),
        )

    def _semaphore(self) -> int:
        return self.bench._made(
            ze.zeDeviceReleaseExternalSemaphoreExt,
            ze.zeDeviceImportExternalSemaphoreExt,
            self.bench.device,
            ctypes.byref(_semaphore_description(COUNTER)),
        )

    def _graph(self) -> int:
        """A graph that was recorded, and is empty."""
        commands, graph = self.bench.immediate(), ctypes.c_void_p()
        check(ze.zeCommandListBeginGraphCaptureExt(commands, None))
        check(ze.zeCommandListEndGraphCaptureExt(commands, None, ctypes.byref(graph)))
        assert graph.value is not None
        self.bench._endings[graph.value] = ze.zeGraphDestroyExt
        return graph.value

    def _executable(self) -> int:
        function = ze.zeGraphInstantiateExt
        return self.bench._made(ze.zeExecutableGraphDestroyExt, function, self._graph(), None)

    def handle(self, kind: str) -> int:
        """A live handle of a type, for a function that leaves it alive."""
        return {
            "ze_driver_handle_t": self.bench.driver,
            "ze_device_handle_t": self.bench.device,
            "ze_context_handle_t": self.bench.context,
            "ze_command_queue_handle_t": self.queue,
            "ze_command_list_handle_t": self.immediate,
            "ze_event_pool_handle_t": self.pool,
            "ze_event_handle_t": self.event,
            "ze_physical_mem_handle_t": self.physical,
        }.get(kind) or self._lazily(kind)

    def _lazily(self, kind: str) -> int:
        if kind == "ze_fence_handle_t":
            return self.bench.fence(self.queue)
        if kind == "ze_image_handle_t":
            return self._image()
        if kind == "ze_sampler_handle_t":
            return self._sampler()
        if kind == "ze_external_semaphore_ext_handle_t":
            return self._semaphore()
        if kind == "ze_graph_handle_t":
            return self._graph()
        if kind == "ze_executable_graph_handle_t":
            return self._executable()
        assert kind == "ze_fabric_vertex_handle_t", kind
        vertex = ctypes.c_void_p()
        check(ze.zeDeviceGetFabricVertexExp(self.bench.device, ctypes.byref(vertex)))
        return vertex.value or 0

    def fresh(self, kind: str) -> int:
        """A handle that the call under test, or `stale`, is going to end."""
        make: dict[str, Callable[[], int]] = {
            "ze_context_handle_t": lambda: Bench(self.bench.driver, self.bench.device).context,
            "ze_command_queue_handle_t": self.bench.queue,
            "ze_command_list_handle_t": self.bench.immediate,
            "ze_event_pool_handle_t": self.bench.pool,
            "ze_event_handle_t": self.bench.event,
            "ze_fence_handle_t": lambda: self.bench.fence(self.queue),
            "ze_physical_mem_handle_t": self._physical,
            "ze_image_handle_t": self._image,
            "ze_sampler_handle_t": self._sampler,
            "ze_external_semaphore_ext_handle_t": self._semaphore,
            "ze_graph_handle_t": self._graph,
            "ze_executable_graph_handle_t": self._executable,
        }
        handle = make[kind]()
        if handle in self.bench._endings:
            self.bench.forget(handle)
        return handle

    def stale(self, kind: str) -> int | None:
        """A handle of a type that was destroyed, or None where a handle lives for ever."""
        endings: dict[str, Callable[[int], int]] = {
            "ze_context_handle_t": ze.zeContextDestroy,
            "ze_command_queue_handle_t": ze.zeCommandQueueDestroy,
            "ze_command_list_handle_t": ze.zeCommandListDestroy,
            "ze_event_pool_handle_t": ze.zeEventPoolDestroy,
            "ze_event_handle_t": ze.zeEventDestroy,
            "ze_fence_handle_t": ze.zeFenceDestroy,
            "ze_image_handle_t": ze.zeImageDestroy,
            "ze_sampler_handle_t": ze.zeSamplerDestroy,
            "ze_external_semaphore_ext_handle_t": ze.zeDeviceReleaseExternalSemaphoreExt,
            "ze_graph_handle_t": ze.zeGraphDestroyExt,
            "ze_executable_graph_handle_t": ze.zeExecutableGraphDestroyExt,
            "ze_physical_mem_handle_t": lambda handle: ze.zePhysicalMemDestroy(
                self.bench.context, handle
            ),
        }
        if kind not in endings:
            return None
        handle = self.fresh(kind)
        check(endings[kind](handle))
        return handle

    def of(self, function: Function, fresh: bool = False) -> Call:
        """A valid call. `fresh`: the call is going to run, so what it ends must not be shared."""
        arguments = {p.name: self._argument(function, p, fresh) for p in function.parameters}
        special = _SPECIAL.get(function.name)
        if special is not None:
            arguments.update(special(self))
        return Call(function, arguments)

    def _argument(self, function: Function, parameter: Parameter, fresh: bool) -> Any:
        base = parameter.type.base
        if REGISTRY.kind_of(base) and parameter.type.depth == 0:
            if fresh and (parameter.release or function.name.startswith("zeDeviceRelease")):
                return self.fresh(base)
            return self.handle(base)
        if REGISTRY.kind_of(base) and parameter.count and parameter.direction is Direction.IN:
            return handles(self.handle(base))
        if parameter.type.is_pointer:
            return self._pointer(parameter)
        if base in REGISTRY.callbacks:
            return DO_NOTHING
        if REGISTRY.enum_of(base):
            return 0 if base.endswith("flags_t") else REGISTRY.enum_of(base).known[0][1]  # type: ignore[union-attr]
        if REGISTRY.struct_of(base):
            return c_type(f"{base} _")()
        return {"alignment": 64, "pattern_size": 4, "size": PAGE, "offset": 0}.get(
            parameter.name, 1
        )

    def _pointer(self, parameter: Parameter) -> Any:
        if parameter.must_be_zero or parameter.name == "pNext":
            return None
        if REGISTRY.struct_of(parameter.type.base) and parameter.type.depth == 1:
            return c_type(f"{parameter.type.base} _")()
        if parameter.name in ("ptr", "dstptr"):
            return self.memory
        if parameter.name == "srcptr":
            return self.memory + SIZE // 2
        if parameter.name in ("pCount", "pSize"):
            return ctypes.c_uint32()
        return (ctypes.c_uint64 * 64)() if parameter.count is None else None


def _pages(calls: Calls) -> dict[str, Any]:
    return {"ptr": calls.reserved, "size": calls.page}


def _ipc_memory(calls: Calls) -> Any:
    handle = ze.ze_ipc_mem_handle_t()
    check(ze.zeMemGetIpcHandle(calls.bench.context, calls.memory, ctypes.byref(handle)))
    return handle


def _ipc_pool(calls: Calls) -> Any:
    handle = ze.ze_ipc_event_pool_handle_t()
    check(ze.zeEventPoolGetIpcHandle(calls.pool, ctypes.byref(handle)))
    return handle


def _ipc_event(calls: Calls) -> Any:
    handle = ze.ze_ipc_event_counter_based_handle_t()
    check(ze.zeEventCounterBasedGetIpcHandle(calls.counter_event, ctypes.byref(handle)))
    return handle


def _semaphore_description(fd: int) -> Any:
    chained = ze.ze_external_semaphore_fd_ext_desc_t(fd=fd)
    description = ze.ze_external_semaphore_ext_desc_t(
        flags=ze.ZE_EXTERNAL_SEMAPHORE_EXT_FLAG_OPAQUE_FD, pNext=ctypes.addressof(chained)
    )
    description.chained = chained
    return description


def _mutable(calls: Calls) -> dict[str, Any]:
    """A mutable list and the name of a command in it that signals an event and waits for one."""
    chained = ze.ze_mutable_command_list_exp_desc_t()
    description = ze.ze_command_list_desc_t(pNext=ctypes.addressof(chained))
    bench, name = calls.bench, ctypes.c_uint64()
    commands = bench._made(
        ze.zeCommandListDestroy,
        ze.zeCommandListCreate,
        bench.context,
        bench.device,
        ctypes.byref(description),
    )
    request = ctypes.byref(ze.ze_mutable_command_id_exp_desc_t())
    check(ze.zeCommandListGetNextCommandIdExp(commands, request, ctypes.byref(name)))
    barrier(commands, calls.event, [calls.event])
    return {"hCommandList": commands, "commandId": name.value}


def _mutable_list(calls: Calls) -> dict[str, Any]:
    return {"hCommandList": _mutable(calls)["hCommandList"]}


def _region() -> Any:
    return ze.ze_copy_region_t(width=16, height=4, depth=1)


def _picture(_: Calls) -> dict[str, Any]:
    return {"desc": describe("2D", (16, 16), format_of("8_8_8_8"))}


def _texels(_: Calls) -> dict[str, Any]:
    return {"pDstRegion": None, "pSrcRegion": None}


def _source_texels(_: Calls) -> dict[str, Any]:
    return {"pSrcRegion": None}


def _target_texels(_: Calls) -> dict[str, Any]:
    return {"pDstRegion": None}


_REGION = {"dstPitch": 64, "dstSlicePitch": 0, "srcPitch": 64, "srcSlicePitch": 0}

_SPECIAL: dict[str, Callable[[Calls], dict[str, Any]]] = {
    "zeDeviceImportExternalSemaphoreExt": lambda _: {"desc": _semaphore_description(COUNTER)},
    "zeCommandListAppendSignalExternalSemaphoreExt": lambda _: {
        "signalParams": ze.ze_external_semaphore_signal_params_ext_t()
    },
    "zeCommandListAppendWaitExternalSemaphoreExt": lambda _: {
        "waitParams": ze.ze_external_semaphore_wait_params_ext_t()
    },
    "zeRTASBuilderCreateExp": lambda _: {
        "pDescriptor": ze.ze_rtas_builder_exp_desc_t(
            builderVersion=ze.ZE_RTAS_BUILDER_EXP_VERSION_1_0
        )
    },
    "zeRTASBuilderCreateExt": lambda _: {
        "pDescriptor": ze.ze_rtas_builder_ext_desc_t(
            builderVersion=ze.ZE_RTAS_BUILDER_EXT_VERSION_1_0
        )
    },
    "zeGraphDumpContentsExt": lambda _: {"filePath": b"/dev/null"},
    "zeImageCreate": _picture,
    "zeImageViewCreateExt": _picture,
    "zeImageViewCreateExp": _picture,
    "zeCommandListAppendImageCopyRegion": _texels,
    "zeCommandListAppendImageCopyToMemory": _source_texels,
    "zeCommandListAppendImageCopyFromMemory": _target_texels,
    "zeCommandListAppendImageCopyToMemoryExt": lambda calls: {
        "destRowPitch": 64,
        "destSlicePitch": 0,
        **_source_texels(calls),
    },
    "zeCommandListAppendImageCopyFromMemoryExt": lambda calls: {
        "srcRowPitch": 64,
        "srcSlicePitch": 0,
        **_target_texels(calls),
    },
    "zeInitDrivers": lambda _: {
        "phDrivers": None,
        "desc": ze.ze_init_driver_type_desc_t(flags=ze.ZE_INIT_DRIVER_TYPE_FLAG_GPU),
    },
    "zeDriverGetExtensionFunctionAddress": lambda _: {"name": b"zeDriverGetApiVersion"},
    "zeEventPoolCreate": lambda _: {"desc": ze.ze_event_pool_desc_t(count=1)},
    "zeEventCreate": lambda _: {"desc": ze.ze_event_desc_t(index=1)},
    "zePhysicalMemCreate": lambda calls: {"desc": ze.ze_physical_mem_desc_t(size=calls.page)},
    "zeEventPoolPutIpcHandle": lambda calls: {"hIpc": _ipc_pool(calls)},
    "zeEventPoolOpenIpcHandle": lambda calls: {"hIpc": _ipc_pool(calls)},
    "zeEventCounterBasedOpenIpcHandle": lambda calls: {"hIpc": _ipc_event(calls)},
    "zeEventCounterBasedGetIpcHandle": lambda calls: {"hEvent": calls.counter_event},
    "zeEventCounterBasedGetDeviceAddress": lambda calls: {"hEvent": calls.counter_event},
    "zeMemPutIpcHandle": lambda calls: {"handle": _ipc_memory(calls)},
    "zeMemOpenIpcHandle": lambda calls: {"handle": _ipc_memory(calls)},
    "zeMemGetFileDescriptorFromIpcHandleExp": lambda calls: {"ipcHandle": _ipc_memory(calls)},
    "zeMemSetAtomicAccessAttributeExp": lambda calls: {"ptr": calls.shared},
    "zeMemGetAtomicAccessAttributeExp": lambda calls: {"ptr": calls.shared},
    "zeVirtualMemReserve": lambda _: {"pStart": None},
    "zeVirtualMemFree": lambda calls: {"ptr": calls.reserved, "size": 4 * calls.page},
    "zeVirtualMemMap": _pages,
    "zeVirtualMemUnmap": _pages,
    "zeVirtualMemSetAccessAttribute": _pages,
    "zeVirtualMemGetAccessAttribute": _pages,
    "zeCommandListGetNextCommandIdExp": _mutable_list,
    "zeCommandListUpdateMutableCommandsExp": _mutable_list,
    "zeCommandListUpdateMutableCommandSignalEventExp": _mutable,
    "zeCommandListUpdateMutableCommandWaitEventsExp": _mutable,
    "zeCommandListCreateCloneExp": lambda calls: {"hCommandList": calls.closed_list},
    "zeCommandListAppendMemoryRangesBarrier": lambda calls: {
        "numRanges": 1,
        "pRangeSizes": (ctypes.c_size_t * 1)(64),
        "pRanges": handles(calls.memory),
    },
    "zeCommandListAppendMemoryFill": lambda _: {"pattern": b"abcd"},
    "zeCommandListAppendMemoryFillWithParameters": lambda _: {"pattern": b"abcd"},
    "zeCommandListAppendMemoryCopyRegion": lambda _: {
        "dstRegion": _region(),
        "srcRegion": _region(),
        **_REGION,
    },
    "zeCommandQueueExecuteCommandLists": lambda calls: {
        "phCommandLists": handles(calls.closed_list)
    },
    "zeCommandListImmediateAppendCommandListsExp": lambda calls: {
        "phCommandLists": handles(calls.closed_list)
    },
    "zeCommandListImmediateAppendCommandListsWithParameters": lambda calls: {
        "phCommandLists": handles(calls.closed_list)
    },
    "zeContextCreateEx": lambda calls: {"phDevices": handles(calls.bench.device)},
    "zeCommandQueueCreate": lambda _: {"desc": ze.ze_command_queue_desc_t(ordinal=COPY_ORDINAL)},
    "zeMemFree": lambda calls: {"ptr": calls.bench.forget(calls.bench.host(PAGE))},
    "zeMemFreeExt": lambda calls: {"ptr": calls.bench.forget(calls.bench.host(PAGE))},
}
