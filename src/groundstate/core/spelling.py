"""The driver's sentences in the words of Python: `EventPool(..., timestamps=True)`, not a flag.

A driver speaks of functions, flags and fields of the C API, for whoever calls it from C. Who uses
the objects finds the same things under other names, which are all here. Enumerations and fields of
properties need no entry: the classes that stand for them know their C names.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from groundstate import ze, zes
from groundstate.core import enums, properties

_FLAGS = {
    "ZE_COMMAND_LIST_FLAG_COPY_OFFLOAD_HINT": "CommandList(..., copy_offload=True)",
    "ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY": "CommandList(..., explicit_only=True)",
    "ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE": "CommandList(..., cloneable=True)",
    "ZE_COMMAND_LIST_FLAG_IN_ORDER": "CommandList(..., in_order=True)",
    "ZE_COMMAND_LIST_FLAG_MAXIMIZE_THROUGHPUT": "CommandList(..., maximize_throughput=True)",
    "ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING": "CommandList(..., relaxed_ordering=True)",
    "ZE_COMMAND_QUEUE_FLAG_COPY_OFFLOAD_HINT": "CommandQueue(..., copy_offload=True)",
    "ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY": "CommandQueue(..., explicit_only=True)",
    "ZE_COMMAND_QUEUE_FLAG_IN_ORDER": "CommandQueue(..., in_order=True)",
    "ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_CACHED": "cached=True",
    "ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_UNCACHED": "cached=False",
    "ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP": "Event.counter_based(..., timestamps=True)",
    "ZE_EVENT_COUNTER_BASED_FLAG_GRAPH_EXTERNAL": "Event.counter_based(..., graph_external=True)",
    "ZE_EVENT_COUNTER_BASED_FLAG_HOST_TIMESTAMP": "Event.counter_based(..., host_timestamps=True)",
    "ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE": "Event.counter_based(..., host_visible=True)",
    "ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE": "Event.counter_based(..., for_immediate=True)",
    "ZE_EVENT_COUNTER_BASED_FLAG_IPC": "Event.counter_based(..., ipc=True)",
    "ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE": "Event.counter_based(..., for_regular=True)",
    "ZE_EVENT_POOL_FLAG_HOST_VISIBLE": "EventPool(..., host_visible=True)",
    "ZE_EVENT_POOL_FLAG_IPC": "EventPool(..., ipc=True)",
    "ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP": "EventPool(..., mapped_timestamps=True)",
    "ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP": "EventPool(..., timestamps=True)",
    "ZE_FENCE_FLAG_SIGNALED": "Fence(..., signaled=True)",
    "ZE_HOST_MEM_ALLOC_FLAG_BIAS_CACHED": "cached=True",
    "ZE_HOST_MEM_ALLOC_FLAG_BIAS_UNCACHED": "cached=False",
    "ZE_IMAGE_FLAG_BIAS_UNCACHED": "Image(..., cached=False)",
    "ZE_IMAGE_FLAG_KERNEL_WRITE": "Image(..., writable=True)",
    "ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE": "PhysicalMemory(..., on_host=False)",
    "ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST": "PhysicalMemory(..., on_host=True)",
}

_FUNCTIONS = {
    "zeCommandListClose": "CommandList.finish()",
    "zeCommandListEndGraphCaptureExt": "leave the `with` block of CommandList.capture",
    "zeCommandListGetNextCommandIdWithKernelsExp": "CommandList.next_command()",
    "zeCommandListHostSynchronize": "CommandList.synchronize()",
    "zeCommandListReset": "CommandList.reset()",
    "zeCommandQueueSynchronize": "CommandQueue.synchronize()",
    "zeContextCreateEx": "Context(devices)",
    "zeContextDestroy": "Context.close()",
    "zeDeviceGetImageProperties": "Device.image_properties",
    "zeDeviceGetStatus": "Device.check_status()",
    "zeEventCounterBasedCloseIpcHandle": "Event.close()",
    "zeEventCounterBasedCreate": "Event.counter_based()",
    "zeEventDestroy": "Event.close()",
    "zeEventPoolCloseIpcHandle": "EventPool.close()",
    "zeEventPoolDestroy": "EventPool.close()",
    "zeImageViewCreateExt": "Image.view()",
    "zeKernelDestroy": "Kernel.close()",
    "zeKernelSetArgumentValue": "the arguments of a call of the Kernel",
    "zeKernelSuggestMaxCooperativeGroupCount": "Kernel.max_cooperative_groups",
    "zeMemAllocHost": "Context.alloc_host()",
    "zeModuleDynamicLink": "Module.link()",
    "zeVirtualMemUnmap": "VirtualMemory.unmap()",
}

_NAMES = {
    "alignment": "alignment_bytes",
    "arraylevels": "the number of layers in extents",
    "commandQueueGroupOrdinal": "ordinal",
    "dst": "the destination",
    "dstPitch": "destination_pitch_bytes",
    "dstSlicePitch": "destination_slice_bytes",
    "dstptr": "the destination",
    "inputSize": "the size of spirv= or native=",
    "numWaitEvents": "the number of events in wait=",
    "pInputModule": "spirv= or native=",
    "pKernelName": "the name",
    "pattern_size": "the size of the pattern",
    "pfnHostFunction": "the function",
    "phSemaphores": "the semaphores",
    "phWaitEvents": "wait=",
    "ptr": "the address",
    "size": "the size",
    "srcPitch": "source_pitch_bytes",
    "srcSlicePitch": "source_slice_bytes",
    "src": "the source",
    "srcptr": "the source",
    "ze_external_semaphore_fd_ext_desc_t": "ExternalSemaphore(device, fd)",
    "ze_image_view_planar_ext_desc_t": "Image.view(..., plane=...)",
    "ze_mutable_command_list_exp_desc_t": "CommandList(..., mutable=True)",
    "zes_power_level_t": "sysman.PowerLevel",
    "ZES_SCHED_WATCHDOG_DISABLE": "groundstate.zes.ZES_SCHED_WATCHDOG_DISABLE",
}
"""Parameters, fields, structs and constants."""

_WORDS = ("alignment", "dst", "ptr", "size", "src")
"""Of these names, those that are also words of a sentence: they are C's only before "is null"."""

