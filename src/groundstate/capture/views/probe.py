"""Takes copies of what kernels are given and what they leave: buffers and images, run by run."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from groundstate.capture.describe import NamedCall
from groundstate.capture.play import Player
from groundstate.capture.stream import StreamReader
from groundstate.capture.views.bindings import Bindings, Bound, ImageSeen, Kernel
from groundstate.capture.views.runs import Run, Runs
from groundstate.capture.views.signature import ArgumentType
from groundstate.capture.views.watching import LookError, Watcher

BEFORE, AFTER = "before", "after"
MEMORY_LIMIT = 4 << 30
"""So many bytes of copies are kept at a time."""


@dataclass(frozen=True)
class Thing:
    """A buffer or an image that a run uses, by its recorded address or handle."""

    kernel: str
    argument: int | None  # None for memory that is no argument
    type: ArgumentType
    address: int
    offset: int  # of the argument's address in its memory
    size: int
    sort: str  # "device", "shared", "host", ... or "image"
    image: ImageSeen | None = None


@dataclass(frozen=True)
class Sample:
    """What was in a thing before or after a run."""

    run: Run
    moment: str
    thing: Thing
    data: bytes


Sink = Callable[[Sample], None]


class Probe(Watcher):
    """Copies the memory and images of wanted runs, and hands out samples when runs have ended."""

    def __init__(
        self,
        runs: Runs,
        reader: StreamReader,
        sink: Sink,
        *,
        moments: tuple[str, ...] = (BEFORE, AFTER),
        all_memory: bool = False,
        limit: int = MEMORY_LIMIT,
    ) -> None:
        super().__init__(runs)
        self.bindings = Bindings()
        self._reader = reader
        self._sink = sink
        self._moments = moments
        self._all_memory = all_memory
        self._left = limit
        self._things: dict[int, list[Thing]] = {}  # by append
        self._copies: dict[tuple[int, str], list[tuple[Thing, int]]] = {}

    def see(self, player: Player, call: NamedCall) -> None:
        """Follows arguments and images."""
        self.bindings.see(call)

    def begin(self, player: Player, call: NamedCall, run: Run, where: int) -> None:
        """Finds out what the kernels use, and copies it."""
        self._things[run.append] = self._find(player, call)
        if BEFORE not in self._moments:
            return
        if run.mutable:
            raise LookError(
                "commands of mutable lists are looked at only after they ran: a command before "
                "them would take their number"
            )
        self._copy(player, run, where, BEFORE)

    def end(self, player: Player, call: NamedCall, run: Run, where: int) -> None:
        """Copies the same things again."""
        if AFTER in self._moments:
            self._copy(player, run, where, AFTER)

    def done(self, player: Player, runs: list[Run]) -> None:
        """Hands out the copies."""
        for run in runs:
            for moment in self._moments:
                for thing, data in self.copied(run, moment):
                    self._sink(Sample(run, moment, thing, data))

    def copied(self, run: Run, moment: str) -> list[tuple[Thing, bytes]]:
        """What was copied before or after a run, once it has ended."""
        copies = self._copies.get((run.append, moment), ())
        return [(thing, ctypes.string_at(place, thing.size)) for thing, place in copies]

    def _find(self, player: Player, call: NamedCall) -> list[Thing]:
        things: list[Thing] = []
        for kernel, values in self.bindings.launched(call):
            types = self.bindings.types(kernel, self._reader)
            for bound in values:
                kind = types[bound.index] if bound.index < len(types) else ArgumentType()
                thing = self._thing(player, kernel, bound, kind)
                if thing is not None:
                    things.append(thing)
        if self._all_memory:
            known = {thing.address - thing.offset for thing in things}
            things += [
                Thing("", None, ArgumentType(), each.start, 0, each.size, each.kind)
                for each in player.memory.ranges()
                if each.kind not in ("program", "reserved") and each.start not in known
            ]
        return things

    def _thing(
        self, player: Player, kernel: Kernel, bound: Bound, kind: ArgumentType
    ) -> Thing | None:
        word = bound.word
        found = player.memory.find(word) if word else None
        if found is not None:
            offset = word - found.start
            return Thing(kernel.name, bound.index, kind, word, offset, found.size, found.kind)
        image = self.bindings.images.get(word)
        if image is None:
            return None
        size = player.names.images[word].bytes() if word in player.names.images else 0
        return Thing(kernel.name, bound.index, kind, word, 0, size, "image", image)

    def _copy(self, player: Player, run: Run, where: int, moment: str) -> None:
        copies: list[tuple[Thing, int]] = []
        self._copies[run.append, moment] = copies
        self.barrier(player, where)
        for thing in self._things.get(run.append, ()):
            if not 0 < thing.size <= self._left:
                self.note(f"a {thing.sort} of {thing.size} bytes was left out; see --limit")
                continue
            copies.append((thing, self._append_copy(player, thing, where)))
            self._left -= thing.size
        self.barrier(player, where)

    def _append_copy(self, player: Player, thing: Thing, where: int) -> int:
        none: tuple[Any, ...] = (None, 0, None)
        if thing.image is not None:
            place = self.allocate(player, player.handle(thing.image.context), thing.size)
            image = player.handle(thing.address)
            name = "zeCommandListAppendImageCopyToMemory"
            self.appended(player, where, name, place, image, None, *none)
            return place
        start = thing.address - thing.offset
        found = player.memory.find(start)
        if found is None:
            raise LookError(f"the memory at {start:#x} is gone")
        place = self.allocate(player, found.context, thing.size)
        name = "zeCommandListAppendMemoryCopy"
        self.appended(player, where, name, place, found.present, thing.size, *none)
        return place
