"""Samples, and the figures made of them: ours beside a peer's, with the ratio between the two."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

NANOSECONDS_PER = {"ns": 1.0, "µs": 1e3, "ms": 1e6}
OURS = "Groundstate"
LIMIT = "limit"
"""What stands in the place of a peer when a figure is compared with what the machine can do."""


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
    worst: float | None = None

    @classmethod
    def of_times(cls, times: list[float], unit: str) -> Measure:
        """Time for one operation."""
        scale = NANOSECONDS_PER[unit]
        return cls(min(times) / scale, statistics.median(times) / scale, max(times) / scale)

    @classmethod
    def of_rate(cls, times: list[float], work: float) -> Measure:
        """Work per nanosecond: GB/s when each sample is the time for `work` bytes."""
        return cls(work / min(times), work / statistics.median(times), work / max(times))


@dataclass(frozen=True)
class Figure:
    """One row: what was measured, ours, the peer's, and how they compare.

    A figure without `theirs` has no peer on this machine, or one that fails; `note` says why. One
    without `ours` is a failure of our own.
    """

    case: str
    unit: str
    ours: Measure | None
    peer: str
    theirs: Measure | None = None
    goal: float | None = None
    note: str = ""

    def ratio(self, pick: Callable[[Measure], float]) -> float | None:
        """How many times as fast as the peer: above 1 is ahead of it, whatever the unit."""
        if self.ours is None or self.theirs is None:
            return None
        ours, theirs = pick(self.ours), pick(self.theirs)
        return ours / theirs if self.unit.endswith("/s") else theirs / ours

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
class Options:
    """What the command line asks of a benchmark."""

    quick: bool = False
    """Fewer rounds, for a first look."""
    rounds: int | None = None
    """How many times all take their turn, if the benchmark lets one choose."""
    cases: tuple[str, ...] = ()
    """Only these, by name or by what is before a dash in it; all if there are none."""
    peers: bool = True
    """False: only ours, which is quicker."""
    max_isa: str = ""
    """The newest instruction set that our kernels may use; if it is empty, all of the machine's."""

    def choose(self, known: Mapping[str, T]) -> list[T]:
        """The cases to measure; ValueError if there is no such case."""
        chosen: dict[str, T] = {}
        for name in self.cases or known:
            found = [name] if name in known else [each for each in known if _begins(each, name)]
            if not found:
                raise ValueError(f"there is no case {name!r}; there are {', '.join(known)}")
            chosen |= {each: known[each] for each in found}
        return list(chosen.values())


def _begins(name: str, first: str) -> bool:
    return name.startswith(f"{first}-")


@dataclass(frozen=True)
class Benchmark:
    """A question with an answer in figures."""

    name: str
    title: str
    explanation: str
    plan: Callable[[Options], Plan] = field(repr=False)
    wide: bool = False
    """One row for each case, with a column for each peer, and the mean of all rows."""
    mean_goal: float | None = None
    """What the geometric mean of the ratios to the best peers should be."""
    speed_up: bool = False
    """One row for each case, with a column for each number of threads."""


def size_name(size: int) -> str:
    """65536 as `64 KiB`."""
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift:
            return f"{size >> shift} {unit}"
    return f"{size} B"
