"""Metric groups that a program makes of metrics that it has made (programmable.py)."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence

from groundstate import ze, zet
from groundstate.driver import native, platform
from groundstate.driver.api import (
    Failure,
    handler,
    read_pointer,
    read_u32,
    read_u64,
    write_pointer,
    write_u32,
    write_u64,
)
from groundstate.driver.metrics.groups import Listed, all_metrics, groups
from groundstate.driver.metrics.programmable import (
    Created,
    created_metric,
    created_metrics,
    text_of,
)
from groundstate.driver.metrics.table import (
    EVENT,
    MARKER,
    TIME,
    TIMES,
    Group,
    Metric,
    groups_anywhere,
)
from groundstate.driver.platform import Device

_lock = threading.RLock()
_members: dict[int, list[int]] = {}
"""The metrics that a program has put into its groups, by the handles of the groups."""


# --- What a group has -----------------------------------------------------------------------------


def _words(source: int, sampling: int) -> tuple[str, str]:
    """The words that a group's reports begin and end with: those of the driver's own groups."""
    for group in groups_anywhere():
        if group.domain == source and sampling & EVENT <= group.sampling & EVENT:
            return group.first, group.last
    raise ValueError(source)


def group_of(
    name: str, description: str, sampling: int, source: int, metrics: Sequence[Metric]
) -> Group:
    """A program's group. It has the times of its reports, too."""
    times = (*TIMES, MARKER) if sampling & TIME else TIMES
    words = _words(source, sampling)
    whole = (*times, *metrics)
    return Group(name, description, sampling, source, *words, whole, is_created=True)


def _open(device: Device, name: str, description: str, sampling: int) -> int:
    """An empty group that can be filled."""
    group = group_of(name, description, sampling, 0, ())
    handle = native.metric_group_new(device.handle, sampling, 0, *group.words)
    native.metric_group_open(handle)
    times = {native.object_new("zet_metric_handle_t"): metric for metric in group.metrics}
    all_metrics.update(times)
    groups[handle] = Listed(group, device, tuple(times))
    _members[handle] = []
    return handle


def _own(handle: int) -> Listed:
    """A program's group."""
    listed = groups[handle]
    if not listed.group.is_created:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"{listed.group.name!r} is one of the driver's own groups, which stay as they are",
        )
    return listed


def _change(handle: int) -> None:
    """A group is to be changed: it cannot be active before it is closed."""
    if not native.metric_group_open(handle):
        raise Failure(
            ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
            f"{groups[handle].group.name!r} is active, or has streamers or query "
            "pools; deactivate it (zetContextActivateMetricGroups) and close them first",
        )


def _set_members(handle: int, members: list[int]) -> None:
    """Gives a group these metrics behind the times that it has of itself."""
    group, device, metrics = groups[handle]
    times = metrics[: len(metrics) - len(_members[handle])]
    made = [created_metrics[each] for each in members]
    source = made[0].programmable.source if made else 0
    facts = (group.name, group.description, group.sampling, source)
    whole = group_of(*facts, [each.metric for each in made])
    groups[handle] = Listed(whole, device, (*times, *members))
    _members[handle] = members


def _close(handle: int) -> None:
    group = groups[handle].group
    native.metric_group_close(handle, group.domain, *group.words)


# --- Groups of metrics ----------------------------------------------------------------------------


def _sets(metrics: dict[int, Created]) -> dict[tuple[int, int], list[int]]:
    """Metrics that are counted together, by what counts them and how it can be read."""
    sets: dict[tuple[int, int], list[int]] = {}
    for handle, created in metrics.items():
        kind = created.programmable.source, created.programmable.sampling
        sets.setdefault(kind, []).append(handle)
    return sets


@handler
def zetDeviceCreateMetricGroupsFromMetricsExp(
    hDevice: int,
    metricCount: int,
    phMetrics: int,
    pMetricGroupNamePrefix: int,
    pDescription: int,
    pMetricGroupCount: int,
    phMetricGroup: int,
) -> None:
    texts = (
        text_of(
            "pMetricGroupNamePrefix",
            pMetricGroupNamePrefix,
            zet.ZET_MAX_METRIC_GROUP_NAME_PREFIX_EXP,
        ),
        text_of("pDescription", pDescription, zet.ZET_MAX_METRIC_GROUP_DESCRIPTION),
    )
    device = platform.device(hDevice)
    with _lock:
        metrics: dict[int, Created] = {}
        for number in range(metricCount):
            handle = read_pointer(phMetrics + 8 * number)
            metrics[handle] = _metric_of(device, handle)
        sets = _sets(metrics)
        room = read_u32(pMetricGroupCount)
        write_u32(pMetricGroupCount, len(sets))
        if room == 0 or not phMetricGroup:
            return
        if room < len(sets):
            raise Failure(
                ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
                f"there is room for {room} groups, but these metrics need {len(sets)}",
            )
        for number, ((_, sampling), members) in enumerate(sets.items()):
            group = _open(device, f"{texts[0]}_{number}", texts[1], sampling)
            for each in members:
                _add(group, each)
            _close(group)
            write_pointer(phMetricGroup + 8 * number, group)


