"""The metric groups of tracers: what a device tells of each time that it happens."""

from __future__ import annotations

from groundstate.driver.metrics.table import OF_COMMANDS, OF_WORKERS, TRACE, Group, Metric, Report
from groundstate.native_layouts import TRACE_KINDS

_NUMBER = "the number that a {} has from its beginning to its end"


def _unread(report: Report) -> float:
    raise AssertionError("records of tracers are decoded (decoder.py)")


def _metric(name: str, description: str, units: str, component: str) -> Metric:
    return Metric(name, description, units, _unread, component, tier=2)


def _span(name: str, what: str, component: str) -> tuple[Metric, Metric]:
    number = _NUMBER.format(what)
    begins = f"A {what} begins. The value is {number}."
    ends = f"A {what} ends. The value is {number}."
    return (
        _metric(f"{name}Begin", begins, "", component),
        _metric(f"{name}End", ends, "", component),
    )


_RUN = (
    _metric("TraceBegin", "The tracer is enabled.", "", "Tracer"),
    _metric("TraceEnd", "The tracer is disabled.", "", "Tracer"),
)
_COMMANDS = (
    *_span("Kernel", "launch", "Queues"),
    _metric("KernelItems", "Work-items of the launch that ends next.", "items", "Queues"),
    *_span("Copy", "copy", "Queues"),
    _metric("CopyBytes", "Bytes of the copy that ends next.", "bytes", "Queues"),
    *_span("Fill", "fill", "Queues"),
    _metric("FillBytes", "Bytes of the fill that ends next.", "bytes", "Queues"),
    *_span("Wait", "wait for events", "Queues"),
    _metric("Marker", "A marker in a list (zetCommandListAppendMarkerExp).", "", "Queues"),
)
_WORKERS = (
    _metric("WorkerBegin", "A worker begins. The value is its number.", "", "Workers"),
    _metric("WorkerEnd", "A worker ends. The value is its number.", "", "Workers"),
)
KINDS = {metric.name: kind for kind, metric in enumerate((*_RUN, *_COMMANDS, *_WORKERS))}
"""The numbers of `gs_trace_kind`, by the names of metrics."""
assert len(KINDS) == len(TRACE_KINDS)

COMMANDS = Group(
    "Commands",
    "Each launch, copy and fill as it begins and ends, and each wait of a queue for events.",
    TRACE,
    OF_COMMANDS,
    "",
    "",
    (*_RUN, *_COMMANDS),
)
WORKERS = Group(
    "Workers",
    "Each worker as it begins to work for a queue and ends.",
    TRACE,
    OF_WORKERS,
    "",
    "",
    (*_RUN, *_WORKERS),
)

TRACES = (COMMANDS, WORKERS)
