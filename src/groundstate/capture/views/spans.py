"""The parts of a timeline: spans of time in tracks, on one axis.

Times are nanoseconds since the first stream of the recording began.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

CATEGORIES = ("call", "wait", "submit", "failed", "submission", "kernel", "copy", "fill", "sync")
"""What a span may be; the first four are calls of threads, the others what queues do."""
LANE_LIMIT = 64
"""More rows than that nobody looks at: spans then cover each other."""


@dataclass(frozen=True, slots=True)
class Span:
    """Something that took time; `estimated` when nobody measured it."""

    start: int
    end: int
    name: str
    category: str
    note: str = ""
    estimated: bool = False


@dataclass
class Track:
    """Spans of one thread, or of one queue."""

    process: int
    name: str
    kind: str  # "thread", "queue"
    spans: list[Span] = field(default_factory=list)

    def lanes(self) -> list[list[Span]]:
        """The spans in rows in which none covers another, as few as that takes."""
        rows: list[list[Span]] = []
        free: list[tuple[int, int]] = []  # where each row ends, and its place
        for span in sorted(self.spans, key=lambda each: (each.start, each.end)):
            if free and (free[0][0] <= span.start or len(rows) == LANE_LIMIT):
                end, place = free[0]
                rows[place].append(span)
                heapq.heapreplace(free, (max(end, span.end), place))
            else:
                heapq.heappush(free, (span.end, len(rows)))
                rows.append([span])
        return rows


@dataclass(frozen=True)
class Process:
    """A process of the recorded program."""

    number: int
    name: str


@dataclass
class Timeline:
    """A recording as a picture shows it; `problems` are what was wrong with its streams."""

    title: str
    start: int = 0  # nanoseconds since 1970
    processes: list[Process] = field(default_factory=list)
    tracks: list[Track] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many spans there are."""
        return sum(len(track.spans) for track in self.tracks)

    @property
    def duration(self) -> int:
        """When the last span ends."""
        return max((span.end for track in self.tracks for span in track.spans), default=0)
