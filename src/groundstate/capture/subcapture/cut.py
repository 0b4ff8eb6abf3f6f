"""Where a cut begins and ends: commands inside of lists inside of submissions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from groundstate.capture.structure import (
    Batch,
    Command,
    CommandList,
    Selection,
    Submission,
    Submissions,
)
from groundstate.capture.structure.submissions import is_meant
from groundstate.capture.subcapture.errors import CutError


@dataclass(frozen=True, order=True)
class Point:
    """A command as a submission runs it: which submission, which of its lists, which command."""

    submission: int
    batch: int
    command: int


@dataclass(frozen=True)
class Part:
    """The commands of a list that are wanted of a submission."""

    list: CommandList
    commands: tuple[Command, ...]
    whole: bool

    @property
    def calls(self) -> frozenset[int]:
        """The records that appended them."""
        return frozenset(command.call for command in self.commands)


class Cut:
    """From one command to another, both included, with everything in between."""

    def __init__(self, submissions: list[Submission], first: Point, last: Point) -> None:
        self._submissions = submissions
        self.first = first
        self.last = last

    @property
    def begin(self) -> int:
        """The record of the first submission."""
        return self._submissions[self.first.submission].call

    @property
    def end(self) -> int:
        """The record of the last submission."""
        return self._submissions[self.last.submission].call

    @property
    def first_submission(self) -> Submission:
        return self._submissions[self.first.submission]

    def submissions(self) -> list[Submission]:
        """The submissions of the cut."""
        return self._submissions[self.first.submission : self.last.submission + 1]

    def parts(self) -> dict[int, list[Part]]:
        """What is wanted of each submission, by the submission's record."""
        found: dict[int, list[Part]] = {}
        for place, submission in enumerate(self.submissions(), self.first.submission):
            found[submission.call] = list(self._parts(place, submission, self.first, self.last))
        return found

    def lead(self) -> list[Part]:
        """What the first submission runs before the cut begins."""
        first = self.first
        if (first.batch, first.command) == (0, 0):
            return []
        begin = Point(first.submission, 0, 0)
        end = Point(first.submission, first.batch, first.command - 1)
        return list(self._parts(first.submission, self.first_submission, begin, end))

    def _parts(self, place: int, run: Submission, first: Point, last: Point) -> Iterator[Part]:
        for number, batch in enumerate(run.batches):
            begin, end = 0, len(batch.commands)
            if place == first.submission and number <= first.batch:
                begin = first.command if number == first.batch else end
            if place == last.submission and number >= last.batch:
                end = last.command + 1 if number == last.batch else 0
            if begin < end or not batch.commands:
                commands = batch.commands[begin:end]
                yield Part(batch.list, commands, len(commands) == len(batch.commands))


def cut_by_selection(submissions: Submissions, selection: Selection, text: str) -> Cut:
    """From the first command that a selection means to the last one."""
    runs = submissions.submissions
    points = [
        point
        for point, run, batch, command in _points(runs)
        if is_meant(selection, run, batch, command)
    ]
    if not points:
        raise CutError(f"the recording has no kernel {text!r}; {_extent(submissions)}")
    return Cut(runs, *_widened(runs, points[0], points[-1]))


def cut_by_kernel(submissions: Submissions, name: str, occurrence: int) -> Cut:
    """One launch of a kernel: that which runs as the `occurrence`th of its name, from 1 on."""
    runs = submissions.submissions
    seen = 0
    names: set[str] = set()
    for point, _, _, command in _points(runs):
        for launch in command.all_launches():
            names.add(launch.kernel)
            seen += launch.kernel == name
            if seen == occurrence and launch.kernel == name:
                return Cut(runs, *_widened(runs, point, point))
    if seen:
        raise CutError(f"kernel {name!r} runs only {seen} times")
    known = ", ".join(sorted(filter(None, names))) or "none"
    raise CutError(f"no kernel {name!r} runs in this recording; those that do: {known}")


def _points(runs: list[Submission]) -> Iterator[tuple[Point, Submission, Batch, Command]]:
    for place, run in enumerate(runs):
        for number, batch in enumerate(run.batches):
            for index, command in enumerate(batch.commands):
                yield Point(place, number, index), run, batch, command


def _widened(runs: list[Submission], first: Point, last: Point) -> tuple[Point, Point]:
    """Takes in the whole of lists that cannot be divided: their commands have identifiers."""
    begin, end = runs[first.submission].batches, runs[last.submission].batches
    if _indivisible(begin[first.batch]):
        first = Point(first.submission, first.batch, 0)
    if _indivisible(end[last.batch]):
        last = Point(last.submission, last.batch, len(end[last.batch].commands) - 1)
    return first, last


def _indivisible(batch: Batch) -> bool:
    """Whether a list is mutable, or a clone of another one."""
    made_by = batch.list.made_by
    return any(x.identifier is not None or x.call < made_by for x in batch.commands)


def _extent(submissions: Submissions) -> str:
    runs = submissions.submissions
    if not runs:
        return "it submits nothing"
    submits, lists = max(run.number for run in runs), len(submissions.lists)
    return f"it has submissions 1-{submits}, lists 1-{lists}, kernels 1-{len(submissions.launches)}"
