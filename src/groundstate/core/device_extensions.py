"""What extensions add to the properties of a device.

Level Zero hangs the struct of an extension behind the struct of the question it belongs to. Which
question that is, and which extension a driver must have for it, is in the table below.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from groundstate import ze
from groundstate.core.api import Api
from groundstate.core.properties import plain_struct


@dataclass(frozen=True)
class ChainedStruct:
    """A struct of an extension, with the extension that brings it."""

    struct: str
    extension: str


@dataclass(frozen=True)
class Question:
    """A function that fills in a struct, or one for each thing of a list."""

    function: str
    struct: str
    is_list: bool
    chained: tuple[ChainedStruct, ...]


QUESTIONS = (
    Question(
        "zeDeviceGetProperties",
        "ze_device_properties_t",
        False,
        (
            ChainedStruct("ze_eu_count_ext_t", "ZE_extension_eu_count"),
            ChainedStruct("ze_device_ip_version_ext_t", "ZE_extension_device_ip_version"),
            ChainedStruct("ze_device_luid_ext_properties_t", "ZE_extension_device_luid"),
            ChainedStruct(
                "ze_device_usablemem_size_ext_properties_t",
                "ZE_extension_device_usablemem_size_properties",
            ),
            ChainedStruct(
                "ze_event_query_kernel_timestamps_ext_properties_t",
                "ZE_extension_event_query_kernel_timestamps",
            ),
            ChainedStruct(
                "ze_mutable_command_list_exp_properties_t", "ZE_experimental_mutable_command_list"
            ),
            ChainedStruct("ze_rtas_device_ext_properties_t", "ZE_extension_rtas"),
            ChainedStruct(
                "ze_device_readonly_memory_ext_properties_t",
                "ZE_extension_virtual_mem_readonly_properties",
            ),
        ),
    ),
    Question(
        "zeDeviceGetModuleProperties",
        "ze_device_module_properties_t",
        False,
        (
            ChainedStruct("ze_float_atomic_ext_properties_t", "ZE_extension_float_atomics"),
            ChainedStruct(
                "ze_scheduling_hint_exp_properties_t", "ZE_experimental_scheduling_hints"
            ),
            ChainedStruct("ze_device_raytracing_ext_properties_t", "ZE_extension_raytracing"),
        ),
    ),
    Question(
        "zeDeviceGetMemoryProperties",
        "ze_device_memory_properties_t",
        True,
        (
            ChainedStruct(
                "ze_device_memory_ext_properties_t", "ZE_extension_device_memory_properties"
            ),
        ),
    ),
    Question(
        "zeDeviceGetCacheProperties",
        "ze_device_cache_properties_t",
        True,
        (ChainedStruct("ze_device_cache_line_size_ext_t", "ZE_extension_device_cache_line_size"),),
    ),
    Question(
        "zeDeviceGetCommandQueueGroupProperties",
        "ze_command_queue_group_properties_t",
        True,
        (
            ChainedStruct(
                "ze_copy_bandwidth_exp_properties_t", "ZE_experimental_bandwidth_properties"
            ),
        ),
    ),
)


def extension_properties(api: Api, device: int, extensions: Iterable[str]) -> dict[str, Any]:
    """Each struct that extensions bring, by name: a dict, or a list with one for each thing."""
    known = frozenset(extensions)
    answers: dict[str, Any] = {}
    for question in QUESTIONS:
        for chained in question.chained:
            if chained.extension in known:
                found = list(_ask(api, device, question, chained))
                answers[chained.struct] = found if question.is_list else found[0]
    return answers


def _ask(
    api: Api, device: int, question: Question, chained: ChainedStruct
) -> Iterator[dict[str, Any]]:
    kind, chained_kind = getattr(ze, question.struct), getattr(ze, chained.struct)
    count = len(api.structs(kind, question.function, device)) if question.is_list else 1
    heads, tails = kind.array(count), chained_kind.array(count)
    for head, tail in zip(heads, tails, strict=True):
        head.pNext = ctypes.addressof(tail)
    if question.is_list:
        number = ctypes.c_uint32(count)
        api.call(question.function, device, ctypes.byref(number), heads)
    else:
        api.call(question.function, device, heads)
    return (plain_struct(tail) for tail in tails)
