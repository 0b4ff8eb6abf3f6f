"""Brings a player to where a cut begins.

Where that is the beginning of a submission, the recording is played up to there. Where it is inside
a list, a stream is made first in which the list has a twin that ends there, and the submission
runs the twin.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from groundstate.capture.describe import NamedCall, named_records
from groundstate.capture.play import Options, Player, PlayError
from groundstate.capture.stream import Kind, StreamReader, StreamWriter, Writes
from groundstate.capture.subcapture.companions import played_beside
from groundstate.capture.subcapture.cut import Cut, Part
from groundstate.capture.subcapture.errors import CutError
from groundstate.capture.subcapture.output import Output
from groundstate.capture.subcapture.recorded import Recorded
from groundstate.capture.subcapture.restore import is_signalled
from groundstate.capture.subcapture.variants import Variants, with_lists
from groundstate.capture.subcapture.waits import first_that_waits

Progress = Callable[[int], None]


class _Reached(Exception):  # noqa: N818 (no error: the player is where it should be)
    """The player has come to the beginning of the cut."""


class _Waiter:
    """Watches the calls of a player and stops it before one of them."""

    def __init__(self, begin: int | None, progress: Progress) -> None:
        self._begin = begin
        self._progress = progress

    def before(self, player: Player, call: NamedCall) -> None:
        self._progress(call.number)
        if call.number == self._begin:
            raise _Reached

    def after(self, player: Player, call: NamedCall, result: int) -> None:
        """Nothing: only what comes next matters."""


@contextmanager
def player_at(
    recorded: Recorded,
    cut: Cut,
    library: str,
    options: Options,
    progress: Progress,
    others: list[Path] | None = None,
) -> Iterator[Player]:
    """A player whose device has done everything before the cut, and nothing else.

    `others` are the streams of the other processes of the recording.
    """
    parts = cut.lead()
    path = recorded.reader.path
    with tempfile.TemporaryDirectory(prefix="groundstate-cut-") as folder:
        if parts:
            path = _write_lead(recorded, cut, parts, Path(folder) / "lead.gsstream")
        beside = played_beside(others or [], library, options.patience)
        with StreamReader(path) as reader, beside as member:
            player = Player(reader, library, options, member)
            try:
                _play_to(player, _Waiter(None if parts else cut.begin, progress))
                if not player.idle():
                    raise CutError(_still_waiting(recorded, cut, player))
                yield player
            finally:
                player.close()


def _play_to(player: Player, waiter: _Waiter) -> None:
    try:
        player.run(waiter)
    except _Reached:
        pass
    except PlayError as problem:
        raise CutError(f"the recording cannot be played up to there: {problem}") from None


def _still_waiting(recorded: Recorded, cut: Cut, player: Player) -> str:
    """Says that earlier work has not ended, and where a range could begin."""
    run = first_that_waits(recorded, cut, lambda event: is_signalled(player, event))
    begin = "earlier" if run is None else f"at submission {run.number} (record {run.call})"
    return (
        "where the range begins, earlier work still waits for something that the program does "
        f"later; begin the range {begin}, or give slow work more time with --patience"
    )


def _write_lead(recorded: Recorded, cut: Cut, parts: list[Part], path: Path) -> Path:
    """The recording up to the cut, with what its first submission runs before the cut."""
    with StreamWriter(path, start=recorded.reader.header.start) as writer:
        output = Output(writer, recorded.reader)
        variants = Variants(recorded, output.new_handle)
        for part in parts:
            variants.keep(part.list)
        variants.want(parts)
        output.about(recorded.about)
        for record, call in named_records(recorded.reader):
            if record.number > cut.begin:
                break
            if record.number == cut.begin and call is not None:
                _run_lead(output, call, [variants.handle(part) for part in parts])
            elif call is not None:
                for said in variants.said(call):
                    output.call(call.name, said)
            elif record.kind == Kind.WRITES:
                output.copied_writes(record.kind, Writes.unpack(record.body))
    return path


def _run_lead(output: Output, call: NamedCall, handles: list[int]) -> None:
    """The first submission with other lists; nobody is told that it ended."""
    said = with_lists(call, handles)
    silent = {"hFence", "hSignalEvent"}
    names = [declaration.split()[-1].lstrip("*") for declaration in call.parameters]
    pairs = zip(names, said.arguments, strict=False)
    arguments = tuple(0 if name in silent else word for name, word in pairs)
    output.call(call.name, replace(said, arguments=arguments))
