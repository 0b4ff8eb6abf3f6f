"""The programs of the loader's tests are recorded and played; and no program is forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundstate.capture import place
from tests.capture.play.played import (
    played_as_recorded,
    played_elsewhere,
    played_elsewhere_as_recorded,
)
from tests.capture.programs import (
    EXAMPLE_PROGRAMS,
    EXAMPLES,
    GUIDE,
    GUIDE_IN_C,
    LOADER_PROGRAMS,
    UNPLAYED,
    Recorded,
    Recordings,
)
from tests.capture.recorded import PROGRAMS, ROOT
from tests.loader_stub import is_loader_installed, needs_loader

SEVERAL = ("forkexec", "ipc")
ALONE = [each for each in LOADER_PROGRAMS if each.name not in SEVERAL]

RECORDED = LOADER_PROGRAMS


@pytest.mark.parametrize("program", ALONE, ids=lambda each: each.name)
def test_here(program: Recorded, recordings: Recordings, library: Path) -> None:
    played_as_recorded(program, recordings[program.name], library)


@pytest.mark.parametrize("way", ["topology", pytest.param("checked", marks=needs_loader)])
def test_elsewhere(way: str, recordings: Recordings, library: Path) -> None:
    """On another topology, and through the validation layer of the machine's loader."""
    played_elsewhere_as_recorded(way, ALONE, recordings, library)


@pytest.mark.parametrize("name", SEVERAL)
def test_several_processes(name: str, recordings: Recordings) -> None:
    out = recordings[name]
    checked = ["--checked"] if is_loader_installed() else []
    reports = played_elsewhere(out, "--topology=2x2", *checked)
    assert len(reports) == len(place.streams_in(out)) > 1
    assert [report["differences"] for report in reports] == [[]] * len(reports)


def test_no_program_is_forgotten() -> None:
    """Each is played or has a reason not to be."""
    played = {
        str(path.relative_to(ROOT))
        for each in (*GUIDE_IN_C, *EXAMPLE_PROGRAMS, *LOADER_PROGRAMS)
        for path in (each.source, *each.together)
    }
    there_are = {
        str(path.relative_to(ROOT))
        for path in (
            *GUIDE.glob("*.c"),
            *PROGRAMS.glob("*.c"),
            *PROGRAMS.glob("*.py"),
            *EXAMPLES.rglob("*.py"),
            *EXAMPLES.rglob("*.c"),
        )
    }
    assert played | set(UNPLAYED) == there_are
    assert not played & set(UNPLAYED)
