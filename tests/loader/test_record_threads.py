"""What others write while the device works is in a recording, and is not taken for the device's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from groundstate.capture.stream import Kind, StreamReader, Writes, WritesFlag

from .conftest import Build
from .recorded import build_recorded, compare, play_as_recorded, record, truths

pytestmark = pytest.mark.usefixtures("headers", "library")

PAGES = ("userfaultfd", "compare")


@pytest.fixture(scope="session")
def program(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with threads that write while the device works."""
    return build_recorded(build, "recorded_threads", tmp_path_factory.mktemp("threads"))


@pytest.fixture(scope="session")
def slow(build: Build) -> str:
    """What is preloaded so that the recorder leaves other threads the time to get in between."""
    library = build("slow_recorder", "-fPIC", "-shared", "-ldl", output="slow_recorder.so")
    return ":".join(filter(None, [str(library), os.environ.get("LD_PRELOAD")]))


@pytest.mark.parametrize("pages", PAGES)
@pytest.mark.parametrize(
    "part",
    [
        "threads",
        "passing_threads",
        "replaced_thread",
        "renamed_thread",
        "inherited_name",
        "other_process",
    ],
)
def test_what_work_finds(part: str, pages: str, program: Path, tmp_path: Path) -> None:
    stream = record(tmp_path / "out", program, part, tmp_path / "truth", "--pages", pages)
    compare(stream, tmp_path)


@pytest.mark.parametrize("pages", PAGES)
@pytest.mark.parametrize("part", ["passing_threads", "changing_ways"])
def test_recorder_keeps_writes_between_its_scans(
    part: str, pages: str, program: Path, slow: str, tmp_path: Path
) -> None:
    out, truth = tmp_path / "out", tmp_path / "truth"
    stream = record(out, program, part, truth, "--pages", pages, preload=slow)
    compare(stream, tmp_path)


@pytest.mark.parametrize("speed", ["fast", "slow"])
@pytest.mark.parametrize("part", ["threads", "passing_threads", "sleeping_thread"])
def test_device_writes_are_the_same_when_played(
    part: str, speed: str, program: Path, slow: str, tmp_path: Path
) -> None:
    preload = slow if speed == "slow" else ""
    record(tmp_path / "out", program, part, tmp_path / "truth", "--results", preload=preload)
    play_as_recorded(tmp_path / "out")


@pytest.mark.parametrize("part", ["overlapping", "own_target"])
def test_results_of_others_are_marked(part: str, program: Path, tmp_path: Path) -> None:
    """What another thread wrote, or the device for it, may differ when the work is played."""
    truth = tmp_path / "truth"
    stream = record(tmp_path / "out", program, part, truth, "--results")
    (((address, data),),) = truths(truth)
    with StreamReader(stream) as reader:
        found = [Writes.unpack(r.body) for r in reader.records() if r.kind == Kind.RESULTS]
    flags = {
        writes.flags & WritesFlag.MIXED
        for writes in found
        if any(
            run.address < address + len(data) and address < run.address + run.size
            for run in writes.runs
        )
    }
    assert flags == {WritesFlag.MIXED}


def test_new_threads_of_the_driver_are_known(build: Build, program: Path, tmp_path: Path) -> None:
    """Threads that are slow to name themselves are not taken for the program's."""
    late = build("late_name", "-fPIC", "-shared", "-ldl", output="late_name.so")
    preload = ":".join(filter(None, [str(late), os.environ.get("LD_PRELOAD")]))
    out, truth = tmp_path / "out", tmp_path / "truth"
    stream = record(out, program, "new_threads", truth, "--results", preload=preload)
    with StreamReader(stream) as reader:
        found = [Writes.unpack(r.body) for r in reader.records() if r.kind == Kind.RESULTS]
    assert [writes.flags for writes in found if writes.runs] == [WritesFlag.NONE]
