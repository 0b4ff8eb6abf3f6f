"""Every view answers a wrong stream with a sentence and a status, whatever is wrong with it."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from groundstate.capture.stream import Call, Kind, StreamWriter
from groundstate.cli.main import main
from tests.capture.stream.streams import work
from tests.capture.views.fuzz_views import fuzz, look


def test_streams_that_are_wrong_inside(tmp_path: Path) -> None:
    assert fuzz(12, 20_000, tmp_path) == 12 * 9


def test_streams_that_are_cut(tmp_path: Path) -> None:
    whole = work(tmp_path / "whole.gsstream", chunk_target=400)
    data = whole.read_bytes()
    cut = tmp_path / "cut.gsstream"
    for length in range(0, len(data), len(data) // 6):
        cut.write_bytes(data[:length])
        assert set(look(cut, whole, tmp_path)) <= {0, 1, 2}


def test_views_of_many_calls_use_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "many.gsstream"
    with StreamWriter(path) as stream:
        stream.add(Kind.FUNCTION, b"\0\0\0\0zeEventQueryStatus")
        call = Call(0, 0, 0, 0, 0, 0, (1,), ()).pack()
        for _ in range(3000):
            stream.add(Kind.CALL, call)
    assert path.stat().st_size < 3000
    for view in (
        ["info"],
        ["stats"],
        ["timeline", "--calls", "1000", "-o", str(tmp_path / "t.json")],
    ):
        tracemalloc.start()
        assert main(["stream", *view[:1], str(path), *view[1:]]) == 0
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
        tracemalloc.stop()


@pytest.mark.usefixtures("library")
def test_a_play_of_a_wrong_stream_is_a_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = work(tmp_path / "work.gsstream")  # its objects exist nowhere
    assert main(["stream", "dump", str(path), "-o", str(tmp_path / "out")]) == 1
    assert "groundstate stream:" in capfd.readouterr().err
    assert main(["stream", "diff", str(path), "--right", "threads=1"]) in (0, 1)
    assert "Traceback" not in capfd.readouterr().err
    path.write_bytes(path.read_bytes()[:-60])
    assert main(["stream", "diff", str(path), "--right", "threads=1"]) == 1
    assert "damaged at byte" in capfd.readouterr().err
