"""Raw reports with what is needed to calculate values of them on another machine.

Exported data begin with a line of JSON that says of which group they are; the reports follow.
"""

from __future__ import annotations

import ctypes
import json

from groundstate import ze, zet
from groundstate.driver.api import Failure, handler, read_u64, write_u64
from groundstate.driver.metrics.created import group_of
from groundstate.driver.metrics.groups import groups
from groundstate.driver.metrics.programmable import by_name, check_values, made_of
from groundstate.driver.metrics.table import (
    GPU_GROUPS,
    GROUPS,
    NAMES,
    Group,
    Metric,
    events_of,
    package_groups,
    package_words_of,
    processor_groups,
)
from groundstate.driver.metrics.values import calculate_sets, check_size, report_bytes

FORMAT = "groundstate metrics 1"


def _head(group: Group) -> bytes:
    first, count = group.words
    words = NAMES[first : first + count]
    said: dict[str, object] = {
        "format": FORMAT,
        "group": group.name,
        "sampling": group.sampling,
        "words": words,
        "metrics": [metric.name for metric in group.metrics],
    }
    if group.is_created:
        made = [metric for metric in group.metrics if metric.recipe]
        said["recipes"] = [[metric.name, *(metric.recipe or ())] for metric in made]
        said["domain"] = group.domain
    return json.dumps(said).encode() + b"\n"


@handler
def zetMetricGroupGetExportDataExp(
    hMetricGroup: int, pRawData: int, rawDataSize: int, pExportDataSize: int, pExportData: int
) -> None:
    group = groups[hMetricGroup].group
    check_size(group, rawDataSize)
    exported = _head(group) + ctypes.string_at(pRawData, rawDataSize)
    room = read_u64(pExportDataSize)
    write_u64(pExportDataSize, len(exported))
    if room == 0 or not pExportData:
        return
    if room < len(exported):
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_SIZE,
            f"{room} bytes are too few for {len(exported)}",
        )
    ctypes.memmove(pExportData, exported, len(exported))


@handler
def zetMetricGroupCalculateMetricExportDataExp(
    hDriver: int,
    type: int,
    exportDataSize: int,
    pExportData: int,
    pCalculateDescriptor: int,
    pSetCount: int,
    pTotalMetricValueCount: int,
    pMetricCounts: int,
    pMetricValues: int,
) -> None:
    del hDriver
    head, end, raw = ctypes.string_at(pExportData, exportDataSize).partition(b"\n")
    group = _group_of(head + end)
    count = check_size(group, len(raw))
    skipped = zet.zet_metric_calculate_exp_desc_t.from_address(pCalculateDescriptor)
    if skipped.rawReportSkipCount >= count:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"{skipped.rawReportSkipCount} reports are to be left out of {count}",
        )
    raw = raw[skipped.rawReportSkipCount * report_bytes(group) :]
    answers = (pSetCount, pTotalMetricValueCount, pMetricCounts, pMetricValues)
    calculate_sets(group, type, raw, answers)


def _said(head: bytes) -> dict[str, object]:
    """What exported data begin with."""
    try:
        said = json.loads(head)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _metrics(said: dict[str, object]) -> list[str]:
    names = said.get("metrics")
    return [each for each in names if isinstance(each, str)] if isinstance(names, list) else []


def _created(said: dict[str, object]) -> Group | None:
    """The group that a program has made, made once more."""
    recipes = said.get("recipes")
    if not isinstance(recipes, list):
        return None
    try:
        sampling, domain = int(str(said["sampling"])), int(str(said["domain"]))
        made = [_metric(domain, *recipe) for recipe in recipes]
        return group_of(str(said["group"]), "", sampling, domain, made)
    except (KeyError, TypeError, ValueError, OverflowError, Failure):
        return None


def _metric(domain: int, name: str, programmable: str, values: list[int]) -> Metric:
    found = by_name()[programmable]
    wanted = [int(each) for each in values]
    if len(wanted) != len(found.parameters) or found.source != domain:
        raise ValueError(programmable)
    check_values(found, wanted)
    return made_of(found, wanted, str(name), "")


def _groups_with(names: list[str]) -> tuple[Group, ...]:
    """The driver's groups on a machine that counts for these metrics."""
    machine = package_groups(package_words_of(names))
    return (*GROUPS, *GPU_GROUPS, *processor_groups(events_of(names)), *machine)


def _group_of(head: bytes) -> Group:
    """The group that exported data name. What they say is compared and never trusted."""
    said = _said(head)
    known = _groups_with(_metrics(said))
    created = _created(said)
    for group in (*known, created) if created else known:
        if _head(group) == head:
            return group
    raise Failure(
        ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
        "these are no exported data of a metric group that this version knows",
    )
