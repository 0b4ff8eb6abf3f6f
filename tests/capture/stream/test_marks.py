"""Marks say where the restored state of a cut stream begins and ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundstate.capture.stream import (
    Kind,
    Mark,
    StreamError,
    StreamReader,
    StreamWriter,
    unpack_mark,
)


def test_marks_are_found_where_they_were_put(tmp_path: Path) -> None:
    path = tmp_path / "marked.gsstream"
    with StreamWriter(path) as stream:
        stream.about([("program", "example")])
        numbers = [stream.mark(Mark.RESTORE_BEGIN), stream.mark(Mark.RESTORE_END)]
    with StreamReader(path) as reader:
        marks = [record for record in reader.records() if record.kind == Kind.MARK]
    assert [record.number for record in marks] == numbers
    assert [unpack_mark(record.body) for record in marks] == list(Mark)


def test_marks_of_the_future_and_broken_ones() -> None:
    assert unpack_mark(b"\x63\0\0\0\0\0\0\0") is None
    with pytest.raises(StreamError):
        unpack_mark(b"\x01\0")
