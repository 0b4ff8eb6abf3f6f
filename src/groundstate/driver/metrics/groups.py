"""Metric groups and metrics: which there are, and what they are called."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

from groundstate import knobs, ze, zet
from groundstate.driver import native, platform
from groundstate.driver.api import (
    Failure,
    Handles,
    answer_list,
    chain,
    handler,
    read_pointer,
    take_count,
    write_pointer,
    write_text,
    write_u32,
)
from groundstate.driver.metrics import package
from groundstate.driver.metrics.table import (
    GPU_GROUPS,
    GROUPS,
    TIME,
    Group,
    Metric,
    package_groups,
    processor_groups,
)
from groundstate.driver.metrics.traces import COMMANDS, TRACES
from groundstate.driver.platform import Device

TIMER_RESOLUTION = 1_000_000_000
TIMESTAMP_BITS = 60
"""Of the device's timestamps: native/threads/wait.h."""


class Listed(NamedTuple):
    """A metric group of a device, and the handles of its metrics."""

    group: Group
    device: Device
    metrics: tuple[int, ...]


_lock = threading.Lock()
_of_device: dict[int, tuple[int, ...]] = {}
groups: Handles[Listed] = Handles("zet_metric_group_handle_t")
all_metrics: Handles[Metric] = Handles("zet_metric_handle_t")
_switched: dict[int, bool] = {}
"""Devices for which a program has enabled or disabled metrics."""


def _list(device: Device) -> tuple[int, ...]:
    """The handles of a device's groups, made when somebody first asks. They stay."""
    with _lock:
        if device.handle not in _of_device:
            known = known_groups(device) if device.gpu is None else GPU_GROUPS
            _of_device[device.handle] = tuple(_add(device, group) for group in known)
        return _of_device[device.handle]


def known_groups(device: Device) -> list[Group]:
    machine = package_groups(package.words(device))
    found = (*GROUPS, *processor_groups(native.processor_events()), *machine)
    return [*sorted(found, key=lambda group: group.sampling != TIME), *TRACES]


def _add(device: Device, group: Group) -> int:
    words = group.words
    handle = native.metric_group_new(device.handle, group.sampling, group.domain, *words)
    metrics = tuple(native.object_new("zet_metric_handle_t") for _ in group.metrics)
    all_metrics.update(zip(metrics, group.metrics, strict=True))
    groups[handle] = Listed(group, device, metrics)
    return handle


# --- Enabling -------------------------------------------------------------------------------------


def _is_enabled(device: Device) -> bool:
    while True:
        if device.handle in _switched:
            return _switched[device.handle]
        if device.parent is None:
            return knobs.ENABLE_METRICS.get()
        device = device.parent


def _switch(handle: int, on: bool) -> None:
    device = platform.device(handle)
    for part in device.subdevices:
        _switched.pop(part.handle, None)
    _switched[handle] = on


@handler
def zetDeviceEnableMetricsExp(hDevice: int) -> None:
    _switch(hDevice, True)


@handler
def zetDeviceDisableMetricsExp(hDevice: int) -> None:
    """With ZET_ENABLE_METRICS=1, which is the default, they stay."""
    if native.metrics_are_used(hDevice):
        raise Failure(
            ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
            "metric groups are active or streamers open; deactivate "
            "them (zetContextActivateMetricGroups) and close streamers first",
        )
    if not knobs.ENABLE_METRICS.get():
        _switch(hDevice, False)


# --- Listing --------------------------------------------------------------------------------------


@handler
def zetMetricGroupGet(hDevice: int, pCount: int, phMetricGroups: int) -> None:
    device = platform.device(hDevice)
    if not _is_enabled(device) and hDevice not in _of_device:
        write_u32(pCount, 0)
        raise Failure(
            ze.ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE,
            "metrics are disabled (ZET_ENABLE_METRICS=0); call zetDeviceEnableMetricsExp first",
        )
    answer_list(pCount, phMetricGroups, _list(device))


@handler
def zetMetricGet(hMetricGroup: int, pCount: int, phMetrics: int) -> None:
    answer_list(pCount, phMetrics, groups[hMetricGroup].metrics)


