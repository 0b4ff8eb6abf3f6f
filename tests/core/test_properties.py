"""Properties and enumerations hold everything that the API's structs and enumerations hold."""

from __future__ import annotations

import uuid
from enum import IntFlag

import pytest

import groundstate as gs
from groundstate import ze
from groundstate.core import enums, properties
from groundstate.core.device_extensions import QUESTIONS, extension_properties
from groundstate.core.properties import HEADER, Properties, enum_names, plain_struct

CLASSES = Properties.__subclasses__()


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_no_field_of_a_struct_is_forgotten(kind: type[Properties]) -> None:
    read = [raw for _, raw, _ in kind._fields_of_struct()]
    there = [name for name, *_ in kind.struct()._fields_ if name not in HEADER]
    assert sorted(read) == sorted(there)


@pytest.mark.parametrize("kind", enums.RAW_NAMES, ids=lambda kind: kind.__name__)
def test_enumerations_have_the_values_of_the_api(kind: type[IntFlag]) -> None:
    raw = getattr(ze, enums.RAW_NAMES[kind])
    ours = {member.value for member in kind.__members__.values() if member.value or kind(0)}
    assert {int(member) for member in raw} - {0} == {int(value) for value in ours} - {0}
    for member in raw:
        assert raw(member).name.endswith(kind(int(member)).name)


def test_device_properties_match_driver(gpu: gs.Device) -> None:
    raw = gpu.api.struct(ze.ze_device_properties_t, "zeDeviceGetProperties", gpu.handle)
    assert gpu.name == raw.name.decode()
    assert gpu.uuid == uuid.UUID(bytes=bytes(raw.uuid.id))
    assert gpu.type == raw.type
    assert gpu.max_allocation_bytes == raw.maxMemAllocSize
    assert gpu.properties.core_clock_mhz == raw.coreClockRate
    assert gpu.timer.resolution_ns == raw.timerResolution


def test_properties_are_read_once(gpu: gs.Device) -> None:
    assert gpu.properties is gpu.properties
    assert gpu.queue_groups is gpu.queue_groups


def test_sub_group_sizes_are_as_many_as_there_are(gpu: gs.Device) -> None:
    limits = gpu.compute_properties
    assert len(limits.sub_group_sizes) == limits.num_sub_group_sizes > 0


def test_the_extensions_add_their_structs(gpu: gs.Device) -> None:
    facts = gpu.extension_properties
    assert facts["ze_eu_count_ext_t"]["numTotalEUs"] >= 1
    assert [cache["cacheLineSize"] for cache in facts["ze_device_cache_line_size_ext_t"]] == [
        facts["ze_device_cache_line_size_ext_t"][0]["cacheLineSize"]
    ] * len(gpu.caches)


def test_only_driver_extension_structs_queried(gpu: gs.Device) -> None:
    assert extension_properties(gpu.api, gpu.handle, ()) == {}
    known = {chained.extension for question in QUESTIONS for chained in question.chained}
    names = {value for name, value in vars(ze).items() if name.endswith(("EXT_NAME", "EXP_NAME"))}
    assert known <= names


def test_a_struct_becomes_plain_data() -> None:
    region = ze.ze_copy_region_t(1, 2, 3, 4, 5, 6)
    assert plain_struct(region) == {
        "originX": 1, "originY": 2, "originZ": 3, "width": 4, "height": 5, "depth": 6
    }  # fmt: skip
    queue = ze.ze_command_queue_desc_t(
        mode=ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS, flags=ze.ZE_COMMAND_QUEUE_FLAG_IN_ORDER
    )
    facts = plain_struct(queue)
    assert facts["mode"] == "ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS"
    assert facts["flags"] == ["ZE_COMMAND_QUEUE_FLAG_IN_ORDER"]


def test_unknown_enum_value_stays_a_number() -> None:
    assert enum_names(ze.ze_device_type_t, 77) == "77"
    assert properties._value(77, gs.DeviceType) == 77


def test_the_right_queue_group_is_found(gpu: gs.Device) -> None:
    compute = gpu.queue_ordinal(gs.QueueGroupFlag.COMPUTE)
    assert gs.QueueGroupFlag.COMPUTE in gpu.queue_groups[compute].flags
    copy = gpu.queue_ordinal(gs.QueueGroupFlag.COPY)
    assert gs.QueueGroupFlag.COMPUTE not in gpu.queue_groups[copy].flags
    with pytest.raises(ValueError, match="no queue group for METRICS"):
        gpu.queue_ordinal(gs.QueueGroupFlag.METRICS)
