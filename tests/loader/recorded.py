"""Programs that say what memory holds when they submit work, and whether a recording says so."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from groundstate.capture import place
from groundstate.capture.describe import NamedCall, named_calls
from groundstate.capture.stream import Kind, StreamReader, Writes, WritesFlag
from groundstate.capture.stream.formats import Phase

from .conftest import ROOT, TIMEOUT, Build

SUBMISSIONS = (
    "zeCommandListAppend",
    "zeCommandListImmediateAppend",
    "zeCommandQueueExecute",
    "zeEventHostSignal",
)


def build_recorded(build: Build, name: str, folder: Path) -> Path:
    """A program, with the declarations of the newest API instead of the installed ones."""
    newest = folder / "newest"
    (newest / "level_zero").mkdir(parents=True)
    (newest / "level_zero" / "ze_api.h").write_text('#include "generated/functions.h"\n')
    libraries = place.library().parent
    link = (f"-L{libraries}", "-l:libze_capture.so", f"-Wl,-rpath,{libraries}", "-rdynamic")
    return build(name, f"-I{newest}", f"-I{ROOT / 'native'}", *link)


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


def play_as_recorded(recording: Path) -> None:
    """Plays a recording that says what the device wrote; it has to write the same."""
    command = [sys.executable, "-m", "groundstate", "play", str(recording)]
    played = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert (played.returncode, "0 not as recorded" in played.stdout) == (0, True), played.stdout
