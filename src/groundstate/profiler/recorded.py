"""Profiles as processes write them (native/profile/): a file of records, read as it is.

A file may end in the middle of a record, or be that of a process that still runs. What cannot be
made sense of is left out.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groundstate.native_layouts import (
    BLOCK_COUNTERS,
    PROFILE_KINDS,
    PROFILE_MAGIC,
    ProfileCopy,
    ProfileCounts,
    ProfileFunction,
    ProfileHead,
    ProfileKernel,
    ProfileLaunch,
    ProfileRecord,
    ProfileSample,
    ProfileSpan,
)

Size = tuple[int, int, int]
Place = tuple[str, int, int, str]
"""File, line, column and function."""
COUNTER_BYTES = 8 * BLOCK_COUNTERS


class NotAProfileError(ValueError):
    """A file that no driver has written."""


@dataclass
class Launch:
    """A launch that has ended. Times are nanoseconds."""

    kernel: int
    start: int
    end: int
    busy: int
    """Of all threads together; 0: it is not known, because one thread did it."""
    plain: int
    plain_groups: int
    counted_groups: int
    groups: Size
    workers: int
    footprint: int
    """Bytes of the allocations that its arguments point to, if it was counted."""
    pointers: tuple[int, ...]
    thread: int
    queue: int

    @property
    def group_count(self) -> int:
        return self.groups[0] * self.groups[1] * self.groups[2]


@dataclass
class Copy:
    """A copy, or a fill, which has no source."""

    start: int
    end: int
    size: int
    destination: int
    source: int
    is_fill: bool
    thread: int
    queue: int


@dataclass
class Span:
    """A call, or a compilation, whose name is empty."""

    start: int
    end: int
    thread: int
    name: str = ""
    is_counting: bool = False


@dataclass
class Counts:
    """What groups of a launch counted: runs, work-items and divergent branches of each block."""

    kernel: int
    groups: int
    all_groups: int
    lanes: int
    blocks: list[tuple[int, int, int]]
    table: dict[str, Any] | None
    """What the blocks do: driver/profiling.py."""


@dataclass
class Sample:
    """Where a thread was in a kernel."""

    kernel: int
    time: int
    thread: int
    location: int
    lines: dict[str, Any] | None


@dataclass
class Kernel:
    """A kernel with a group size."""

    name: str
    group_size: Size
    entry_point: int


@dataclass
class Recorded:
    """All that one process has told."""

    pid: int
    start: int
    end: int
    workers: int
    dropped: int
    period: int
    kernels: dict[int, Kernel] = field(default_factory=dict)
    launches: list[Launch] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    calls: list[Span] = field(default_factory=list)
    compilations: list[Span] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    counts: list[Counts] = field(default_factory=list)
    functions: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """By name: the number of calls, their nanoseconds, and the longest one's."""


def read_folder(folder: Path) -> list[Recorded]:
    """The profiles of all processes that wrote one into a folder, the oldest first."""
    found = []
    for path in folder.glob("*.profile"):
        try:
            found.append(read(path))
        except (NotAProfileError, OSError):
            continue
    return sorted(found, key=lambda each: each.start)


def read(path: Path) -> Recorded:
    """The profile in a file."""
    data = path.read_bytes()
    if len(data) < ctypes.sizeof(ProfileHead):
        raise NotAProfileError(f"{path} is no profile: it has {len(data)} bytes")
    head = ProfileHead.from_buffer_copy(data)
    if head.magic != PROFILE_MAGIC:
        raise NotAProfileError(f"{path} is no profile")
    made = Recorded(head.pid, head.start, head.end, head.workers, head.dropped, head.period)
    _Reader(made, data, head).read()
    return made


