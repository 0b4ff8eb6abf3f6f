"""The host's side of a profile: calls, what was compiled, idle devices, and copies."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from groundstate.profiler.recorded import Copy, Launch, Recorded, Span

Interval = tuple[int, int]
LEAST_GAP_NS = 10_000
"""What is shorter is the time from one command to the next."""
LEAST_COPY_NS = 20_000
OWN = "the program itself"
COMPILING = "compiling kernels"
COUNTING = "compiling code that counts"
"""Which a program does without a profile would not do."""
WAITING = ("Synchronize", "FenceHostSynchronize", "EventHostSynchronize")


@dataclass
class Gap:
    """A time in which the device had nothing to do, between its first command and its last."""

    start: int
    end: int
    counting: int
    """For so long, code that counts was compiled: without a profile this would not be."""
    cause: str
    """What the host did for most of it."""

    @property
    def time(self) -> int:
        return max(0, self.end - self.start - self.counting)


@dataclass
class Host:
    """What one process did, in nanoseconds."""

    pid: int
    wall: int
    device: int
    """In which its devices had something to do."""
    first: int
    """Until the first command."""
    gaps: list[Gap]
    functions: dict[str, tuple[int, int, int]]
    compiling: int
    counting: int
    """The same for code that counts: without counters it would not be."""
    copies: list[Copy]
    alone: list[Copy]
    """Copies while no kernel ran, though the kernels before or after do not use their memory."""

    @property
    def calling(self) -> int:
        """In calls that wait for nothing."""
        return sum(
            time for name, (_, time, _) in self.functions.items() if not name.endswith(WAITING)
        )

    @property
    def waiting(self) -> int:
        """In calls that wait for the device."""
        return sum(time for name, (_, time, _) in self.functions.items() if name.endswith(WAITING))

    @property
    def idle(self) -> int:
        return sum(each.time for each in self.gaps)

    def causes(self) -> Counter[str]:
        """The time of all gaps, by what the host did."""
        found: Counter[str] = Counter()
        for each in self.gaps:
            found[each.cause] += each.time
        return found


def host_of(process: Recorded) -> Host:
    """Looks at one process."""
    work: list[Launch | Copy] = [*process.launches, *process.copies]
    busy = union([(each.start, each.end) for each in work])
    device = sum(end - start for start, end in busy)
    spans = [each for each in process.compilations if not each.is_counting]
    counting = [each for each in process.compilations if each.is_counting]
    return Host(
        pid=process.pid,
        wall=max(0, process.end - process.start),
        device=device,
        first=busy[0][0] - process.start if busy else 0,
        gaps=_gaps(busy, process),
        functions=_without_counting(process, counting),
        compiling=sum(each.end - each.start for each in spans),
        counting=sum(each.end - each.start for each in counting),
        copies=process.copies,
        alone=_alone(process),
    )


def _without_counting(process: Recorded, counting: list[Span]) -> dict[str, tuple[int, int, int]]:
    """The times of functions, less what was compiled within them to count."""
    found = dict(process.functions)
    for span in counting:
        for call in process.calls:
            is_within = call.start <= span.start and span.end <= call.end
            if is_within and call.thread == span.thread and call.name in found:
                number, time, longest = found[call.name]
                took = call.end - call.start
                longest = longest if took < longest else 0
                found[call.name] = number, max(0, time - (span.end - span.start)), longest
    for name, (number, time, longest) in found.items():
        if longest == 0:
            own = [each.end - each.start for each in process.calls if each.name == name]
            found[name] = number, time, min(time, sorted(own)[-2] if len(own) > 1 else time)
    return found


def union(intervals: Sequence[Interval]) -> list[Interval]:
    """The same times without overlaps, in order.

    >>> union([(5, 8), (1, 3), (2, 4)])
    [(1, 4), (5, 8)]
    """
    found: list[Interval] = []
    for start, end in sorted(intervals):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def _gaps(busy: list[Interval], process: Recorded) -> list[Gap]:
    spans = [
        Span(e.start, e.end, e.thread, COUNTING if e.is_counting else COMPILING)
        for e in process.compilations
    ]
    found = _Within(sorted([*spans, *process.calls], key=lambda each: each.start))
    gaps = [
        Gap(end, start, *found.cause(end, start))
        for (_, end), (start, _) in pairwise(busy)
        if start - end >= LEAST_GAP_NS
    ]
    return [each for each in gaps if each.time >= LEAST_GAP_NS]


class _Within:
    """What the host did in intervals, which come in order."""

    def __init__(self, spans: list[Span]) -> None:
        self._spans = spans
        self._next = 0
        self._open: list[Span] = []

    def cause(self, start: int, end: int) -> tuple[int, str]:
        """The time of code that counts, and what took half of the rest or more."""
        while self._next < len(self._spans) and self._spans[self._next].start < end:
            self._open.append(self._spans[self._next])
            self._next += 1
        self._open = [each for each in self._open if each.end > start]
        spent: Counter[str] = Counter()
        for each in self._open:
            part = min(each.end, end) - max(each.start, start)
            if part > 0:
                spent[each.name] += part
        counting = spent.pop(COUNTING, 0)
        rest = end - start - counting
        # A kernel is compiled within the call that launches it first.
        if spent[COMPILING] * 2 >= rest:
            return counting, COMPILING
        name, most = max(spent.items(), key=lambda each: each[1], default=(OWN, 0))
        return counting, name if (most - counting) * 2 >= rest else OWN


def _alone(process: Recorded) -> list[Copy]:
    """Copies that could have been made while the kernel before or after them ran."""
    kernels = union([(each.start, each.end) for each in process.launches])
    found = []
    for copy in process.copies:
        if copy.end - copy.start < LEAST_COPY_NS or _overlaps(kernels, copy):
            continue
        neighbours = _neighbours(process.launches, copy)
        if neighbours and any(not _uses(each, copy) for each in neighbours):
            found.append(copy)
    return found


def _overlaps(kernels: list[Interval], copy: Copy) -> bool:
    at = bisect_left(kernels, (copy.end, 0))
    return at > 0 and kernels[at - 1][1] > copy.start


def _neighbours(launches: list[Launch], copy: Copy) -> list[Launch]:
    """The launches before and after a copy: they are in the order of their starts."""
    at = bisect_left(launches, copy.start, key=lambda each: each.start)
    return launches[max(0, at - 1) : at] + launches[at : at + 1]


def _uses(launch: Launch, copy: Copy) -> bool:
    ranges = [(each, each + copy.size) for each in (copy.destination, copy.source) if each]
    return any(start <= each < end for each in launch.pointers for start, end in ranges)
