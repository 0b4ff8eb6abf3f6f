"""Counts and times of a stream's calls and kernels, and how much memory it uploads and stores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from groundstate.capture.describe import NamedCall, named_records
from groundstate.capture.stream import Kind, Record, StreamError, StreamReader, Writes, unpack_times
from groundstate.capture.stream.formats import DIGEST_SIZE, Form
from groundstate.capture.views.device_times import Durations, settle
from groundstate.capture.views.device_work import DeviceWork
from groundstate.capture.views.kernel_tally import CommandTally, tally_commands
from groundstate.capture.views.spread import Spread
from groundstate.capture.views.summary import has_failed


@dataclass
class FunctionTally:
    """The calls of one function; times are nanoseconds that the caller waited."""

    name: str
    failed: int = 0
    time: Spread = field(default_factory=Spread)

    def data(self) -> dict[str, Any]:
        """The figures, for JSON."""
        return {"function": self.name, "failed": self.failed, "time_ns": self.time.data()}


@dataclass
class MemoryTally:
    """What the host gave to the device, and what of it had to be stored."""

    writes: int = 0
    written: int = 0
    in_blocks: int = 0
    contents: int = 0
    stored: int = 0

    def add(self, record: Record) -> None:
        """Counts a record of memory or of a content."""
        if record.kind == Kind.CONTENT:
            self.contents += 1
            self.stored += max(0, len(record.body) - DIGEST_SIZE)
        elif record.kind == Kind.WRITES:
            writes = Writes.unpack(record.body)
            self.writes += 1
            self.written += sum(run.size for run in writes.runs)

    @property
    def named(self) -> int:
        """All bytes that records name by their contents."""
        return self.written + self.in_blocks

    @property
    def ratio(self) -> float | None:
        """How many times the stored bytes are used; None when nothing is stored."""
        return self.named / self.stored if self.stored else None

    def data(self) -> dict[str, Any]:
        """The figures, for JSON."""
        return {
            "writes": self.writes,
            "written_bytes": self.written,
            "argument_bytes": self.in_blocks,
            "contents": self.contents,
            "stored_bytes": self.stored,
            "deduplication": self.ratio,
        }


@dataclass
class Tally:
    """The statistics of one stream."""

    functions: dict[str, FunctionTally] = field(default_factory=dict)
    memory: MemoryTally = field(default_factory=MemoryTally)
    commands: list[CommandTally] = field(default_factory=list)
    duration: int = 0
    problem: str | None = None

    @property
    def calls(self) -> int:
        """How many calls there are."""
        return sum(function.time.count for function in self.functions.values())

    @property
    def inside(self) -> int:
        """How long the threads were inside of calls, all together, in nanoseconds."""
        return sum(function.time.total for function in self.functions.values())

    def add_call(self, call: NamedCall) -> None:
        """Counts a call and the memory that it names."""
        function = self.functions.setdefault(call.name, FunctionTally(call.name))
        function.time.add(call.call.duration)
        function.failed += has_failed(call)
        self.duration = max(self.duration, call.call.time + call.call.duration)
        for block in call.call.blocks:
            if block.form == Form.DIGESTS:
                self.memory.in_blocks += block.size

    def data(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "calls": self.calls,
            "duration_ns": self.duration,
            "inside_ns": self.inside,
            "functions": [each.data() for each in self.functions.values()],
            "kernels": [each.data() for each in self.commands if each.category == "kernel"],
            "commands": [each.data() for each in self.commands if each.category != "kernel"],
            "memory": self.memory.data(),
            "problem": self.problem,
        }


def tally(reader: StreamReader, durations: Durations | None = None) -> Tally:
    """Goes through a stream to its end, or to where it is damaged, which `problem` then tells.

    `durations` has what a play measured, for commands whose times were not recorded.
    """
    found = Tally()
    work = DeviceWork()
    try:
        for record, call in named_records(reader):
            if call is not None:
                found.add_call(call)
                work.see(call)
            elif record.kind == Kind.TIMES:
                work.measure(unpack_times(record.body))
            else:
                found.memory.add(record)
    except StreamError as problem:
        found.problem = str(problem)
    if reader.damage is not None:
        found.problem = f"damaged {reader.damage}"
    settle(work, found.duration, durations)
    found.commands = tally_commands(work)
    return found
