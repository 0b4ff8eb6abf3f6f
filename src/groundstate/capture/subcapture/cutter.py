"""Cuts a range out of a recording: a small stream of its own that plays by itself.

It consists of the calls that make what the range uses, the contents of memory where the range
begins, and then the range itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from groundstate.capture.describe import NamedCall, named_records
from groundstate.capture.play import Options, Player
from groundstate.capture.stream import Kind, Mark, StreamReader, StreamWriter, Writes
from groundstate.capture.structure.references import POINTER, references
from groundstate.capture.subcapture.cut import Cut
from groundstate.capture.subcapture.foreign import is_foreign, substitute
from groundstate.capture.subcapture.leading import Progress, player_at
from groundstate.capture.subcapture.needs import Needs
from groundstate.capture.subcapture.output import Output
from groundstate.capture.subcapture.recorded import Recorded
from groundstate.capture.subcapture.restore import FOREVER, Restorer, is_signalled
from groundstate.capture.subcapture.variants import Variants, with_lists
from groundstate.capture.subcapture.waits import check_waits

Chooser = Callable[[Recorded], Cut]


@dataclass(frozen=True)
class Outcome:
    """What was cut out."""

    first: int  # the record of the first submission
    last: int
    kernels: tuple[str, ...]
    calls_before: int  # how many calls are kept of what came before the range
    records: int
    size: int  # of the file, in bytes
    differences: tuple[str, ...] = ()  # what was not as recorded when it was played up to there


class Cutter:
    """Writes one cut of a recording."""

    def __init__(self, recorded: Recorded, cut: Cut, output: Output, needs: Needs) -> None:
        self._recorded = recorded
        self._cut = cut
        self._output = output
        self._needs = needs
        self._parts = cut.parts()
        self._variants = Variants(recorded, output.new_handle)
        self._variants.want([part for parts in self._parts.values() for part in parts])
        self._pointers: set[int] = set()
        self._numbers: list[tuple[int, int]] = []

    def write_before(self, player: Player) -> None:
        """The calls that make what the range uses."""
        wanted = {
            command.call for parts in self._parts.values() for p in parts for command in p.commands
        }
        for record, call in named_records(self._recorded.reader):
            if record.number > self._cut.begin:
                break
            if call is None:
                continue
            if call.number in wanted or call.number == self._cut.begin:
                self._note_pointers(call)
            if call.number in self._needs.kept:
                name, changed = substitute(self._recorded, player, call)
                for said in self._variants.said(NamedCall(call.number, name, changed)):
                    self._output.call(name, said)

    def write_state(self, player: Player) -> None:
        """The contents of memory and the state of events, as a player has them."""
        restorer = Restorer(self._output, player, self._recorded, self._cut.begin)
        elsewhere = check_waits(
            self._recorded, self._cut, lambda event: is_signalled(player, event)
        )
        restorer.restore(self._needs.lives)
        restorer.signal(elsewhere)
        restorer.program_memory(self._program_runs())

    def write_range(self) -> None:
        """What the program did in the range, then waits for the device."""
        whole = all(part.whole for parts in self._parts.values() for part in parts)
        for record, call in named_records(self._recorded.reader):
            if record.number < self._cut.begin:
                continue
            if record.number > self._cut.end and record.kind != Kind.RESULTS:
                break
            self._numbers.append((record.number, self._output.count))
            if call is not None:
                self._write_call(call)
            elif record.kind == Kind.WRITES or (record.kind == Kind.RESULTS and whole):
                self._output.copied_writes(record.kind, Writes.unpack(record.body))
        for target, function in self._targets().items():
            self._output.make(function, target, FOREVER)

    def _write_call(self, call: NamedCall) -> None:
        began = self._began(call.call.began)
        if call.number in self._parts and "phCommandLists" in " ".join(call.parameters):
            handles = [self._variants.handle(part) for part in self._parts[call.number]]
            self._output.call(call.name, with_lists(call, handles), began=began)
            return
        for said in self._variants.said(call):
            self._output.call(call.name, said, began=began)

    def _began(self, recorded: int) -> int:
        """How many records there are in the new stream when a call begins."""
        place = bisect_left(self._numbers, (recorded, 0))
        if place < len(self._numbers):
            return self._numbers[place][1]
        return self._output.count

    def _targets(self) -> dict[int, str]:
        """The queues and immediate lists that the range gives work to, and what waits for them."""
        targets = {}
        for run in self._cut.submissions():
            if self._ends_in_range(run.target):
                continue
            if run.function == "zeCommandQueueExecuteCommandLists":
                targets[run.target] = "zeCommandQueueSynchronize"
            elif not all(batch.list.synchronous for batch in run.batches):
                targets[run.target] = "zeCommandListHostSynchronize"
        return targets

    def _ends_in_range(self, handle: int) -> bool:
        ended = self._recorded.lifetimes.ended
        return any(
            life.value == handle and self._cut.begin <= number <= self._cut.end
            for number, life in ended.items()
        )

    def _note_pointers(self, call: NamedCall) -> None:
        for reference in references(call):
            if reference.kind == POINTER and not reference.given_back:
                self._pointers.add(reference.value)

    def _program_runs(self) -> Iterator[tuple[int, int]]:
        """The program's own memory that commands of the range read, as far as it was recorded."""
        pointers = sorted(self._pointers)
        found: dict[tuple[int, int], None] = {}
        for number, writes in self._recorded.writes:
            if number > self._cut.begin:
                break
            runs = [run for run in writes.runs if not self._is_allocation(run.address)]
            if any(_reaches(pointers, run.address, run.size) for run in runs):
                found.update({(run.address, run.size): None for run in runs})
        return iter(found)

    def _is_allocation(self, address: int) -> bool:
        lives = (life for life in self._recorded.lifetimes.lives if life.is_memory)
        return any(x.covers(address) and x.lives_at(self._cut.begin) for x in lives)


