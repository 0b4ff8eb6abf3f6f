"""The ways to play that `groundstate play` has, and what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.capture.play.played import played_elsewhere
from tests.capture.programs import EXAMPLE_PROGRAMS, GUIDE_IN_C, LOADER_PROGRAMS, all_made
from tests.capture.recorded import GROUNDSTATE, ROOT, TIMEOUT
from tests.loader_stub import needs_loader

USED = ("residency", "indirect_launch", "images", "hello")

Recording = Callable[[str], Path]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Recording:
    """The folder of a program's recording."""
    programs = (*GUIDE_IN_C, *EXAMPLE_PROGRAMS, *LOADER_PROGRAMS)
    found = {each.name: each for each in programs if each.name in USED}
    return all_made(list(found.values()), tmp_path_factory.mktemp("recordings")).__getitem__


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("--topology=2x2",), id="topology"),
        pytest.param(("--checked",), id="checked", marks=needs_loader),
        pytest.param(("--real-loader",), id="loader", marks=needs_loader),
        pytest.param(("--one-thread", "--real-speed"), id="one thread"),
    ],
)
def test_other_ways_to_play(options: tuple[str, ...], recording: Recording) -> None:
    (report,) = played_elsewhere(recording("images"), *options)
    assert report["differences"] == []
    assert report["memory_compared"] > 100


def test_a_played_recording_is_recorded_again(recording: Recording, tmp_path: Path) -> None:
    (first,) = played_elsewhere(recording("images"), "--record", str(tmp_path / "again"))
    (again,) = played_elsewhere(tmp_path / "again")
    assert again["differences"] == []
    assert again["calls"] >= first["calls"]  # the player asks some questions of its own


def test_play_leaves_buffer_pointers_unless_told(recording: Recording) -> None:
    (report,) = played_elsewhere(recording("residency"), status=1)
    assert any("see --scan-pointers" in each["note"] for each in report["notes"])
    difference = report["differences"][0]
    # At the old addresses there may be something else, or nothing, which is a fault.
    assert difference["kind"] == "result" or "of add_up left" in difference["sentence"]


def test_the_python_of_the_page_runs(recording: Recording, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "howto" / "playing.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    (tmp_path / "trace").symlink_to(recording("indirect_launch"))
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr


def test_what_is_said_in_text(recording: Recording) -> None:
    command = [*GROUNDSTATE, "play", "--topology", "2", str(recording("hello"))]
    said = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert said.returncode == 0, said.stderr
    assert "12 calls in" in said.stdout
    assert said.stdout.endswith(" 0 not as recorded\n")
    nothing = subprocess.run([*command[:-1], __file__], capture_output=True, text=True)
    assert nothing.returncode == 1
    assert "this is no recording" in nothing.stderr
