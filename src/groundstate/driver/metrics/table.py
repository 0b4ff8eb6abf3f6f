"""The metric groups of a device and their metrics, stated once.

docs/reference/metrics.md is for people who read the values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from groundstate import zet
from groundstate.native_layouts import MetricCounts, offset_of

WORD = 8


class Report(NamedTuple):
    """One raw report."""

    marker: int
    start: int
    end: int
    workers: int
    counts: dict[str, int]
    """By the names of `gs_metric_counts`; those that the group has."""

    @property
    def elapsed(self) -> int:
        return self.end - self.start


class Metric(NamedTuple):
    """One metric of a group."""

    name: str
    description: str
    units: str
    value: Callable[[Report], float]
    component: str = "Workers"
    type: int = zet.ZET_METRIC_TYPE_EVENT
    result: int = zet.ZET_VALUE_TYPE_UINT64
    tier: int = 1


class Group(NamedTuple):
    """One metric group."""

    name: str
    description: str
    sampling: int
    domain: int
    first: str
    """The first and the last word of its reports, by the names of `gs_metric_counts`."""
    last: str
    metrics: tuple[Metric, ...]
    counts_instructions: bool = False

    @property
    def words(self) -> tuple[int, int]:
        """The number of the first word, and how many there are."""
        first, last = (offset_of(MetricCounts, each) // WORD for each in (self.first, self.last))
        return first, last - first + 1


NAMES = tuple(MetricCounts.__annotations__)
"""Of the words that are counted, in their order."""

TIME = zet.ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_TIME_BASED
EVENT = zet.ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EVENT_BASED
_RATIO = zet.ZET_METRIC_TYPE_RATIO
_FLOAT = zet.ZET_VALUE_TYPE_FLOAT64


def _count(
    name: str, description: str, word: str, units: str = "events", component: str = "Workers"
) -> Metric:
    type_ = zet.ZET_METRIC_TYPE_DURATION if units == "ns" else zet.ZET_METRIC_TYPE_EVENT
    return Metric(
        name, description, units, lambda report: report.counts[word], component, type_, tier=2
    )


def _share(part: float, whole: float) -> float:
    """Percent, at most 100: of what two clocks say, the part may be a little more than all."""
    return min(100 * part / whole, 100.0) if whole > 0 else 0.0


def _busy(report: Report) -> float:
    return _share(report.counts["busy_time"], report.workers * report.elapsed)


def _bytes_in_second(*words: str) -> Callable[[Report], float]:
    def value(report: Report) -> float:
        count = sum(report.counts[word] for word in words)
        return count / report.elapsed if report.elapsed else 0.0

    return value


_TIMES = (
    Metric(
        "GpuTime",
        "Time from the beginning of the report to its end.",
        "ns",
        lambda report: report.elapsed,
        "Report",
        zet.ZET_METRIC_TYPE_DURATION,
    ),
    Metric(
        "ReportTime",
        "When the report ended, as zeDeviceGetGlobalTimestamps tells the device's time.",
        "ns",
        lambda report: report.end,
        "Report",
        zet.ZET_METRIC_TYPE_TIMESTAMP,
    ),
)
_MARKER = Metric(
    "StreamMarker",
    "The value of the marker that ended the report, or 0.",
    "",
    lambda report: report.marker,
    "Report",
    zet.ZET_METRIC_TYPE_RAW,
)
_WORK = (
    Metric(
        "XVE_ACTIVE",
        "Share of the workers' time in which they ran kernels, copies and fills.",
        "percent",
        _busy,
        type=_RATIO,
        result=_FLOAT,
    ),
    Metric(
        "XVE_STALL",
        "Share of the workers' time in which they had nothing to do.",
        "percent",
        lambda report: 100.0 - _busy(report),
        type=_RATIO,
        result=_FLOAT,
    ),
    _count("Kernels", "Launches that ended.", "kernels"),
    _count("WorkGroups", "Work-groups of those.", "groups"),
    _count("WorkItems", "Work-items of those.", "items"),
    _count("KernelTime", "From the beginning of each launch to its end.", "kernel_time", "ns"),
    _count("WorkerBusyTime", "Time in which workers worked, of all together.", "busy_time", "ns"),
    _count("Copies", "Copies and fills that ended.", "copies", component="Copies"),
    _count("CopiedBytes", "Bytes that copies wrote.", "copied_bytes", "bytes", "Copies"),
    _count("FilledBytes", "Bytes that fills wrote.", "filled_bytes", "bytes", "Copies"),
    _count("CopyTime", "From the beginning of each copy to its end.", "copy_time", "ns", "Copies"),
    _count("QueueWaitTime", "Time in which queues waited for events.", "wait_time", "ns", "Queues"),
)
_COMPILING = (
    _count(
        "KernelsCompiled",
        "Kernels that were compiled for a group size, or loaded from the kernel cache.",
        "compiled",
        component="Compiler",
    ),
    _count("CompileTime", "Time that took.", "compile_time", "ns", "Compiler"),
)

BASIC = "What runs on the device: kernels, copies, and how busy its workers are."


GROUPS: tuple[Group, ...] = (
    Group(
        "ComputeBasic",
        BASIC,
        TIME,
        0,
        "kernels",
        "compile_time",
        (*_TIMES, _MARKER, *_WORK, *_COMPILING),
    ),
    Group("ComputeBasic", BASIC, EVENT, 0, "kernels", "wait_time", (*_TIMES, *_WORK)),
)
"""In the order in which they are listed: time-based groups first."""
