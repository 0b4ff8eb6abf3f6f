"""Recordings of two processes that share memory: played together, and cut without the other."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from unittest import mock

import pytest

from groundstate.capture.place import streams_in
from groundstate.capture.stream import StreamReader
from groundstate.capture.structure import Outline
from groundstate.capture.subcapture.foreign import is_foreign
from groundstate.cli.main import main
from tests.capture.recorded import GROUNDSTATE, ROOT, built, record
from tests.capture.stream.cuts import (
    assert_same_memory,
    cut_by,
    memory_after,
    memory_in,
    submission,
)
from tests.guide.kernels import write_kernels

SHARED = {"ipc_memory": "zeMemOpenIpcHandle", "ipc_events": "zeEventPoolOpenIpcHandle"}


@pytest.fixture(scope="module", params=SHARED)
def streams(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The streams of both processes: first the one that opens what the other one shares."""
    name = str(request.param)
    folder = tmp_path_factory.mktemp(name)
    write_kernels(name, folder / "kernels")
    program = built(ROOT / "tests" / "guide" / f"{name}.c", folder)
    record(folder / "out", program, folder / "kernels")
    found = streams_in(folder / "out")
    assert len(found) == 2
    return sorted(found, key=lambda path: not opens(path, SHARED[name]))


def opens(stream: Path, function: str) -> bool:
    with StreamReader(stream) as reader:
        lives = Outline(reader).lifetimes.lives
    return any(life.function == function and is_foreign(life) for life in lives)


def test_both_are_played_as_recorded(streams: list[Path]) -> None:
    command = [*GROUNDSTATE, "play", "--json", str(streams[0].parent)]
    done = subprocess.run(command, capture_output=True, text=True)
    reports = json.loads(done.stdout)
    assert [report["differences"] for report in reports] == [[], []]
    assert done.returncode == 0


def test_a_cut_needs_no_other_process(streams: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "cut.gsstream"
    stream, *others = streams
    outcome = cut_by(stream, target, submission(-1), others=others)
    part = memory_in(target)
    whole = memory_after(stream, outcome.last, others=others)
    assert part
    assert_same_memory(part, whole)


def test_the_command_asks_which_process(
    streams: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording, out = str(streams[0].parent), str(tmp_path / "out")
    command = ["subcapture", recording, "-o", out, "--range", "+"]
    with mock.patch.dict(os.environ):  # the command is at home in a process of its own
        assert main(command) == 1
        assert "--process" in capsys.readouterr().err
        assert main([*command, "--process", streams[0].stem.rpartition("-")[2]]) == 0
    assert "records" in capsys.readouterr().out
