"""A profile as a trace that Perfetto and Chrome's about:tracing open: calls, kernels and copies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from groundstate.profiler.recorded import Recorded

QUEUES = 1 << 32
"""Tracks of queues have numbers beyond those of threads."""


def write(processes: Sequence[Recorded], file: TextIO) -> None:
    """Writes the trace, one event to a line."""
    start = min((each.start for each in processes), default=0)
    file.write('{"displayTimeUnit": "ns", "traceEvents": [')
    separator = "\n"
    for process in processes:
        for event in events(process, start):
            file.write(separator + json.dumps(event))
            separator = ",\n"
    file.write("\n]}\n")


def events(process: Recorded, start: int) -> Iterator[dict[str, Any]]:
    """The events of a process. Times are microseconds from `start`."""
    name = f"process {process.pid}"
    yield {"ph": "M", "pid": process.pid, "name": "process_name", "args": {"name": name}}
    for thread in sorted({each.thread for each in (*process.calls, *process.compilations)}):
        yield _track(process.pid, thread, f"thread {thread}", thread)
    queues = {each.queue for each in process.launches} | {each.queue for each in process.copies}
    for queue in sorted(queues):
        yield _track(process.pid, QUEUES + queue, f"queue {queue}", queue - QUEUES)

    def event(track: int, what: str, kind: str, begin: int, end: int, **args: Any) -> Any:
        times = {"ts": (begin - start) / 1e3, "dur": (end - begin) / 1e3}
        place = {"ph": "X", "pid": process.pid, "tid": track}
        return place | {"name": what, "cat": kind} | times | {"args": args}

    for call in process.calls:
        yield event(call.thread, call.name, "call", call.start, call.end)
    for span in process.compilations:
        what = "compile code that counts" if span.is_counting else "compile"
        yield event(span.thread, what, "compile", span.start, span.end)
    for launch in process.launches:
        kernel = process.kernels.get(launch.kernel)
        yield event(
            QUEUES + launch.queue,
            kernel.name if kernel is not None else "kernel",
            "kernel",
            launch.start,
            launch.end,
            groups=launch.groups,
            group_size=kernel.group_size if kernel is not None else None,
            counted=bool(launch.counted_groups),
        )
    for copy in process.copies:
        what = "fill" if copy.is_fill else "copy"
        track = QUEUES + copy.queue
        yield event(track, what, "copy", copy.start, copy.end, bytes=copy.size)


def _track(pid: int, number: int, name: str, place: int) -> dict[str, Any]:
    return {
        "ph": "M",
        "pid": pid,
        "tid": number,
        "name": "thread_name",
        "args": {"name": name, "sort_index": place},
    }
