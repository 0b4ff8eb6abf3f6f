"""`groundstate profile`: what it prints, and how programs end."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from groundstate.profiler import screen
from tests.profile.conftest import Profiled, line_with, profile, report_of

TRUE = "/bin/true"


def test_screen_tells_reasons_beside_the_program_s_output(known: Path) -> None:
    done = profile(known, "status", options=("--no-roof", "--kernels", "20"))
    assert (done.returncode, done.stdout) == (3, "done\n")
    said = " ".join(done.stderr.split())
    assert f"of loads are gathers: `x[col[j]]` at known.cl:{line_with('sum += value')}" in said
    assert "zeCommandListAppendLaunchKernel" in said


@pytest.mark.parametrize("columns", ["20", "40", "60", "80", "200", "wide", "0"])
def test_table_fits_where_it_is_shown(profiled: Profiled, columns: str) -> None:
    """Columns that have no room are left out; those that are there are whole."""
    text = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", columns)
        screen.show(profiled.report, text, 0)
    lines = text.getvalue().splitlines()
    width = int(columns) if columns.isdecimal() and int(columns) else screen.WIDTH
    assert max(map(len, lines)) <= width
    assert "…" not in text.getvalue()
    head = next(line for line in lines if line.split()[:1] == ["kernel"])
    assert ("time" in head, "workers" in head) == (True, width >= screen.WIDTH)
    first = lines[lines.index(head) + 1]
    assert first.split()[0] == "1"
    assert first.split()[1].startswith(profiled.report["kernels"][0]["name"][:4])


def test_bars_are_ascii_where_nothing_else_is(
    profiled: Profiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    text = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="backslashreplace")
    screen.show(profiled.report, text, 0)
    text.seek(0)
    said = text.read()
    assert "#" in said
    assert "\\u" not in said


def test_profile_of_a_killed_program_is_complete(known: Path) -> None:
    found = report_of(known, "kill")
    assert found.status == -signal.SIGKILL
    assert found.kernel("tiny")["launches"] == 400


def test_profile_has_what_a_forked_child_did(known: Path) -> None:
    assert report_of(known, "fork").kernel("tiny")["launches"] == 800


def test_nothing_is_counted_without_counters(known: Path) -> None:
    found = report_of(known, options=("--no-roof", "--no-counters"))
    assert all(each["counted"] is None for each in found.report["kernels"])
    assert found.kernel("add")["launches"] == 3


def test_program_without_a_device_has_no_profile() -> None:
    command = [sys.executable, "-m", "groundstate", "profile", "--", TRUE]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "no process used the driver\n"


def test_program_that_is_missing_is_named() -> None:
    command = [sys.executable, "-m", "groundstate", "profile", "--", "./not-there"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 127
    assert "not-there" in done.stderr
