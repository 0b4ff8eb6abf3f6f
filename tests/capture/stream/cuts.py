"""Plays recordings and what was cut out of them, and says what memory is then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from groundstate.capture import place
from groundstate.capture.describe import NamedCall
from groundstate.capture.play import Options, Player
from groundstate.capture.stream import StreamReader
from groundstate.capture.structure import Selection
from groundstate.capture.subcapture import Outcome, cut_by_selection, subcapture
from groundstate.capture.subcapture.companions import played_beside
from groundstate.capture.subcapture.cut import Cut, Point
from groundstate.capture.subcapture.leading import player_at
from groundstate.capture.subcapture.recorded import Recorded

KINDS = ("host", "shared", "device", "opened")


class Stop(Exception):  # noqa: N818 (no error: the player is where it should be)
    """The call that was waited for has been made."""


class StopAfter:
    """Stops a player after a call."""

    def __init__(self, number: int) -> None:
        self.number = number

    def before(self, player: Player, call: NamedCall) -> None:
        pass

    def after(self, player: Player, call: NamedCall, result: int) -> None:
        if call.number == self.number:
            raise Stop


def memory_of(player: Player) -> dict[int, bytes]:
    """What is in each allocation."""
    assert player.idle()
    found = {}
    for each in player.memory.ranges():
        if each.kind in KINDS:
            data = player.memory.read(each.start, each.size)
            found[each.start] = player.pointers.as_recorded(each.start, data)
    return found


def memory_after(
    stream: Path,
    number: int,
    options: Options | None = None,
    others: list[Path] | None = None,
) -> dict[int, bytes]:
    """What all memory is after a call of a whole recording, played with its other processes."""
    library = str(place.driver())
    with StreamReader(stream) as reader, played_beside(others or [], library, 10) as member:
        player = Player(reader, library, options, member)
        try:
            player.run(StopAfter(number))
        except Stop:
            assert [str(each) for each in player.report.differences] == []
            return memory_of(player)
        finally:
            player.close()
    raise AssertionError(f"record {number} was not played")


def memory_in(cut: Path, options: Options | None = None) -> dict[int, bytes]:
    """What memory is after a cut was played, in which nothing may differ."""
    with StreamReader(cut) as reader:
        player = Player(reader, str(place.driver()), options)
        report = player.run()
        assert [str(each) for each in report.differences] == []
        found = memory_of(player)
        player.close()
    return found


def assert_same_memory(part: dict[int, bytes], whole: dict[int, bytes]) -> None:
    """All memory of a cut is what it is in the whole recording; says where it is not."""
    for start, data in part.items():
        expected = whole[start]
        place_of_it = next((at for at in range(len(data)) if data[at] != expected[at]), None)
        if len(data) != len(expected) or place_of_it is not None:
            found, wanted = (each[place_of_it or 0 :][:16].hex() for each in (data, expected))
            raise AssertionError(
                f"{start:#x}, {len(data)} bytes, at {place_of_it}: {found} instead of {wanted}"
            )


def memory_behind(stream: Path, text: str) -> dict[int, bytes]:
    """What memory is when the kernel of that place has run, and no other after it.

    A cut that would begin with the next command leads the player to there.
    """
    selection = Selection.parse(text)
    with StreamReader(stream) as reader:
        recorded = Recorded(reader)
        cut = cut_by_selection(recorded.submissions, selection, text)
        batches = cut.first_submission.batches
        following = Point(cut.first.submission, cut.first.batch, cut.first.command + 1)
        if following.command == len(batches[cut.first.batch].commands):
            assert cut.first.batch + 1 == len(batches)
            return memory_after(stream, cut.end)
        behind = Cut(recorded.submissions.submissions, following, following)
        with player_at(recorded, behind, str(place.driver()), Options(), _ignore) as player:
            return memory_of(player)


def _ignore(number: int) -> None:
    pass


def cut_by(
    stream: Path,
    target: Path,
    choose: Callable[[Recorded], Cut],
    options: Options | None = None,
    others: list[Path] | None = None,
) -> Outcome:
    """Cuts something out of a stream with our driver."""
    library = str(place.driver())
    outcome = subcapture(stream, target, choose, library=library, options=options, others=others)
    assert outcome.differences == ()
    return outcome


def cut_out(stream: Path, target: Path, text: str, options: Options | None = None) -> Outcome:
    """Cuts a range out of a stream."""
    selection = Selection.parse(text)
    return cut_by(
        stream,
        target,
        lambda recorded: cut_by_selection(recorded.submissions, selection, text),
        options,
    )


def submission(number: int) -> Callable[[Recorded], Cut]:
    """The submission of that place in the stream, from 0 on, negative ones from the end."""

    def choose(recorded: Recorded) -> Cut:
        runs = recorded.submissions.submissions
        place_of_it = number % len(runs)
        last = len(runs[place_of_it].batches) - 1
        commands = len(runs[place_of_it].batches[last].commands)
        return Cut(runs, Point(place_of_it, 0, 0), Point(place_of_it, last, commands - 1))

    return choose
