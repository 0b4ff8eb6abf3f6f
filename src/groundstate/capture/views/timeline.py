"""Makes the timeline of a recording: calls by thread, submissions and commands by queue."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from groundstate.capture.describe import NamedCall, named_records
from groundstate.capture.stream import Kind, StreamError, StreamReader, unpack_times
from groundstate.capture.views.device_times import Durations, settle, whole
from groundstate.capture.views.device_work import DeviceWork, Queue
from groundstate.capture.views.spans import Process, Span, Timeline, Track
from groundstate.capture.views.summary import has_failed
from groundstate.printable import printable, printable_lines

CALL_LIMIT = 1_000_000
"""So many calls of a stream are shown."""
DESCRIBED_CALLS = 20_000
"""Of so many calls the arguments are written out; a larger picture would be slow to open."""
DESCRIPTION_LIMIT = 400
PROGRESS_STEP = 4096

Moves = Callable[[int], None]
Bar = Callable[[str, int], AbstractContextManager[Moves | None]]
"""Makes a bar of a title and a total, which records that were read move on."""


def no_bar(title: str, total: int) -> AbstractContextManager[None]:
    """Where nobody looks."""
    return nullcontext()


_WAIT = re.compile(r"ze\w*Synchronize")
_SUBMIT = re.compile(r"zeCommandQueueExecuteCommandLists|zeCommandListImmediateAppend\w+")


def timeline_of(
    streams: list[Path],
    title: str,
    *,
    limit: int = CALL_LIMIT,
    durations: dict[Path, Durations] | None = None,
    bar: Bar = no_bar,
) -> Timeline:
    """Reads the streams of a recording; `durations` has what a play of a stream measured."""
    found = Timeline(printable(title))
    readers: list[StreamReader] = []
    try:
        for path in streams:
            try:
                readers.append(StreamReader(path))
            except (StreamError, OSError) as problem:
                found.problems.append(f"{path}: {_reason(problem)}")
        found.start = min((reader.header.start for reader in readers), default=0)
        for reader in readers:
            with bar(reader.path.name, len(reader)) as moves:
                builder = _Builder(found, reader, moves)
                builder.build(limit, (durations or {}).get(reader.path, {}))
    finally:
        for reader in readers:
            reader.close()
    return found


class _Builder:
    """Adds one stream to a timeline."""

    def __init__(self, found: Timeline, reader: StreamReader, moves: Moves | None) -> None:
        self._found = found
        self._reader = reader
        self._moves = moves
        self._calls = 0
        self._process = Process(reader.header.process, printable(reader.path.name))
        self._offset = reader.header.start - found.start
        self._threads: dict[int, Track] = {}
        self._work = DeviceWork()
        self._end = 0

    def build(self, limit: int, durations: Durations) -> None:
        """Reads the stream; where it is damaged, what came before stays."""
        name = self._process.name
        self._found.processes.append(self._process)
        try:
            if not self._read(limit):
                self._found.notes.append(f"{name}: only the first {limit:,} calls are shown")
        except StreamError as problem:
            self._found.problems.append(f"{self._reader.path}: {problem}")
        if self._moves is not None:
            self._moves(len(self._reader))
        if self._reader.damage is not None:
            self._found.problems.append(f"{self._reader.path}: damaged {self._reader.damage}")
        settle(self._work, self._end, durations)
        self._found.tracks += [self._threads[number] for number in sorted(self._threads)]
        for queue in self._work.queues:
            self._add_queue(queue)
        if self._work.left_out:
            self._found.notes.append(f"{name}: not all commands of its queues are shown")

    def _read(self, limit: int) -> bool:
        """Takes in all records; False if there are more calls than the limit."""
        for record, call in named_records(self._reader):
            if record.kind == Kind.TIMES:
                self._work.measure(unpack_times(record.body))
            if self._moves is not None and record.number % PROGRESS_STEP == 0:
                self._moves(record.number)
            if call is None:
                continue
            if self._calls == limit:
                return False
            self._add_call(call, described=self._calls < DESCRIBED_CALLS)
            self._work.see(call)
            self._calls += 1
        return True

    def _add_call(self, call: NamedCall, *, described: bool) -> None:
        begin, end = call.call.time, call.call.time + call.call.duration
        self._end = max(self._end, end)
        note = f"record {call.number}"
        if described:
            text = str(call).partition("(")[2]
            note += f"\n({text[:DESCRIPTION_LIMIT]}{'...' * (len(text) > DESCRIPTION_LIMIT)}"
        elif has_failed(call):
            note += f"\n= {call.result}"
        number = call.call.thread
        if number not in self._threads:
            self._threads[number] = Track(self._process.number, f"thread {number}", "thread")
        self._threads[number].spans.append(
            self._span(begin, end, call.name, _category(call), note, estimated=False)
        )

    def _add_queue(self, queue: Queue) -> None:
        commands = Track(self._process.number, queue.name, "queue")
        submissions = Track(self._process.number, f"{queue.name}, submissions", "queue")
        for submitted in queue.submitted:
            number = submitted.submission.number
            if submitted.submission.function.startswith("zeCommandQueue"):
                begin, end = whole(submitted, self._end)
                count = len(submitted.commands)
                note = f"queue {queue.handle:#x}, record {submitted.submission.call}\n"
                note += f"{count} command{'s' * (count != 1)}"
                submissions.spans.append(
                    self._span(begin, end, f"submission {number}", "submission", note, True)
                )
            for ran in submitted.commands:
                what = ran.what
                note = f"{what.note}\n{ran.place}, record {ran.command.call}".strip()
                note += f"\n{ran.measured or 'estimated'}"
                commands.spans.append(
                    self._span(ran.start, ran.end, what.name, what.category, note, not ran.measured)
                )
        self._found.tracks += [track for track in (submissions, commands) if track.spans]

    def _span(
        self, start: int, end: int, name: str, category: str, note: str, estimated: bool
    ) -> Span:
        begin, end = start + self._offset, end + self._offset
        return Span(begin, end, printable(name), category, printable_lines(note), estimated)


def _reason(problem: StreamError | OSError) -> str:
    return str(getattr(problem, "strerror", None) or problem)


def _category(call: NamedCall) -> str:
    if has_failed(call):
        return "failed"
    if _WAIT.fullmatch(call.name):
        return "wait"
    return "submit" if _SUBMIT.fullmatch(call.name) else "call"
