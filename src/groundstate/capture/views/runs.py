"""Which runs of kernels and other commands somebody wants to look at, and where they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from groundstate.capture.describe import named_calls
from groundstate.capture.stream import StreamError, StreamReader
from groundstate.capture.structure import (
    Batch,
    Command,
    Launch,
    Selection,
    Submission,
    Submissions,
)

RUN_LIMIT = 100_000
GRAPH_DEPTH = 16

Choice = Callable[[Submission, Batch, Command], bool]


@dataclass(frozen=True)
class Run:
    """A command as one submission ran it."""

    append: int  # the record of the append call
    submission: int  # the record of the call that submitted it
    position: int  # its place among the commands of that submission
    place: str  # "submission/list/kernel", as people number them
    function: str
    launches: tuple[Launch, ...]
    mutable: bool

    @property
    def kernel(self) -> str:
        """The name of its kernel, or of its first one."""
        return self.launches[0].kernel if self.launches else ""


@dataclass
class Runs:
    """Runs by the records of their append calls and of their submissions."""

    by_append: dict[int, Run] = field(default_factory=dict)
    by_submission: dict[int, list[Run]] = field(default_factory=dict)
    count: int = 0
    left_out: int = 0

    def add(self, run: Run) -> None:
        """Takes one more run."""
        if self.count == RUN_LIMIT:
            self.left_out += 1
            return
        self.by_append.setdefault(run.append, run)
        self.by_submission.setdefault(run.submission, []).append(run)
        self.count += 1

    def __iter__(self) -> Iterator[Run]:
        return (run for runs in self.by_submission.values() for run in runs)


def find_runs(reader: StreamReader, wanted: Choice, limit: int = RUN_LIMIT) -> Runs:
    """The runs of a stream that are wanted, in the order of their submissions."""
    submissions = Submissions()
    try:
        for call in named_calls(reader):
            submissions.see(call)
    except StreamError:
        pass  # what comes before it is played all the same, and the player says why it ends there
    runs = Runs()
    for submission in submissions.submissions:
        for run in _runs_of(submission, wanted):
            if runs.count >= limit:
                return runs
            runs.add(run)
    return runs


def _runs_of(submission: Submission, wanted: Choice) -> Iterator[Run]:
    position = 0
    for batch in submission.batches:
        for command in flat(batch.commands):
            if wanted(submission, batch, command):
                number = f"/{command.launches[0].number}" if command.launches else ""
                yield Run(
                    command.call,
                    submission.call,
                    position,
                    f"{submission.number}/{batch.list.number}{number}",
                    command.function,
                    command.launches,
                    command.identifier is not None,
                )
            position += 1
            if position > RUN_LIMIT:
                return


def flat(commands: tuple[Command, ...], depth: int = 0) -> Iterator[Command]:
    """Commands, and after one that runs a graph, what is in the graph."""
    for command in commands:
        yield command
        if depth < GRAPH_DEPTH:
            yield from flat(command.inside, depth + 1)


def every_kernel(_: Submission, __: Batch, command: Command) -> bool:
    """All launches."""
    return bool(command.launches)


def kernels_named(name: str) -> Choice:
    """The launches of kernels of that name."""
    return lambda _, __, command: any(launch.kernel == name for launch in command.launches)


def kernels_selected(selection: Selection) -> Choice:
    """The launches that a selection such as 3/1/5-9 means."""

    def wanted(submission: Submission, batch: Batch, command: Command) -> bool:
        return any(
            selection.includes(submission.number, batch.list.number, launch.number)
            for launch in command.launches
        )

    return wanted
