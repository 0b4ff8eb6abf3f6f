"""Plays on two sides and compares memory, first after each submission, then kernel by kernel.

The first pass finds the first submission after which something differs; the second looks into that
one, where copies are taken around each of its kernels, and finds the first kernel whose outcome
differs. So a long program costs no more memory than one submission.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from groundstate.capture.views.comparing import Difference, Tolerance, difference
from groundstate.capture.views.play_process import PlayEnded, PlayProcess, Side, Work
from groundstate.capture.views.probe import AFTER, BEFORE
from groundstate.capture.views.sides import ON, QUIET, Item, offer_ends, offer_runs

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Finding:
    """Something that is not alike on both sides."""

    place: str
    kernel: str
    argument: int | None
    name: str
    memory: str
    difference: Difference | None
    sentence: str
    inputs_equal: bool | None = None  # None if nobody looked

    def data(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass
class Outcome:
    """What came of a comparison of two plays."""

    submissions: int = 0
    items: int = 0
    size: int = 0
    close: int = 0  # items that differ within the tolerance
    first: Finding | None = None
    calls: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return self.first is None and not self.calls

    def data(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "same": self.same,
            "submissions": self.submissions,
            "buffers": self.items,
            "bytes": self.size,
            "within_tolerance": self.close,
            "first": None if self.first is None else self.first.data(),
            "calls": self.calls,
            "notes": self.notes,
            "damage": self.damage,
        }


def compare_plays(
    left: Side, right: Side, tolerance: Tolerance, progress: Progress = lambda _: None
) -> Outcome:
    """Plays both sides and says what differs first."""
    outcome = Outcome()
    pair = _Pair(left, right, offer_ends, (None, None), tolerance, outcome)
    found = pair.run(progress)
    if found is not None:
        progress(f"looking into submission {found.items[0].place.split('/')[0]}")
        outcome.first = _narrowed(left, right, found, tolerance)
    return outcome


@dataclass(frozen=True)
class _Found:
    """A pair of items that differ."""

    items: tuple[Item, Item]
    difference: Difference | None
    inputs_equal: bool | None = None

    def finding(self) -> Finding:
        one, other = self.items
        return Finding(
            one.place,
            one.kernel,
            one.argument,
            one.name,
            one.sort,
            self.difference,
            self._sentence(one, other),
            self.inputs_equal,
        )

    def _sentence(self, one: Item, other: Item) -> str:
        if one.key != other.key:
            return f"one side runs {one.kernel!r} where the other runs {other.kernel!r}"
        if one.size != other.size:
            return f"one side has {one.size:,} bytes and the other {other.size:,}"
        return str(self.difference)


class _Pair:
    """Two processes that play in step."""

    def __init__(
        self,
        left: Side,
        right: Side,
        work: Work,
        data: tuple[Any, Any],
        tolerance: Tolerance,
        outcome: Outcome,
    ) -> None:
        self._sides = (left, right)
        self._work = work
        self._data = data
        self._tolerance = tolerance
        self._outcome = outcome

    def run(self, progress: Progress) -> _Found | None:
        """Plays to the end, and gives back the first pair that differs."""
        first: _Found | None = None
        with (
            PlayProcess(self._sides[0], self._work, self._data[0]) as left,
            PlayProcess(self._sides[1], self._work, self._data[1]) as right,
        ):
            while True:
                told = left.receive(), right.receive()
                words = {word for word, _ in told}
                if words == {"items"}:
                    first = self._compare(left, right, told[0][1], told[1][1])
                    self._outcome.submissions += 1
                    progress(f"{self._outcome.submissions:,} submissions compared")
                    for side in (left, right):
                        side.send(ON if first is None else QUIET)
                    if first is not None:
                        self._end((left.result(), right.result()))
                        return first
                elif words == {"result"}:
                    self._end((told[0][1], told[1][1]))
                    return first
                else:
                    longer = 0 if told[0][0] == "items" else 1
                    name = self._sides[longer].stream.name
                    raise PlayEnded(f"{name} goes on where the other side has ended")

    def _compare(
        self, left: PlayProcess, right: PlayProcess, ours: list[Item], theirs: list[Item]
    ) -> _Found | None:
        """The first pair of items that differs, inputs before outcomes."""
        inputs_equal: bool | None = None
        found: _Found | None = None
        for place, (one, other) in enumerate(zip(ours, theirs, strict=False)):
            differs = self._differs(left, right, place, one, other)
            self._outcome.items += 1
            self._outcome.size += one.size
            if one.moment == BEFORE:
                inputs_equal = differs is None and inputs_equal is not False
            elif differs is not None:
                found = _Found(differs.items, differs.difference, inputs_equal)
                break
        if found is None and len(ours) != len(theirs):
            shorter = min(len(ours), len(theirs)) - 1
            return _Found((ours[max(0, shorter)], theirs[max(0, shorter)]), None)
        return found

    def _differs(
        self, left: PlayProcess, right: PlayProcess, place: int, one: Item, other: Item
    ) -> _Found | None:
        if one.key != other.key:
            return _Found((one, other), None)
        if one.digest == other.digest:
            return None
        data = []
        for side in (left, right):
            side.send(place)
            data.append(side.receive()[1])
        apart = difference(data[0], data[1], one.dtype, self._tolerance)
        if apart is None and one.size == other.size:
            self._outcome.close += 1
            return None
        return _Found((one, other), apart)

    def _end(self, reports: tuple[dict[str, Any], dict[str, Any]]) -> None:
        """Calls that only one of the sides answered otherwise than recorded."""
        seen = [
            {f"{each['function']} (record {each['number']}) {each['sentence']}"
             for each in report["differences"]}
            for report in reports
        ]  # fmt: skip
        for which, mine, others in (("left", seen[0], seen[1]), ("right", seen[1], seen[0])):
            self._outcome.calls += [f"{which}: {text}" for text in sorted(mine - others)]
        for which, report in zip(("left", "right"), reports, strict=True):
            self._outcome.notes += [f"{which}: {note}" for note in report["notes"]]
            if report["damage"] is not None:
                self._outcome.damage.append(f"{which}: damaged {report['damage']}")


def _narrowed(left: Side, right: Side, found: _Found, tolerance: Tolerance) -> Finding:
    """The first kernel of a submission that differs, or at least the submission."""
    if found.items[0].key != found.items[1].key:
        return found.finding()
    records = (found.items[0].submission, found.items[1].submission)
    closer = _Pair(left, right, offer_runs, records, tolerance, Outcome()).run(lambda _: None)
    if closer is not None and closer.items[0].moment == AFTER:
        return closer.finding()
    return found.finding()
