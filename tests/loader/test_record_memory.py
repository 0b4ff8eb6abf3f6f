"""A recording has the memory that work reads, as the program says it was."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from groundstate.capture import place
from groundstate.capture.describe import NamedCall, named_calls
from groundstate.capture.stream import Kind, StreamReader, Writes, WritesFlag
from groundstate.capture.stream.formats import PAGE, Phase
from groundstate.capture.stream.layout import digest

from .conftest import ROOT, TIMEOUT, Build

pytestmark = pytest.mark.usefixtures("headers", "library")

SUBMISSIONS = (
    "zeCommandListAppend",
    "zeCommandListImmediateAppend",
    "zeCommandQueueExecute",
    "zeEventHostSignal",
)
ALONE = ("allocations", "sources", "images", "sharing", "mapped", "imported", "nested", "forks")
"""Parts of the program in which nobody writes while the device works."""
PARTS = (*ALONE, "waiting", "threads", "passing_threads", "host_function")


@pytest.fixture(scope="session")
def program(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, with the declarations of the newest API instead of the installed ones."""
    newest = tmp_path_factory.mktemp("newest")
    (newest / "level_zero").mkdir()
    (newest / "level_zero" / "ze_api.h").write_text('#include "generated/functions.h"\n')
    folder = place.library().parent
    link = (f"-L{folder}", "-l:libze_capture.so", f"-Wl,-rpath,{folder}")
    return build("recorded_memory", f"-I{newest}", f"-I{ROOT / 'native'}", *link)


@pytest.fixture(scope="session")
def slow(build: Build) -> str:
    """What is preloaded so that the recorder leaves other threads the time to get in between."""
    library = build("slow_recorder", "-fPIC", "-shared", "-ldl", output="slow_recorder.so")
    return ":".join(filter(None, [str(library), os.environ.get("LD_PRELOAD")]))


@dataclass
class Memory:
    """What a stream says of memory up to some record."""

    runs: list[tuple[int, bytes]] = field(default_factory=list)

    def write(self, reader: StreamReader, writes: Writes) -> None:
        self.runs += [(run.address, reader.memory(run)) for run in writes.runs]

    def read(self, address: int, size: int) -> bytes:
        found = bytearray(size)
        for begin, data in self.runs:
            first, last = max(begin, address), min(begin + len(data), address + size)
            if first < last:
                found[first - address : last - address] = data[first - begin : last - begin]
        return bytes(found)


@dataclass
class Submission:
    """A call that gave work to the device, and the memory records before it."""

    call: NamedCall
    writes: list[Writes]


def submissions(reader: StreamReader) -> Iterator[Submission]:
    calls = {call.number: call for call in named_calls(reader)}
    lists = regular_lists(calls.values())
    pending: list[Writes] = []
    for record in reader.records():
        if record.kind == Kind.WRITES:
            pending.append(Writes.unpack(record.body))
        call = calls.get(record.number)
        if call is None or not call.name.startswith(SUBMISSIONS):
            continue
        if call.call.arguments[0] not in lists:
            yield Submission(call, pending)
            pending = []


def regular_lists(calls: Iterable[NamedCall]) -> set[int]:
    made = (call for call in calls if call.name == "zeCommandListCreate")
    return {call.value("phCommandList", Phase.AFTER)[0] for call in made}


def truths(path: Path) -> Iterator[list[tuple[int, bytes]]]:
    """What the program said before each submission: addresses and bytes."""
    data, at, said = path.read_bytes(), 0, []
    while at < len(data):
        address, size = struct.unpack_from("<QQ", data, at)
        at += 16
        if address == 0:
            yield said
            said = []
            continue
        said.append((address, data[at : at + size]))
        at += size


def record(
    out: Path, program: Path, part: str, truth: Path, *options: str, preload: str = ""
) -> Path:
    command = [sys.executable, "-m", "groundstate", "record", "-o", str(out), *options, "--"]
    if preload:
        command += ["env", f"LD_PRELOAD={preload}"]
    done = subprocess.run(
        [*command, str(program), part, str(truth)], capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.returncode == 0, done.stderr
    (stream,) = place.streams_in(out)
    return stream


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


@pytest.mark.parametrize("pages", ["userfaultfd", "compare"])
def test_recorder_keeps_writes_between_its_scans(
    pages: str, program: Path, slow: str, tmp_path: Path
) -> None:
    out, truth = tmp_path / "out", tmp_path / "truth"
    stream = record(out, program, "passing_threads", truth, "--pages", pages, preload=slow)
    compare(stream, tmp_path)


def kernel_tells() -> bool:
    """Whether the kernel can tell written pages: it is new enough, and nothing forbids to ask."""
    release = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
    number = {"x86_64": 323, "aarch64": 282}[os.uname().machine]
    opened = ctypes.CDLL(None).syscall(number, os.O_CLOEXEC | 1)
    if opened >= 0:
        os.close(opened)
    return opened >= 0 and release >= (6, 7)


def compare(stream: Path, folder: Path) -> list[WritesFlag]:
    """Whether each submission finds what the program said; the flags of the records."""
    memory = Memory()
    with StreamReader(stream) as reader:
        found = list(submissions(reader))
        expected = list(truths(folder / "truth"))
        assert len(found) == len(expected) > 0
        for submission, said in zip(found, expected, strict=True):
            for writes in submission.writes:
                memory.write(reader, writes)
            for address, data in said:
                assert memory.read(address, len(data)) == data, submission.call
        assert (reader.damage, reader.finished) == (None, True)
    return [writes.flags for submission in found for writes in submission.writes]


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


@pytest.mark.parametrize("speed", ["fast", "slow"])
@pytest.mark.parametrize("part", ["allocations", "threads", "passing_threads", "sleeping_thread"])
def test_device_writes_are_the_same_when_played(
    part: str, speed: str, program: Path, slow: str, tmp_path: Path
) -> None:
    """Other threads' writes are not taken for the device's."""
    preload = slow if speed == "slow" else ""
    record(tmp_path / "out", program, part, tmp_path / "truth", "--results", preload=preload)
    command = [sys.executable, "-m", "groundstate", "play", str(tmp_path / "out")]
    played = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert (played.returncode, "0 not as recorded" in played.stdout) == (0, True), played.stdout


def test_without_pages_only_calls_are_recorded(program: Path, tmp_path: Path) -> None:
    truth = tmp_path / "truth"
    stream = record(tmp_path / "out", program, "allocations", truth, "--pages", "none")
    with StreamReader(stream) as reader:
        kinds = {record.kind for record in reader.records()}
        assert len(list(submissions(reader))) == len(list(truths(truth)))
    assert kinds == {Kind.ABOUT, Kind.FUNCTION, Kind.CALL}


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