class _Reader:
    """Takes one record after the other."""

    def __init__(self, into: Recorded, data: bytes, head: ProfileHead) -> None:
        self._into = into
        self._data = data
        self._head = head
        self._names: dict[int, str] = {}
        self._lines: dict[int, dict[str, Any]] = {}
        self._tables: dict[tuple[int, Size], dict[str, Any]] = {}
        self._last = head.start

    def read(self) -> None:
        takes = {
            "function": self._function,
            "kernel": self._kernel,
            "launch": self._launch,
            "copy": self._copy,
            "fill": self._fill,
            "call": self._call,
            "compile": self._compile,
            "sample": self._sample,
            "counts": self._counts,
            "text": self._text,
        }
        for record, body in self._records():
            kind = PROFILE_KINDS[record.kind] if record.kind < len(PROFILE_KINDS) else ""
            if kind in takes:
                try:
                    takes[kind](record, body)
                except (ValueError, KeyError, TypeError):
                    continue
        self._take_functions()
        made = self._into
        made.end = max(made.end, self._last)
        for spans in (made.calls, made.compilations):
            spans.sort(key=lambda each: each.start)
        made.launches.sort(key=lambda each: each.start)
        made.copies.sort(key=lambda each: each.start)

    def _records(self) -> Iterator[tuple[ProfileRecord, bytes]]:
        at, head_bytes = self._head.first, ctypes.sizeof(ProfileRecord)
        end = min(self._head.used, len(self._data))
        while at + head_bytes <= end:
            record = ProfileRecord.from_buffer_copy(self._data, at)
            if record.size < head_bytes or at + record.size > end:
                return  # it was not completed, so that nobody knows where the next one begins
            yield record, self._data[at + head_bytes : at + record.size]
            at += record.size

    def _take_functions(self) -> None:
        at, size = ctypes.sizeof(ProfileHead), ctypes.sizeof(ProfileFunction)
        for number, name in self._names.items():
            if number < self._head.functions:
                of = ProfileFunction.from_buffer_copy(self._data, at + number * size)
                self._into.functions[name] = (of.calls, of.nanoseconds, of.longest)

    def _function(self, record: ProfileRecord, body: bytes) -> None:
        self._names[record.number] = body.split(b"\0")[0].decode()

    def _kernel(self, record: ProfileRecord, body: bytes) -> None:
        of = ProfileKernel.from_buffer_copy(body)
        start = ctypes.sizeof(ProfileKernel)
        name = body[start : start + of.name_bytes].decode("utf-8", "replace")
        self._into.kernels[of.kernel] = Kernel(name, _size(of.group_size), of.entry_point)

    def _launch(self, record: ProfileRecord, body: bytes) -> None:
        of = ProfileLaunch.from_buffer_copy(body)
        self._into.launches.append(
            Launch(
                of.kernel,
                of.start,
                of.end,
                of.busy,
                of.plain,
                of.plain_groups,
                of.counted_groups,
                _size(of.groups),
                of.workers,
                of.footprint,
                tuple(each for each in of.pointers if each),
                record.thread,
                record.number,
            )
        )
        self._last = max(self._last, of.end)

    def _copy(self, record: ProfileRecord, body: bytes, is_fill: bool = False) -> None:
        of = ProfileCopy.from_buffer_copy(body)
        ends = (of.start, of.end, of.bytes, of.destination, of.source)
        self._into.copies.append(Copy(*ends, is_fill, record.thread, record.number))
        self._last = max(self._last, of.end)

    def _fill(self, record: ProfileRecord, body: bytes) -> None:
        self._copy(record, body, is_fill=True)

    def _call(self, record: ProfileRecord, body: bytes) -> None:
        of = ProfileSpan.from_buffer_copy(body)
        name = self._names[record.number]
        self._into.calls.append(Span(of.start, of.end, record.thread, name))
        self._last = max(self._last, of.end)

    def _compile(self, record: ProfileRecord, body: bytes) -> None:
        of = ProfileSpan.from_buffer_copy(body)
        span = Span(of.start, of.end, record.thread, is_counting=bool(of.subject))
        self._into.compilations.append(span)

    def _sample(self, record: ProfileRecord, body: bytes) -> None:
        of = ProfileSample.from_buffer_copy(body)
        lines = self._lines.get(of.run)
        self._into.samples.append(Sample(of.kernel, of.time, record.thread, record.number, lines))

    def _counts(self, record: ProfileRecord, body: bytes) -> None:
        of = ProfileCounts.from_buffer_copy(body)
        start = ctypes.sizeof(ProfileCounts)
        if len(body) < start + of.blocks * COUNTER_BYTES:
            return
        words = (ctypes.c_uint64 * (of.blocks * BLOCK_COUNTERS)).from_buffer_copy(body, start)
        blocks = list(zip(*(words[each::BLOCK_COUNTERS] for each in range(3)), strict=True))
        kernel = self._into.kernels[of.kernel]
        table = self._tables.get((kernel.entry_point, kernel.group_size))
        counted = Counts(of.kernel, of.groups, of.all_groups, of.lanes, blocks, table)
        self._into.counts.append(counted)

    def _text(self, record: ProfileRecord, body: bytes) -> None:
        values = json.loads(body.rstrip(b"\0"))
        if values["kind"] == "lines":
            self._lines[values["run"]] = values
        elif values["kind"] == "counting":
            self._tables[values["entry_point"], _size(values["size"])] = values


def _size(words: Any) -> Size:
    x, y, z = words
    return int(x), int(y), int(z)
