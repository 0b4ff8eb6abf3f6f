"""What lists hold and submissions run: launches, other commands, and where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

Size = tuple[int, int, int]


@dataclass(frozen=True)
class Launch:
    """One kernel of an append call."""

    number: int  # counts the launches of the stream from 1, in the order of their appends
    call: int  # the record of the append
    kernel: str  # the kernel's name; "" if no call tells
    handle: int
    groups: Size | None  # None if memory of the device says it
    group_size: Size | None  # None if no call set it


@dataclass(frozen=True)
class Command:
    """One append call; one that runs a graph has the graph's commands inside."""

    call: int
    function: str
    launches: tuple[Launch, ...] = ()
    inside: tuple[Command, ...] = ()
    identifier: int | None = None  # by which a mutable list changes it

    def all_launches(self) -> Iterator[Launch]:
        """Its own launches, and those of the graph that it runs."""
        yield from self.launches
        for command in self.inside:
            yield from command.all_launches()


@dataclass(eq=False)
class CommandList:
    """A command list and what it holds now."""

    number: int  # counts the lists of the stream from 1, in the order in which they were made
    handle: int
    made_by: int
    immediate: bool
    synchronous: bool = False  # an immediate list whose work is done when an append returns
    submit: int | None = None  # the number that an immediate list's own work has
    queue: int | None = None
    generation: int = 0  # counts its resets
    commands: list[Command] = field(default_factory=list)
    next_identifier: int | None = None
    _held: tuple[Command, ...] | None = None

    def add(self, command: Command) -> None:
        self.commands.append(command)
        self._held = None

    def replace(self, place: int, command: Command) -> None:
        self.commands[place] = command
        self._held = None

    def reset(self) -> None:
        self.commands.clear()
        self.generation += 1
        self._held = None

    def held(self) -> tuple[Command, ...]:
        """The commands as they are now; the same tuple until they change."""
        if self._held is None:
            self._held = tuple(self.commands)
        return self._held


@dataclass(frozen=True)
class Batch:
    """A list as one submission ran it."""

    list: CommandList
    generation: int
    commands: tuple[Command, ...]


@dataclass(frozen=True)
class Submission:
    """Work that one call gave to a queue or an immediate list."""

    number: int  # counts as GITS does: executions, and immediate lists when they are made
    call: int
    function: str
    target: int  # the handle of the queue or of the immediate list
    batches: tuple[Batch, ...]

    def launches(self) -> Iterator[tuple[Batch, Launch]]:
        """Its kernels in the order in which they were appended."""
        for batch in self.batches:
            for command in batch.commands:
                for launch in command.all_launches():
                    yield batch, launch
