"""The examples, and the guide's programs in Python, are played with identical memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.play.played import (
    played_as_recorded,
    played_elsewhere,
    played_elsewhere_as_recorded,
)
from tests.capture.programs import EXAMPLE_PROGRAMS, Recorded, Recordings
from tests.loader_stub import needs_loader

SEVERAL = ("08_sharing", "guide/ipc_events", "guide/ipc_memory")
MASKS = "guide/affinity_mask"
FILES = "guide/external_image"
DEVICES = "09_topology"
ALONE = [each for each in EXAMPLE_PROGRAMS if each.name not in (*SEVERAL, MASKS, FILES, DEVICES)]

RECORDED = EXAMPLE_PROGRAMS


@pytest.mark.parametrize("program", ALONE, ids=lambda each: each.name)
def test_here(program: Recorded, recordings: Recordings, library: Path) -> None:
    played_as_recorded(program, recordings[program.name], library)


def test_on_another_topology(recordings: Recordings, library: Path) -> None:
    played_elsewhere_as_recorded("topology", ALONE, recordings, library)


@needs_loader
def test_in_checked_mode(recordings: Recordings) -> None:
    """Those whose flags the validation layer of the machine's loader knows."""
    (report,) = played_elsewhere(recordings["hello"], "--checked")
    assert report["differences"] == []


@pytest.mark.parametrize("name", SEVERAL)
def test_several_processes(name: str, recordings: Recordings) -> None:
    reports = played_elsewhere(recordings[name], "--topology=2x2")
    assert [report["differences"] for report in reports] == [[], []]
    assert sum(report["memory_compared"] for report in reports) > 0


def test_many_processes_on_fewer_devices(recordings: Recordings) -> None:
    """Each of them saw other parts of two devices."""
    reports = played_elsewhere(recordings[MASKS])
    assert [report["differences"] for report in reports] == [[]] * 6


def test_a_program_that_fills_its_devices(recordings: Recordings) -> None:
    """Its allocations are refused where devices are as small as they were."""
    out = recordings[DEVICES]
    (same,) = played_elsewhere(out, "--topology=2x2", "--memory=1G")
    assert same["differences"] == []
    (larger,) = played_elsewhere(out, "--topology=2x2", "--memory=8G", status=1)
    assert {each["function"] for each in larger["differences"]} == {"zeMemAllocDevice"}


def test_files_of_the_program_are_empty(recordings: Recordings) -> None:
    """An image that was imported from a file can be made and used, but not with the same texels."""
    (report,) = played_elsewhere(recordings[FILES], status=1)
    assert {each["kind"] for each in report["differences"]} == {"memory"}
