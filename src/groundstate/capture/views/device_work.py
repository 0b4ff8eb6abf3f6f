"""What queues were given, in the order in which they got it, and what is known of when it ran.

A submission begins no earlier than its call and has ended when somebody saw that: a wait for its
queue, list, fence or last event. Commands have been measured by the device where the recorder, or
the program itself, asked for their kernel timestamps.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from groundstate import ze
from groundstate.capture.describe import NamedCall
from groundstate.capture.stream import CommandTime
from groundstate.capture.stream.formats import Phase
from groundstate.capture.structure import Command, Submission, Submissions
from groundstate.capture.structure.kernels import argument, listed, structure
from groundstate.capture.views.runs import flat
from groundstate.capture.views.summary import values_of

WORK_LIMIT = 1_000_000
"""So many commands are kept; a list that is executed often counts each time."""

_APPEND = re.compile(r"ze\w*CommandListAppend(\w+)")
_EVENT_SEEN = ("zeEventHostSynchronize", "zeEventQueryStatus", "zeEventQueryKernelTimestamp")
_FENCE_SEEN = ("zeFenceHostSynchronize", "zeFenceQueryStatus")


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append call asked for."""

    name: str
    category: str
    note: str
    event: int
    size: int = 0  # bytes that it copies or fills, if it says so


@dataclass(slots=True)
class Ran:
    """One run of a command.

    `ticks` are its device timestamps, if the program asked for them, and `device_ns` the same from
    the recorder, in nanoseconds.
    """

    command: Command
    place: str  # such as "3/1/5": submission, list, kernel
    what: Appended
    submitted: int
    start: int = 0
    end: int = 0
    ticks: tuple[int, int] | None = None
    device_ns: tuple[int, int] | None = None
    measured: str = ""  # how the times are known; empty if they are estimated
    played: int | None = None  # what it took in a play, which may not fit between start and end

    @property
    def took(self) -> int:
        """How long it ran, in nanoseconds."""
        return max(0, self.end - self.start) if self.played is None else self.played


@dataclass
class Submitted:
    """A submission under way or done."""

    submission: Submission
    begin: int
    commands: list[Ran] = field(default_factory=list)
    completed: int | None = None


@dataclass
class Queue:
    """A command queue or an immediate list; `number` counts those of its kind that got work."""

    kind: str
    handle: int
    device: int = 0
    synchronous: bool = False
    submitted: list[Submitted] = field(default_factory=list)
    number: int = 0
    waiting: int = 0  # the place of the first submission that nobody has seen completed

    @property
    def name(self) -> str:
        """What a picture calls it."""
        return f"{self.kind} {self.number}"

    def complete(self, time: int, upto: Submitted | None = None) -> None:
        """Somebody saw at `time` that all work, or that up to a submission, had ended."""
        while self.waiting < len(self.submitted):
            each = self.submitted[self.waiting]
            each.completed = time
            self.waiting += 1
            if each is upto:
                return