@handler
def zetMetricGroupGetProperties(hMetricGroup: int, pProperties: int) -> None:
    listed = groups[hMetricGroup]
    group = listed.group
    properties = zet.zet_metric_group_properties_t.from_address(pProperties)
    write_text(properties, "name", group.name)
    write_text(properties, "description", group.description)
    properties.samplingType = group.sampling
    properties.domain = group.domain
    properties.metricCount = len(group.metrics)
    if properties.stype == zet.ZET_STRUCTURE_TYPE_METRIC_GROUP_PROPERTIES:
        _fill_chain(properties.pNext, group)


def _fill_chain(address: int | None, group: Group) -> None:
    for stype, at in chain(address):
        if stype == zet.ZET_STRUCTURE_TYPE_METRIC_GLOBAL_TIMESTAMPS_RESOLUTION_EXP:
            clock = zet.zet_metric_global_timestamps_resolution_exp_t.from_address(at)
            clock.timerResolution = TIMER_RESOLUTION
            clock.timestampValidBits = TIMESTAMP_BITS
        elif stype == zet.ZET_STRUCTURE_TYPE_METRIC_GROUP_TYPE_EXP:
            kind = zet.zet_metric_group_type_exp_t.from_address(at)
            kind.type = _kind(group)
        elif stype == zet.ZET_STRUCTURE_TYPE_METRIC_SOURCE_ID_EXP:
            source = zet.zet_metric_source_id_exp_t.from_address(at)
            source.sourceId = group.domain


def _kind(group: Group) -> int:
    has_markers = group.sampling & TIME or group is COMMANDS
    marker = zet.ZET_METRIC_GROUP_TYPE_EXP_FLAG_MARKER if has_markers else 0
    if group.is_created:
        return marker | zet.ZET_METRIC_GROUP_TYPE_EXP_FLAG_USER_CREATED
    return marker | zet.ZET_METRIC_GROUP_TYPE_EXP_FLAG_OTHER


@handler
def zetMetricGetProperties(hMetric: int, pProperties: int) -> None:
    metric = all_metrics[hMetric]
    properties = zet.zet_metric_properties_t.from_address(pProperties)
    write_text(properties, "name", metric.name)
    write_text(properties, "description", metric.description)
    write_text(properties, "component", metric.component)
    write_text(properties, "resultUnits", metric.units)
    properties.tierNumber = metric.tier
    properties.metricType = metric.type
    properties.resultType = metric.result


# --- Groups beside each other ---------------------------------------------------------------------


@handler
def zetDeviceGetConcurrentMetricGroupsExp(
    hDevice: int,
    metricGroupCount: int,
    phMetricGroups: int,
    pMetricGroupsCountPerConcurrentGroup: int,
    pConcurrentGroupCount: int,
) -> None:
    """The groups in as few sets as possible: no two of a set have the same domain."""
    handles = []
    for index in range(metricGroupCount):  # up to the first that is none: there may be no more
        handles.append(read_pointer(phMetricGroups + 8 * index))
        if groups[handles[-1]].device.handle != hDevice:
            raise Failure(
                ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
                "a metric group is one of another device",
            )
    sets = _concurrent_sets(handles)
    for index, handle in enumerate(handle for each in sets for handle in each):
        write_pointer(phMetricGroups + 8 * index, handle)
    counts = pMetricGroupsCountPerConcurrentGroup
    if not counts:
        write_u32(pConcurrentGroupCount, len(sets))
        return
    for index in range(take_count(pConcurrentGroupCount, counts, len(sets))):
        write_u32(counts + 4 * index, len(sets[index]))


def _concurrent_sets(handles: Sequence[int]) -> list[list[int]]:
    sets: list[list[int]] = []
    domains: list[set[int]] = []
    for handle in handles:
        domain = groups[handle].group.domain
        place = next((at for at, taken in enumerate(domains) if domain not in taken), len(sets))
        if place == len(sets):
            sets.append([])
            domains.append(set())
        sets[place].append(handle)
        domains[place].add(domain)
    return sets
