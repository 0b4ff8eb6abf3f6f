"""Samples, and the figures made of them: ours beside a peer's, with the ratio between the two."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

NANOSECONDS_PER = {"ns": 1.0, "µs": 1e3, "ms": 1e6}


class Samples:
    """Measured times in nanoseconds by name, collected over several rounds."""

    def __init__(self) -> None:
        self._times: dict[str, list[float]] = {}

    def add(self, measured: dict[str, list[float]], prefix: str = "") -> None:
        """Takes in what one run of a program measured."""
        for name, times in measured.items():
            self._times.setdefault(prefix + name, []).extend(times)

    def times(self, name: str) -> list[float]:
        """Every time measured under a name; none if it was never measured."""
        return self._times.get(name, [])

    def fastest(self, names: Iterable[str]) -> str:
        """The name with the best time: of several ways in which a peer can do it, its best."""
        measured = [name for name in names if self.times(name)]
        return min(measured, key=lambda name: min(self.times(name)))


@dataclass(frozen=True)
class Measure:
    """What many samples come to, in the unit of the figure."""

    best: float
    median: float

    @classmethod
    def of_times(cls, times: list[float], unit: str) -> Measure:
        """Time for one operation."""
        scale = NANOSECONDS_PER[unit]
        return cls(min(times) / scale, statistics.median(times) / scale)

    @classmethod
    def of_bandwidth(cls, times: list[float], size: int) -> Measure:
        """GB/s when each sample is the time for `size` bytes."""
        return cls(size / min(times), size / statistics.median(times))


@dataclass(frozen=True)
class Figure:
    """One row: what was measured, ours, the peer's, and how they compare.

    A figure without `theirs` has no peer on this machine; `note` says how to install it.
    """

    case: str
    unit: str
    ours: Measure
    peer: str
    theirs: Measure | None = None
    goal: float | None = None
    note: str = ""

    def ratio(self, pick: Callable[[Measure], float]) -> float | None:
        """How many times as fast as the peer: above 1 is ahead of it, whatever the unit."""
        if self.theirs is None:
            return None
        ours, theirs = pick(self.ours), pick(self.theirs)
        return ours / theirs if self.unit == "GB/s" else theirs / ours

    @property
    def best_ratio(self) -> float | None:
        """The ratio of the best samples, which other programs on the machine disturb the least."""
        return self.ratio(lambda measure: measure.best)

    @property
    def median_ratio(self) -> float | None:
        """The ratio of the middle samples."""
        return self.ratio(lambda measure: measure.median)

    @property
    def reached(self) -> bool | None:
        """True if the goal is reached; None if there is no goal or no peer."""
        ratio = self.best_ratio
        return None if self.goal is None or ratio is None else ratio >= self.goal


@dataclass(frozen=True)
class Step:
    """One run of one program. The steps of a plan alternate between ours and the peers."""

    label: str
    run: Callable[[], None]


@dataclass(frozen=True)
class Plan:
    """What a benchmark will do, and how to turn what it measured into figures."""

    steps: list[Step]
    figures: Callable[[], list[Figure]]
    notes: list[str] = field(default_factory=list)
    """What is not measured on this machine, and how to change that."""


@dataclass(frozen=True)
class Benchmark:
    """A question with an answer in figures."""

    name: str
    title: str
    explanation: str
    plan: Callable[[bool], Plan] = field(repr=False)
    """Takes whether to be quick: fewer rounds, for a first look."""


def size_name(size: int) -> str:
    """65536 as `64 KiB`."""
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift:
            return f"{size >> shift} {unit}"
    return f"{size} B"
