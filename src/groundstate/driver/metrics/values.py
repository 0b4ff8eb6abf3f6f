"""Values of metrics, from the raw reports of queries and streamers.

A raw report is a `gs_metric_report` and the words of its group, in the order of `gs_metric_counts`
(registry/shared_structs.py); raw data is one report after the other.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence

from groundstate import ze, zet
from groundstate.driver.api import Failure, handler, read_u32, write_u32
from groundstate.driver.metrics.groups import groups
from groundstate.driver.metrics.table import NAMES, TRACE, Group, Metric, Report
from groundstate.native_layouts import MetricReport

_HEAD_BYTES = ctypes.sizeof(MetricReport)
_NO_LIMIT = (1 << 64) - 1
_WHOLE_SHARE = 100.0
VALUE_BYTES = ctypes.sizeof(zet.zet_typed_value_t)


def report_bytes(group: Group) -> int:
    """Of one raw report."""
    return _HEAD_BYTES + 8 * group.words[1]


def check_size(group: Group, size: int) -> int:
    """How many reports raw data of so many bytes have."""
    if group.sampling == TRACE:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"group {group.name!r} is for tracers; zetMetricTracerDecodeExp tells what "
            "their data say",
        )
    count, rest = divmod(size, report_bytes(group))
    if count == 0 or rest:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_SIZE,
            f"{size} bytes are no whole number of reports of {report_bytes(group)} bytes, "
            f"which metric group {group.name!r} has",
        )
    return count


def reports(group: Group, raw: bytes) -> Iterator[Report]:
    """The reports in raw data."""
    first, count = group.words
    names = NAMES[first : first + count]
    for words in struct.iter_unpack(f"={_HEAD_BYTES // 8 + count}Q", raw):
        counts = dict(zip(names, words[_HEAD_BYTES // 8 :], strict=True))
        marker, start, end, workers = words[: _HEAD_BYTES // 8]
        yield Report(marker, start, end, workers, counts)


def _packed(metric: Metric, value: float) -> bytes:
    """A `zet_typed_value_t`."""
    if metric.result == zet.ZET_VALUE_TYPE_FLOAT32:
        return struct.pack("=Iif4x", metric.result, 0, value)
    if metric.result == zet.ZET_VALUE_TYPE_FLOAT64:
        return struct.pack("=Iid", metric.result, 0, value)
    return struct.pack("=IiQ", metric.result, 0, int(value) & _NO_LIMIT)


def _values(group: Group, type_: int, raw: bytes, most: int) -> bytes:
    packed: list[bytes] = []
    for report in reports(group, raw):
        if len(packed) >= most:
            break
        for metric in group.metrics:
            value = metric.value(report)
            if type_ == zet.ZET_METRIC_GROUP_CALCULATION_TYPE_MAX_METRIC_VALUES:
                is_share = metric.type == zet.ZET_METRIC_TYPE_RATIO
                value = _WHOLE_SHARE if is_share else _NO_LIMIT
            packed.append(_packed(metric, value))
    return b"".join(packed[:most])


def calculate(group: Group, type_: int, raw: bytes, total: int, count: int, values: int) -> None:
    """Answers with values, by the count protocol."""
    wanted = read_u32(count)
    if wanted == 0 or not values:
        write_u32(count, total)
        return
    written = min(wanted, total)
    write_u32(count, written)
    ctypes.memmove(values, _values(group, type_, raw, written), written * VALUE_BYTES)


@handler
def zetMetricGroupCalculateMetricValues(
    hMetricGroup: int,
    type: int,
    rawDataSize: int,
    pRawData: int,
    pMetricValueCount: int,
    pMetricValues: int,
) -> None:
    group = groups[hMetricGroup].group
    count = check_size(group, rawDataSize)
    raw = ctypes.string_at(pRawData, rawDataSize)
    total = count * len(group.metrics)
    calculate(group, type, raw, total, pMetricValueCount, pMetricValues)


@handler
def zetMetricGroupCalculateMultipleMetricValuesExp(
    hMetricGroup: int,
    type: int,
    rawDataSize: int,
    pRawData: int,
    pSetCount: int,
    pTotalMetricValueCount: int,
    pMetricCounts: int,
    pMetricValues: int,
) -> None:
    group = groups[hMetricGroup].group
    check_size(group, rawDataSize)
    raw = ctypes.string_at(pRawData, rawDataSize)
    answers = (pSetCount, pTotalMetricValueCount, pMetricCounts, pMetricValues)
    calculate_sets(group, type, raw, answers)


def calculate_sets(group: Group, type_: int, raw: bytes, answers: Sequence[int]) -> None:
    """The same for sets of values, of which there is one: a device counts as a whole."""
    sets, count, counts, values = answers
    total = len(raw) // report_bytes(group) * len(group.metrics)
    wanted = read_u32(sets)
    write_u32(sets, 1)
    calculate(group, type_, raw, total, count, values)
    if wanted and counts:
        write_u32(counts, read_u32(count))