_FIELDS = {"signal": "signal_scope", "type": "kind", "wait": "wait_scope"}
"""Fields of descriptors whose names are words that mean something else in other places."""

_CONDITIONS = {
    "0 != (alignment & (alignment - 1))": "alignment_bytes is not a power of two",
    "0 == desc->count": "count is 0",
    "0 == desc->inputSize": "spirv= or native= is empty",
    "0 == desc->size": "size_bytes is 0",
    "0 == numCommandLists": "there is no list to execute",
    "0 == size": "the size is 0 bytes",
    "size % pattern_size != 0": "the size in bytes is not a multiple of the size of the pattern",
}
"""Conditions of the specification, which stand in a sentence as they stand there."""

_PREFIX = re.compile(r"z[a-z]+[A-Z]\w*: ")
_QUOTED = re.compile(r"((?<!\w)'[^']*'(?!\w))")
_CONDITION = re.compile(r"not allowed: (.*)")
_NULL = re.compile(r"^(\w+)(?= must not be null)|^(\w+)(?= is null\b)")
_FIELD = re.compile(r"\b\w*(?:desc|State)->(\w+)")
_HANDLE = re.compile(r"\bph?([A-Z][a-zA-Z]+)s?\b(?=[ ,;(]|$)|\bh([A-Z][a-zA-Z]+)\b")
_HANDLE_TYPE = re.compile(r"\b(?:an? )?zes?_(\w+?)(?:_ext|_exp)?_handle_t\b")


def in_python(description: str) -> str:
    """A driver's sentence with the names of the objects in place of those of the C API.

    The function that failed, with which a sentence begins, stays, and so does what is in quotes.

    >>> in_python("zeFenceCreate: create its pool with ZE_EVENT_POOL_FLAG_IPC")
    'zeFenceCreate: create its pool with EventPool(..., ipc=True)'
    >>> in_python("zeEventPoolCreate: not allowed: 0 == desc->count")
    'zeEventPoolCreate: not allowed: count is 0'
    """
    prefix = match[0] if (match := _PREFIX.match(description)) else ""
    parts = _QUOTED.split(description[len(prefix) :])
    return prefix + "".join(part if part.startswith("'") else _translated(part) for part in parts)


def _translated(text: str) -> str:
    text = _CONDITION.sub(lambda found: f"not allowed: {_condition(found[1])}", text)
    text = _NULL.sub(lambda found: _NAMES.get(found[0], found[0]), text)
    text = _FIELD.sub(lambda found: _field(found[1]), text)
    spellings, pattern = _table(with_sysman="ZES_" in text)
    text = pattern.sub(lambda found: spellings[found[0]], text)
    text = _HANDLE_TYPE.sub(lambda found: _object(found[0], _class_name(found[1])), text)
    return _HANDLE.sub(lambda found: _snake_case(found[1] or found[2]).replace("_", " "), text)


def _field(name: str) -> str:
    return _FIELDS.get(name) or _NAMES.get(name) or _snake_case(name)


def _condition(text: str) -> str:
    return _CONDITIONS.get(text, text)


@cache
def _table(*, with_sysman: bool) -> tuple[dict[str, str], re.Pattern[str]]:
    """What is called otherwise in Python wherever it stands in a sentence, and how to find it."""
    names = {name: said for name, said in _NAMES.items() if name not in _WORDS}
    spellings = {**_enumerators(ze, enums, ""), **_properties(), **_FLAGS, **_FUNCTIONS, **names}
    if with_sysman:
        from groundstate.core.sysman import enums as sysman_enums

        spellings |= _enumerators(zes, sysman_enums, "sysman.")
    longest_first = sorted(spellings, key=len, reverse=True)
    return spellings, re.compile(rf"\b(?:{'|'.join(longest_first)})\b")


def _enumerators(raw: Any, module: Any, place: str) -> dict[str, str]:
    """The values of all enumerations of a module, by their names in the C API."""
    return {
        each.name: f"{place}{kind.__name__}.{kind(each).name}"
        for kind, raw_name in module.RAW_NAMES.items()
        for each in getattr(raw, raw_name)
        if int(each) in {int(member) for member in kind}
    }


def _properties() -> dict[str, str]:
    """Fields of structs that say what a device is, as `Device.properties.name`."""
    return {
        raw: f"Device.{place}.{name}"
        for place, kind in _PROPERTIES.items()
        for name, raw, _ in kind._fields_of_struct()
        if any(letter.isupper() for letter in raw)
    }


_PROPERTIES: dict[str, type[properties.Properties]] = {
    "properties": properties.DeviceProperties,
    "compute_properties": properties.ComputeProperties,
    "module_properties": properties.ModuleProperties,
    "image_properties": properties.ImageProperties,
    "memory_access": properties.MemoryAccessProperties,
}
"""By the attribute of a device."""


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _object(found: str, name: str) -> str:
    """The name of a class, with the article that goes with it if there was one."""
    if not found.startswith("a"):
        return name
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _class_name(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))
