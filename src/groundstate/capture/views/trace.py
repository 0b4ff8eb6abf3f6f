"""Timelines as trace files in the JSON format that Chrome's and Perfetto's viewers open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

from groundstate.capture.views.spans import Span, Timeline, Track


def write_trace(found: Timeline, file: TextIO) -> None:
    """Writes one event in each line, each made when it is written."""
    about = {"title": found.title, "start_ns": str(found.start), "notes": found.notes}
    file.write('{"displayTimeUnit": "ns", "otherData": ')
    json.dump(about, file)
    file.write(', "traceEvents": [')
    for place, event in enumerate(_events(found)):
        file.write(",\n" if place else "\n")
        json.dump(event, file)
    file.write("\n]}\n")


def _events(found: Timeline) -> Iterator[dict[str, Any]]:
    for order, process in enumerate(found.processes):
        yield _naming("process_name", process.number, 0, name=process.name)
        yield _naming("process_sort_index", process.number, 0, sort_index=order)
    number = 0
    for track in found.tracks:
        for row, spans in enumerate(track.lanes()):
            number += 1
            name = track.name if row == 0 else f"{track.name} ({row + 1})"
            yield _naming("thread_name", track.process, number, name=name)
            yield _naming("thread_sort_index", track.process, number, sort_index=number)
            yield from (_event(track, number, span) for span in spans)


def _naming(kind: str, process: int, thread: int, **facts: Any) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": facts}


def _event(track: Track, number: int, span: Span) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": span.name,
        "cat": f"{span.category},estimated" if span.estimated else span.category,
        "pid": track.process,
        "tid": number,
        "ts": span.start / 1000,
        "dur": (span.end - span.start) / 1000,
        "args": {"note": span.note} if span.note else {},
    }