class DeviceWork:
    """Follows the calls of a stream."""

    def __init__(self) -> None:
        self.queues: list[Queue] = []
        self.left_out = 0
        self.structure = Submissions()
        self.times: dict[tuple[int, int], tuple[int, int]] = {}  # by submission and append
        self.timers: dict[int, tuple[float, int]] = {}  # by device: ns of a tick, valid bits
        self._live: dict[int, Queue] = {}
        self._appended: dict[int, Appended] = {}
        self._fences: dict[int, tuple[Queue, Submitted]] = {}
        self._events: dict[int, tuple[Queue, Submitted, Ran]] = {}
        self._kept = 0

    def see(self, call: NamedCall) -> None:
        """Takes in the next call."""
        if call.call.result != ze.ZE_RESULT_SUCCESS or call.returns != "ze_result_t":
            return
        known = len(self.structure.submissions)
        launches = len(self.structure.launches)
        self.structure.see(call)
        if (append := _APPEND.fullmatch(call.name)) is not None:
            kernels = [launch.kernel for launch in self.structure.launches[launches:]]
            self._appended[call.number] = _appended(call, append[1], kernels)
        for submission in self.structure.submissions[known:]:
            self._submit(call, submission)
        self._note_objects(call)
        self._note_completion(call)

    def measure(self, times: list[CommandTime]) -> None:
        """Takes in what the recorder measured."""
        for each in times[: max(0, WORK_LIMIT - len(self.times))]:
            self.times[each.submission, each.append] = each.start, each.end

    def _note_objects(self, call: NamedCall) -> None:
        if call.name in ("zeCommandQueueCreate", "zeCommandListCreateImmediate"):
            self._make_queue(call)
        elif call.name in ("zeCommandQueueDestroy", "zeCommandListDestroy") and call.call.arguments:
            self._live.pop(call.call.arguments[0], None)
        elif call.name == "zeDeviceGetProperties":
            for found in values_of(call, "pDeviceProperties", Phase.AFTER):
                self.timers[argument(call, "hDevice")] = _timer(found)

    def _make_queue(self, call: NamedCall) -> None:
        immediate = call.name == "zeCommandListCreateImmediate"
        described = structure(call, "altdesc" if immediate else "desc")
        mode = getattr(described, "mode", 0)
        kind = "immediate list" if immediate else "queue"
        for handle in listed(call, "phCommandList" if immediate else "phCommandQueue", Phase.AFTER):
            self._live[handle] = Queue(
                kind,
                handle,
                argument(call, "hDevice"),
                mode == ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS,
            )

    def _submit(self, call: NamedCall, submission: Submission) -> None:
        queue = self._live.setdefault(submission.target, Queue("queue", submission.target))
        if not queue.submitted:
            queue.number = 1 + sum(each.kind == queue.kind for each in self.queues)
            self.queues.append(queue)
        mine = Submitted(submission, call.call.time)
        self._add_commands(queue, mine)
        queue.submitted.append(mine)
        if fence := argument(call, "hFence"):
            self._fences[fence] = (queue, mine)
        if queue.synchronous:
            queue.complete(call.call.time + call.call.duration)

    def _add_commands(self, queue: Queue, mine: Submitted) -> None:
        for batch in mine.submission.batches:
            prefix = f"{mine.submission.number}/{batch.list.number}"
            room = WORK_LIMIT - self._kept
            commands = islice(flat(batch.commands), room + 1)
            for taken, command in enumerate(commands):
                if taken == room:
                    self.left_out += 1
                    return
                number = f"/{command.launches[0].number}" if command.launches else ""
                what = self._appended.get(command.call, Appended(command.function, "sync", "", 0))
                ran = Ran(command, prefix + number, what, mine.begin)
                mine.commands.append(ran)
                self._kept += 1
                if what.event:
                    self._events[what.event] = (queue, mine, ran)

    def _note_completion(self, call: NamedCall) -> None:
        time = call.call.time + call.call.duration
        if call.name in ("zeCommandQueueSynchronize", "zeCommandListHostSynchronize"):
            queue = self._live.get(call.call.arguments[0]) if call.call.arguments else None
            if queue is not None:
                queue.complete(time)
        elif call.name in _FENCE_SEEN and (seen := self._fences.get(argument(call, "hFence"))):
            _complete(seen[0], seen[1], time)
        elif call.name in _EVENT_SEEN:
            self._note_event(call, time)

    def _note_event(self, call: NamedCall, time: int) -> None:
        seen = self._events.get(argument(call, "hEvent"))
        if seen is None:
            return
        queue, submitted, ran = seen
        if submitted.commands[-1] is ran:
            _complete(queue, submitted, time)
        if call.name == "zeEventQueryKernelTimestamp":
            for found in values_of(call, "dstptr", Phase.AFTER):
                ticks = found.global_
                ran.ticks = (ticks.kernelStart, ticks.kernelEnd)


def _complete(queue: Queue, submitted: Submitted, time: int) -> None:
    if submitted.completed is None:
        queue.complete(time, submitted)


def _timer(found: Any) -> tuple[float, int]:
    """Nanoseconds of a tick and valid bits, from a device's properties."""
    resolution = found.timerResolution
    old = found.stype == ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES
    ticks = float(resolution) if old else 1e9 / max(1, resolution)
    return ticks, min(64, found.kernelTimestampValidBits or 64)


def _appended(call: NamedCall, kind: str, kernels: list[str]) -> Appended:
    event = argument(call, "hSignalEvent") or (argument(call, "hEvent") if "Signal" in kind else 0)
    if kernels:
        return Appended(" + ".join(kernels[:4]) or "kernel", "kernel", _launch_note(call), event)
    if "Copy" in kind:
        return Appended(_words(kind), "copy", _copy_note(call), event, argument(call, "size"))
    if "Fill" in kind:
        return Appended(_words(kind), "fill", _copy_note(call), event, argument(call, "size"))
    return Appended(_words(kind), "sync", "", event)


def _words(kind: str) -> str:
    """MemoryCopyRegion becomes "memory copy region"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", kind).lower()


def _launch_note(call: NamedCall) -> str:
    for parameter in ("pLaunchFuncArgs", "pGroupCounts", "groupCounts"):
        found = structure(call, parameter)
        if found is not None:
            return f"groups {found.groupCountX} x {found.groupCountY} x {found.groupCountZ}"
    return ""


def _copy_note(call: NamedCall) -> str:
    size = argument(call, "size")
    to = argument(call, "dstptr") or argument(call, "hDstImage") or argument(call, "ptr")
    source = argument(call, "srcptr") or argument(call, "hSrcImage")
    text = f"{size:,} bytes " if size else ""
    return f"{text}to {to:#x}" + (f" from {source:#x}" if source else "")
