"""A recording has the memory that work reads, as the program says it was."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groundstate.capture import place
from groundstate.capture.stream import Kind, StreamReader, Writes, WritesFlag
from groundstate.capture.stream.formats import PAGE
from groundstate.capture.stream.layout import digest
from tests.loader_stub import needs_loader

from .conftest import Build
from .recorded import build_recorded, compare, play_as_recorded, record, submissions, truths

pytestmark = pytest.mark.usefixtures("headers", "library")

ALONE = ("allocations", "sources", "images", "sharing", "mapped", "imported", "nested", "forks")
"""Parts of the program in which nobody writes while the device works."""
PARTS = (*ALONE, "waiting", "host_function")


@pytest.fixture(scope="session")
def program(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that writes memory of each kind."""
    return build_recorded(build, "recorded_memory", tmp_path_factory.mktemp("memory"))


@pytest.mark.parametrize("pages", ["userfaultfd", "compare"])
@pytest.mark.parametrize("part", PARTS)
def test_what_work_finds(part: str, pages: str, program: Path, tmp_path: Path) -> None:
    stream = record(tmp_path / "out", program, part, tmp_path / "truth", "--pages", pages)
    flags = compare(stream, tmp_path)
    with StreamReader(stream) as reader:
        way = pages if kernel_tells() else "compare"
        assert f"pages\0{way}\0".encode() in reader.record(0).body
    if part in ALONE:
        assert set(flags) == {WritesFlag.NONE}
    if part == "waiting":
        assert flags[1] & WritesFlag.IN_FLIGHT
        assert not flags[0] & WritesFlag.IN_FLIGHT
        assert not flags[-1] & WritesFlag.IN_FLIGHT


def kernel_tells() -> bool:
    """Whether the kernel can tell written pages: it is new enough, and nothing forbids to ask."""
    release = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
    number = {"x86_64": 323, "aarch64": 282}[os.uname().machine]
    opened = ctypes.CDLL(None).syscall(number, os.O_CLOEXEC | 1)
    if opened >= 0:
        os.close(opened)
    return opened >= 0 and release >= (6, 7)


@pytest.mark.parametrize("pages", ["userfaultfd", "compare"])
def test_what_the_device_wrote(pages: str, program: Path, tmp_path: Path) -> None:
    truth = tmp_path / "truth"
    stream = record(tmp_path / "out", program, "results", truth, "--results", "--pages", pages)
    with StreamReader(stream) as reader:
        found = [Writes.unpack(r.body) for r in reader.records() if r.kind == Kind.RESULTS]
        stored = {r.body[:16] for r in reader.records() if r.kind == Kind.CONTENT}
    expected = [said for said in truths(truth) if said]
    assert [w.flags for w in found] == [WritesFlag.NONE] * len(expected)
    for results, ((address, data),) in zip(found, expected, strict=True):
        (run,) = results.runs
        assert (run.address, run.size) == (address, len(data))
        pieces = [data[begin : begin + PAGE] for begin in range(0, len(data), PAGE)]
        assert list(run.digests) == [digest(piece) for piece in pieces]
        assert not stored & set(run.digests)


def test_device_writes_are_the_same_when_played(program: Path, tmp_path: Path) -> None:
    record(tmp_path / "out", program, "allocations", tmp_path / "truth", "--results")
    play_as_recorded(tmp_path / "out")


def test_without_pages_only_calls_are_recorded(program: Path, tmp_path: Path) -> None:
    truth = tmp_path / "truth"
    stream = record(tmp_path / "out", program, "allocations", truth, "--pages", "none")
    with StreamReader(stream) as reader:
        kinds = {record.kind for record in reader.records()}
        assert len(list(submissions(reader))) == len(list(truths(truth)))
    assert kinds == {Kind.ABOUT, Kind.FUNCTION, Kind.CALL}


@needs_loader
@pytest.mark.parametrize("part", ["allocations", "images", "forks"])
def test_through_a_loader(part: str, program: Path, tmp_path: Path) -> None:
    compare(record(tmp_path / "out", program, part, tmp_path / "truth", "--real-loader"), tmp_path)


def test_killed_program_leaves_submission_memory(program: Path, tmp_path: Path) -> None:
    """What was submitted can be read, and the last submission has all that was written for it."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "groundstate", "record", "-o", str(out), "--"]
    running = subprocess.Popen([*command, str(program), "endless", str(tmp_path / "truth")])
    try:
        # A part of the journal has been moved to the stream by then, and others have not.
        while not [path for path in out.glob("*.gsstream") if path.stat().st_size > PAGE]:
            assert running.poll() is None
            time.sleep(0.01)
    finally:
        running.kill()
        running.wait()
    (stream,) = place.streams_in(out)
    with StreamReader(stream) as reader:
        found = list(submissions(reader))
        assert (reader.damage, reader.finished) == (None, False)
        assert len(found) > 20
        for turn, submission in list(enumerate(found, 1))[:: len(found) // 10]:
            pages = [run for writes in submission.writes for run in writes.runs]
            data = b"".join(map(reader.memory, pages))
            assert len(data) == 16 * PAGE
            starts = {data[page : page + 8] for page in range(0, len(data), PAGE)}
            assert starts == {struct.pack("<Q", turn)}