def _reaches(pointers: list[int], address: int, size: int) -> bool:
    place = bisect_left(pointers, address)
    return place < len(pointers) and pointers[place] < address + size


def subcapture(
    source: Path,
    target: Path,
    choose: Chooser,
    *,
    library: str,
    options: Options | None = None,
    others: list[Path] | None = None,
    all_memory: bool = False,
    title: str = "",
    progress: Progress | None = None,
) -> Outcome:
    """Cuts what `choose` says out of the stream `source` and writes it to `target`.

    `others` are the streams of the other processes of the recording, if the range uses something
    of theirs.
    """
    with StreamReader(source) as reader:
        recorded = Recorded(reader)
        cut = choose(recorded)
        needs = Needs(recorded, cut, all_memory=all_memory)
        opens = any(is_foreign(life) for life in recorded.lifetimes.lives)
        unwritten = target.with_name(target.name + ".part")
        unwritten.unlink(missing_ok=True)
        try:
            with StreamWriter(unwritten) as writer:
                output = Output(writer, reader)
                cutter = Cutter(recorded, cut, output, needs)
                output.about([*recorded.about, ("cut", title)])
                output.add(Kind.MARK, Mark.RESTORE_BEGIN.pack())
                with player_at(
                    recorded,
                    cut,
                    library,
                    options or Options(),
                    progress or _ignore,
                    others if opens else None,
                ) as player:
                    cutter.write_before(player)
                    cutter.write_state(player)
                    differences = tuple(str(each).strip() for each in player.report.differences)
                output.add(Kind.MARK, Mark.RESTORE_END.pack())
                cutter.write_range()
            unwritten.rename(target)
        finally:
            unwritten.unlink(missing_ok=True)
        return replace(_outcome(cut, needs, output, target), differences=differences)


def _ignore(number: int) -> None:
    """Nobody wants to know how far it is."""


def _outcome(cut: Cut, needs: Needs, output: Output, target: Path) -> Outcome:
    names = [
        launch.kernel
        for parts in cut.parts().values()
        for part in parts
        for command in part.commands
        for launch in command.all_launches()
    ]
    size = target.stat().st_size
    return Outcome(cut.begin, cut.end, tuple(names), len(needs.kept), output.count, size)
