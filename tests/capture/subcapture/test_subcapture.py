"""What is cut out of a recording plays by itself and leaves memory as the whole recording does."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pytest

from groundstate.capture import place
from groundstate.capture.describe import named_calls
from groundstate.capture.play import Player
from groundstate.capture.stream import (
    Kind,
    Mark,
    StreamError,
    StreamReader,
    StreamWriter,
    unpack_mark,
)
from groundstate.capture.structure import Outline, Selection
from groundstate.capture.subcapture import CutError, cut_by_kernel, cut_by_selection
from groundstate.capture.subcapture.needs import Needs
from groundstate.capture.subcapture.recorded import Recorded
from groundstate.cli.main import main
from tests.capture.recorded import GROUNDSTATE, ROOT, numbered
from tests.capture.stream.cuts import (
    assert_same_memory,
    cut_by,
    cut_out,
    memory_after,
    memory_behind,
    memory_in,
)
from tests.loader_stub import is_loader_installed


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return numbered(tmp_path_factory.mktemp("numbered"))


@pytest.mark.parametrize("text", ["1", "2", "3", "2-3", "2-5", "4/4/7", "5", "+"])
def test_whole_submissions(stream: Path, tmp_path: Path, text: str) -> None:
    target = tmp_path / "cut.gsstream"
    outcome = cut_out(stream, target, text)
    whole, part = memory_after(stream, outcome.last), memory_in(target)
    assert part
    assert_same_memory(part, whole)


@pytest.mark.parametrize(
    ("text", "kernels", "ends"),
    [
        ("1/1/2", 1, "1/1/2"),
        ("2/3/5", 1, "2/3/5"),
        ("3/3/4", 1, "3/3/4"),
        ("2/2-3/3-4", 2, "2/3/4"),
        ("2-3/3/5", 3, "3/3/5"),
        ("1-2/1-2/2-3", 2, "2/2/3"),
    ],
)
def test_parts_of_lists(stream: Path, tmp_path: Path, text: str, kernels: int, ends: str) -> None:
    target = tmp_path / "cut.gsstream"
    outcome = cut_out(stream, target, text)
    assert len(outcome.kernels) == kernels
    part, whole = memory_in(target), memory_behind(stream, ends)
    assert part
    assert_same_memory(part, whole)


@pytest.mark.parametrize(("name", "occurrence"), [("twist", 1), ("twist", 3), ("step", 6)])
def test_one_kernel(stream: Path, tmp_path: Path, name: str, occurrence: int) -> None:
    target = tmp_path / "one.gsstream"
    outcome = cut_by(
        stream, target, lambda recorded: cut_by_kernel(recorded.submissions, name, occurrence)
    )
    assert outcome.kernels == (name,)
    with StreamReader(target) as reader:
        outline = Outline(reader)
        names = [call.name for call in named_calls(reader)]
    assert [launch.kernel for launch in outline.submissions.launches] == [name]
    assert names.count("zeKernelCreate") == names.count("zeModuleCreate") == 1
    assert names.count("zeKernelSetArgumentValue") == 2
    with StreamReader(stream) as reader:
        places = [
            f"{submission.number}/{batch.list.number}/{launch.number}"
            for submission in Outline(reader).submissions.submissions
            for batch, launch in submission.launches()
            if launch.kernel == name
        ]
    part, whole = memory_in(target), memory_behind(stream, places[occurrence - 1])
    assert_same_memory(part, whole)


def test_cut_compares_recorded_device_results(tmp_path: Path) -> None:
    """The results are those of the program itself, not of a player."""
    stream, target = numbered(tmp_path, "--results"), tmp_path / "cut.gsstream"
    cut_out(stream, target, "4-5")
    with StreamReader(target) as reader:
        player = Player(reader, str(place.driver()))
        report = player.run()
        player.close()
    assert (report.compared > 0, report.differences) == (True, [])


def test_marks_surround_the_restored_state(stream: Path, tmp_path: Path) -> None:
    target = tmp_path / "cut.gsstream"
    cut_out(stream, target, "3")
    with StreamReader(target) as reader:
        records = list(reader.records())
    marks = {
        unpack_mark(record.body): record.number for record in records if record.kind == Kind.MARK
    }
    assert list(marks) == [Mark.RESTORE_BEGIN, Mark.RESTORE_END]
    with StreamReader(target) as reader:
        after = [call.name for call in named_calls(reader) if call.number > marks[Mark.RESTORE_END]]
    assert after == ["zeCommandQueueExecuteCommandLists", "zeCommandQueueSynchronize"]


def test_a_cut_can_be_cut_again(stream: Path, tmp_path: Path) -> None:
    large, small = tmp_path / "large.gsstream", tmp_path / "small.gsstream"
    cut_out(stream, large, "2-3")
    with StreamReader(large) as reader:
        runs = Outline(reader).submissions
        place_of_last = runs.submissions[-1].number
    outcome = cut_out(large, small, str(place_of_last))
    assert outcome.kernels == ("twist", "step")
    part, whole = memory_in(small), memory_in(large)
    assert_same_memory(part, whole)


def test_memory_is_the_same_on_another_topology(stream: Path, tmp_path: Path) -> None:
    target = tmp_path / "cut.gsstream"
    cut_out(stream, target, "2-5")
    code = (
        "import json, sys, zlib; from pathlib import Path;"
        "from tests.capture.stream.cuts import memory_in;"
        "found = memory_in(Path(sys.argv[1]));"
        "print(json.dumps({str(start): zlib.crc32(data) for start, data in found.items()}))"
    )
    command = [sys.executable, "-c", code, str(target)]
    environment = {**os.environ, "GROUNDSTATE_TOPOLOGY": "2x2"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    here = {str(start): zlib.crc32(data) for start, data in memory_in(target).items()}
    assert json.loads(done.stdout) == here


@pytest.mark.parametrize("seed", range(20))
def test_streams_that_somebody_changed(stream: Path, tmp_path: Path, seed: int) -> None:
    """What is needed is found from the calls alone, whatever they say."""
    chance = random.Random(seed)
    changed = tmp_path / "changed.gsstream"
    with StreamReader(stream) as reader, StreamWriter(changed) as writer:
        for found in reader.records():
            body = bytearray(found.body)
            if found.kind == Kind.CALL and chance.random() < 0.2:
                for _ in range(chance.randrange(1, 6)):
                    body[chance.randrange(len(body))] = chance.choice([0, 1, 255])
            writer.add(found.kind, bytes(body))
    text = chance.choice(["+", "1", "2/3/5", "+/+/2"])
    with StreamReader(changed) as reader, suppress(CutError, StreamError):
        recorded = Recorded(reader)
        cut = cut_by_selection(recorded.submissions, Selection.parse(text), text)
        assert all(number < cut.begin for number in Needs(recorded, cut).kept)


def commands(stream: Path, out: Path) -> Iterator[list[str]]:
    yield [*GROUNDSTATE, "subcapture", str(stream), "-o", str(out), "--kernel", "twist", "--json"]
    yield [*GROUNDSTATE, "play", str(out)]
    yield [*GROUNDSTATE, "play", "--topology", "2x2", str(out)]
    if is_loader_installed():
        yield [*GROUNDSTATE, "play", "--checked", str(out)]


def test_the_commands(stream: Path, tmp_path: Path) -> None:
    shown = []
    for command in commands(stream, tmp_path / "one"):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        shown.append(done.stdout)
    assert json.loads(shown[0])["kernels"] == ["twist"]


def test_the_list_of_what_runs(stream: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["subcapture", "--list", str(stream)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[-1].split()[:2] == ["5/2/3", "step"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--range", "9"), "it has submissions 1-5, lists 1-4, kernels 1-7"),
        (("--range", "3-1"), "numbers rise"),
        (("--kernel", "none"), "those that do: step, twist"),
        (("--kernel", "twist", "--occurrence", "9"), "runs only 3 times"),
    ],
)
def test_what_is_not_there(
    stream: Path,
    tmp_path: Path,
    arguments: tuple[str, ...],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "new" / "o"
    with mock.patch.dict(os.environ):  # the command is at home in a process of its own
        status = main(["subcapture", str(stream), "-o", str(out), *arguments])
    assert (status, list(tmp_path.iterdir())) == (1, [])
    assert sentence in capsys.readouterr().err


def test_a_folder_that_was_there_stays(stream: Path, tmp_path: Path) -> None:
    with mock.patch.dict(os.environ):
        status = main(["subcapture", str(stream), "-o", str(tmp_path), "--kernel", "none"])
    assert (status, tmp_path.is_dir()) == (1, True)
