"""The C programs of the programming guide are recorded and played with identical memory."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.capture.play.played import (
    played_as_recorded,
    played_elsewhere,
    played_elsewhere_as_recorded,
)
from tests.capture.programs import GUIDE_IN_C, Recorded, Recordings
from tests.capture.recorded import GROUNDSTATE, TIMEOUT
from tests.loader_stub import needs_loader

SEVERAL = ("ipc_events", "ipc_memory")
FILES = "external_image"
ALONE = [each for each in GUIDE_IN_C if each.name not in (*SEVERAL, FILES)]

RECORDED = GUIDE_IN_C


@pytest.mark.parametrize("program", ALONE, ids=lambda each: each.name)
def test_here(program: Recorded, recordings: Recordings, library: Path) -> None:
    report = played_as_recorded(program, recordings[program.name], library)
    if program.environment:
        assert "is missing here" in str(report.notes)


@pytest.mark.parametrize("way", ["topology", pytest.param("checked", marks=needs_loader)])
def test_elsewhere(way: str, recordings: Recordings, library: Path) -> None:
    """On another topology, and through the validation layer of the machine's loader."""
    played_elsewhere_as_recorded(way, ALONE, recordings, library)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), id="as it was"),
        pytest.param(("--topology=2x2", "--checked"), id="checked", marks=needs_loader),
    ],
)
@pytest.mark.parametrize("name", SEVERAL)
def test_several_processes(name: str, options: tuple[str, ...], recordings: Recordings) -> None:
    reports = played_elsewhere(recordings[name], *options)
    assert [report["difference_count"] for report in reports] == [0, 0]
    assert sum(report["memory_compared"] for report in reports) > 0


def test_several_processes_have_one_bar(recordings: Recordings) -> None:
    terminal, theirs = pty.openpty()
    command = [*GROUNDSTATE, "play", str(recordings["ipc_memory"])]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, timeout=TIMEOUT)
    os.close(theirs)
    shown = os.read(terminal, 1 << 16).decode(errors="replace")
    os.close(terminal)
    assert done.returncode == 0, shown
    assert done.stdout.count(b" 0 not as recorded") == 2
    assert "2 processes" in shown
    assert "%" in shown
    assert ".gsstream" not in shown


def test_files_of_the_program_are_empty(recordings: Recordings) -> None:
    """An image that was imported from a file can be made and used, but not with the same texels."""
    (report,) = played_elsewhere(recordings[FILES], status=1)
    assert {each["kind"] for each in report["differences"]} == {"memory"}
    assert "an empty one takes its place" in report["notes"][0]["note"]
