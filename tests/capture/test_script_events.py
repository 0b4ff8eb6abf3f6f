"""A script hears when a player restores state and when the program's own part begins."""

from __future__ import annotations

from typing import Any, cast

from groundstate.capture.scripting.events import Events
from groundstate.capture.stream import Kind, Mark, Record


class Told:
    """Stands for a capture library: notes what its script would be told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, int]] = []

        def event(name: bytes, number: int) -> None:
            self.events.append((name.decode(), number))

        self.gc_script_event: Any = event


def told(*records: tuple[Kind, bytes]) -> list[tuple[str, int]]:
    library = Told()
    events = Events(cast(Any, library))
    for number, (kind, body) in enumerate(records):
        events.see(Record(number, kind, body))
    events.end()
    return library.events


CALL = (Kind.CALL, b"")


def test_a_whole_program_is_one_frame() -> None:
    assert told(CALL, CALL) == [("gitsFrameBegin", 1), ("gitsFrameEnd", 1)]


def test_restored_state_comes_before_the_frame() -> None:
    begin, end = (Kind.MARK, Mark.RESTORE_BEGIN.pack()), (Kind.MARK, Mark.RESTORE_END.pack())
    assert told(begin, CALL, end, CALL) == [
        ("gitsStateRestoreBegin", -1),
        ("gitsStateRestoreEnd", -1),
        ("gitsFrameBegin", 1),
        ("gitsFrameEnd", 1),
    ]


def test_a_stream_without_calls_has_no_frame() -> None:
    assert told((Kind.ABOUT, b"")) == []
