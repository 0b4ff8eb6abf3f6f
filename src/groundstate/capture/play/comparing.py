"""Compares the memory that a device has written with the digests of what it wrote when recorded."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path
from typing import TYPE_CHECKING

from groundstate.capture.describe import named_calls
from groundstate.capture.play.errors import UnplayableError
from groundstate.capture.stream import Record, StreamError, StreamReader
from groundstate.capture.stream.layout import digest
from groundstate.capture.stream.writes import Writes, WritesFlag
from groundstate.capture.structure.submissions import Submission, Submissions

if TYPE_CHECKING:
    from groundstate.capture.play.player import Player

PAGE = 4096
MOST_PAGES = 1 << 20
NAMED = 4
"""How many kernels of a submission are named."""


class Comparison:
    """Compares what `results` records say with memory; what holds times is not compared."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._varying: set[int] = set()
        self._submissions: list[Submission] | None = None

    def varies(self, address: int, size: int) -> None:
        """Takes note of memory that is never twice the same: a device writes times there."""
        first, last = address // PAGE, -(-(address + size) // PAGE)
        if last - first <= MOST_PAGES:
            self._varying.update(range(first, last))

    def compare(self, record: Record) -> None:
        """Holds one record against memory and reports its first difference."""
        report = self._player.report
        results = Writes.unpack(record.body)
        if results.in_flight or not self._player.idle():
            report.not_compared += len(results.runs)
            return
        for run in results.runs:
            for address, size, expected in run.pieces():
                if address // PAGE in self._varying:
                    report.not_compared += 1
                    continue
                same = self._same(address, size, expected)
                if not same and results.flags & WritesFlag.MIXED:
                    report.not_compared += 1  # another thread of the program may have written it
                    continue
                report.compared += 1
                if not same:
                    where = self._where(address)
                    what = f"{size} bytes at {where} are not what {self._who(record.number)} left"
                    report.differ(record.number, "memory", "memory", what)
                    return

    def _same(self, address: int, size: int, expected: bytes) -> bool:
        try:
            data = self._player.memory.read(address, size)
        except UnplayableError:
            return False
        if digest(data) == expected:
            return True
        return digest(self._player.pointers.as_recorded(address, data)) == expected

    def _where(self, address: int) -> str:
        found = self._player.memory.find(address)
        if found is None:
            return f"0x{address:x} of the program's memory"
        return f"0x{address:x} (offset {address - found.start} of {found.kind} memory)"

    def _who(self, number: int) -> str:
        """The submission before a record, by its number and its kernels' names."""
        if self._submissions is None:
            self._submissions = submissions_of(self._player.reader.path)
        place = bisect_right(self._submissions, number, key=lambda each: each.call)
        if place == 0:
            return "no submission"
        submission = self._submissions[place - 1]
        kernels = [launch.kernel or "?" for _, launch in submission.launches()]
        shown = ", ".join(kernels[:NAMED]) + (" ..." if len(kernels) > NAMED else "")
        named = f" of {shown}" if kernels else ""
        call = f"{submission.function}, record {submission.call}"
        return f"submission {submission.number} ({call}){named}"


def submissions_of(path: Path) -> list[Submission]:
    """The submissions of a stream in their order, read again: it is needed once, if at all."""
    submissions = Submissions()
    try:
        with StreamReader(path) as reader:
            for call in named_calls(reader):
                submissions.see(call)
    except StreamError:
        pass  # what can be read has been
    return submissions.submissions