def _metric_of(device: Device, handle: int) -> Created:
    """A metric that a program has made for a device."""
    created = created_metric(handle)
    if created.device is not device:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"metric {created.metric.name!r} is one of another device",
        )
    return created


def _add(group: int, metric: int) -> None:
    if metric not in _members[group]:
        created_metrics[metric].groups.add(group)
        _set_members(group, [*_members[group], metric])


def _remove(group: int, metric: int) -> None:
    _set_members(group, [each for each in _members[group] if each != metric])
    created_metrics[metric].groups.discard(group)


# --- One group, step by step ----------------------------------------------------------------------


@handler
def zetMetricGroupCreateExp(
    hDevice: int, pName: int, pDescription: int, samplingType: int, phMetricGroup: int
) -> None:
    if not samplingType or samplingType & ~(TIME | EVENT):
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"samplingType is {samplingType:#x}; a group that a program makes is "
            "event-based, time-based or both",
        )
    name = text_of("pName", pName, zet.ZET_MAX_METRIC_GROUP_NAME)
    most = zet.ZET_MAX_METRIC_GROUP_DESCRIPTION
    description = text_of("pDescription", pDescription, most)
    with _lock:
        made = _open(platform.device(hDevice), name, description, samplingType)
    write_pointer(phMetricGroup, made)


def _objection(listed: Listed, members: Sequence[int], created: Created) -> str:
    """Why a metric cannot be in a group, or ""."""
    group, metric = listed.group, created.metric
    if created.device is not listed.device:
        return f"metric {metric.name!r} and group {group.name!r} are of different devices"
    if group.sampling & ~created.programmable.sampling:
        return (
            f"metric {metric.name!r} is for time-based groups only; {group.name!r} is event-based"
        )
    sources = {created_metrics[each].programmable.source for each in members}
    if sources - {created.programmable.source}:
        return f"metric {metric.name!r} has another sourceId than those that are in {group.name!r}"
    return ""


def _tell(text: str, size: int, to: int) -> None:
    """Answers with a string, as much as there is room for."""
    encoded = text.encode() + b"\0"
    if not size:
        return
    room = read_u64(size)
    if room == 0 or not to:
        write_u64(size, len(encoded))
        return
    written = encoded[:room]
    ctypes.memmove(to, written, len(written))
    write_u64(size, len(written))


@handler
def zetMetricGroupAddMetricExp(
    hMetricGroup: int, hMetric: int, pErrorStringSize: int, pErrorString: int
) -> None:
    with _lock:
        listed = _own(hMetricGroup)
        created = created_metric(hMetric)
        objection = _objection(listed, _members[hMetricGroup], created)
        if objection:
            _tell(objection, pErrorStringSize, pErrorString)
            raise Failure(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"{objection}")
        _change(hMetricGroup)
        _add(hMetricGroup, hMetric)


@handler
def zetMetricGroupRemoveMetricExp(hMetricGroup: int, hMetric: int) -> None:
    with _lock:
        listed = _own(hMetricGroup)
        if hMetric not in _members[hMetricGroup]:
            raise Failure(
                ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
                f"metric {all_metrics[hMetric].name!r} was not added to group "
                f"{listed.group.name!r}",
            )
        _change(hMetricGroup)
        _remove(hMetricGroup, hMetric)


@handler
def zetMetricGroupCloseExp(hMetricGroup: int) -> None:
    with _lock:
        listed = _own(hMetricGroup)
        if not _members[hMetricGroup]:
            raise Failure(
                ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
                f"group {listed.group.name!r} has no metrics; add one first "
                "(zetMetricGroupAddMetricExp)",
            )
        _change(hMetricGroup)
        _close(hMetricGroup)


@handler
def zetMetricGroupDestroyExp(hMetricGroup: int) -> None:
    with _lock:
        listed = _own(hMetricGroup)
        _change(hMetricGroup)
        for metric in _members.pop(hMetricGroup):
            created_metrics[metric].groups.discard(hMetricGroup)
        for each in listed.metrics:
            if each not in created_metrics:
                native.object_end(each)
                all_metrics.pop(each, None)
        native.object_end(hMetricGroup)
        groups.pop(hMetricGroup, None)
