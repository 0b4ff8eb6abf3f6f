"""What the two sides of a comparison do in their processes: play, and offer what they see.

A side offers items by their digests; where these differ, the other process asks for the bytes. So
only what differs is ever moved between processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from groundstate.capture.describe import NamedCall
from groundstate.capture.play import Player
from groundstate.capture.play.errors import UnplayableError
from groundstate.capture.stream.layout import digest
from groundstate.capture.structure import Batch, Command, Submission
from groundstate.capture.structure.kernels import argument
from groundstate.capture.views.probe import AFTER, BEFORE, Probe, Sample, Thing
from groundstate.capture.views.runs import Run, find_runs
from groundstate.capture.views.signature import ArgumentType

ON, QUIET = "on", "quiet"
PROGRAM = "program"
"""The sort of memory that is the program's own."""
_TARGETS = {
    "zeCommandListAppendMemoryCopy": "dstptr",
    "zeCommandListAppendMemoryFill": "ptr",
}
"""Commands other than kernels whose outcome is looked at, and which argument says where it is."""


@dataclass(frozen=True)
class Item:
    """Something that a side has, without its bytes."""

    submission: int  # its record
    place: str
    kernel: str
    moment: str
    argument: int | None
    name: str
    dtype: str
    sort: str
    size: int
    digest: bytes

    @property
    def key(self) -> tuple[str, str, int | None]:
        """What must be alike on both sides for a comparison to make sense."""
        return self.kernel, self.moment, self.argument


def _item(run: Run, moment: str, thing: Thing, data: bytes) -> Item:
    return Item(
        run.submission,
        run.place,
        run.kernel or run.function.removeprefix("zeCommandListAppend"),
        moment,
        thing.argument,
        thing.type.name,
        thing.type.dtype,
        thing.sort,
        len(data),
        digest(data),
    )


class Offers:
    """Talks to the process that compares."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.quiet = False

    def offer(self, items: list[Item], data: list[bytes]) -> None:
        """Offers items and hands out the bytes of those that are asked for."""
        if self.quiet or not items:
            return
        self._connection.send(("items", items))
        while True:
            answer = self._connection.recv()
            if answer in (ON, QUIET):
                self.quiet = answer == QUIET
                return
            self._connection.send(("data", data[answer]))


class Ends(Probe):
    """Offers, after each submission, the memory that its commands were given."""

    def __init__(self, player: Player, offers: Offers) -> None:
        runs = find_runs(player.reader, _looked_at)
        super().__init__(runs, player.reader, _nowhere, moments=(AFTER,))
        self._offers = offers

    def _find(self, player: Player, call: NamedCall) -> list[Thing]:
        parameter = _TARGETS.get(call.name)
        if parameter is None:
            return super()._find(player, call)
        size, to = argument(call, "size"), argument(call, parameter)
        found = player.memory.find(to)
        sort = PROGRAM if found is None else found.kind
        return [Thing("", None, ArgumentType(), to, 0, size, sort)]

    def end(self, player: Player, call: NamedCall, run: Run, where: int) -> None:
        """Images are copied behind each kernel; memory is read when all has ended."""
        things = self._things.get(run.append, [])
        if any(thing.image is not None for thing in things):
            self._things[run.append] = [thing for thing in things if thing.image is not None]
            self._copy(player, run, where, AFTER)
            self._things[run.append] = things

    def done(self, player: Player, runs: list[Run]) -> None:
        """Reads all memory of a submission, each range once, and offers it."""
        if self._offers.quiet:
            return
        items: list[Item] = []
        data: list[bytes] = []
        seen: set[tuple[int, int]] = set()
        for run in reversed(runs):  # what is left was left by the last one that used it
            for thing, content in self._contents(player, run, seen):
                items.append(_item(run, AFTER, thing, content))
                data.append(content)
        self._offers.offer(items[::-1], data[::-1])

    def _contents(
        self, player: Player, run: Run, seen: set[tuple[int, int]]
    ) -> list[tuple[Thing, bytes]]:
        found = self.copied(run, AFTER)
        for thing in self._things.get(run.append, ()):
            start = thing.address - thing.offset
            if thing.image is not None or (start, thing.size) in seen:
                continue
            seen.add((start, thing.size))
            if thing.sort != PROGRAM and player.memory.find(start) is None:
                self.note("memory was freed before anybody could look at it")
                continue
            try:
                found.append((thing, player.memory.read(start, thing.size)))
            except UnplayableError as problem:
                self.note(str(problem))
        return found


class Runs(Probe):
    """Offers what each kernel of one submission had before and after it ran."""

    def __init__(self, player: Player, offers: Offers, submission: int) -> None:
        runs = find_runs(
            player.reader,
            lambda found, _, command: found.call == submission and bool(command.launches),
        )
        super().__init__(runs, player.reader, _nowhere, moments=(BEFORE, AFTER))
        self._offers = offers

    def done(self, player: Player, runs: list[Run]) -> None:
        """Offers run by run."""
        for run in runs:
            samples = [(moment, *each) for moment in (BEFORE, AFTER)
                       for each in self.copied(run, moment)]  # fmt: skip
            items = [_item(run, moment, thing, data) for moment, thing, data in samples]
            self._offers.offer(items, [data for _, _, data in samples])


def offer_ends(player: Player, connection: Connection, _: Any) -> dict[str, Any]:
    """Plays a stream and offers the memory of each submission; runs in a `PlayProcess`."""
    return _played(player, Ends(player, Offers(connection)))


def offer_runs(player: Player, connection: Connection, submission: int) -> dict[str, Any]:
    """Plays a stream and offers the kernels of one submission; runs in a `PlayProcess`."""
    return _played(player, Runs(player, Offers(connection), submission))


def _played(player: Player, probe: Probe) -> dict[str, Any]:
    report = player.run(probe)
    probe.close(player)
    data = report.as_json()
    data["notes"] = [each["note"] for each in data["notes"]] + list(probe.notes)
    return data


def _looked_at(_: Submission, __: Batch, command: Command) -> bool:
    return bool(command.launches) or command.function in _TARGETS


def _nowhere(_: Sample) -> None:
    """Samples are offered, not handed out."""
