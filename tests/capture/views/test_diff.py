"""Comparisons name the first kernel that differs, and the calls that do."""

from __future__ import annotations

import json
import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy
import pytest

from groundstate import ze
from groundstate.capture.play import Player
from groundstate.capture.views.comparing import difference
from groundstate.capture.views.diff import Finding, Outcome
from groundstate.capture.views.play_process import PlayEnded, PlayProcess, Side
from groundstate.cli.main import main
from groundstate.cli.streams.diff import print_outcome
from tests.capture.stream.streams import (
    BEFORE,
    Script,
    block,
    example,
    kernel_create,
    launch,
    word,
    work,
)
from tests.capture.views.viewed_program import record_program

pytestmark = pytest.mark.usefixtures("library")


def compared(capfd: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, dict[str, Any]]:
    status = main(["stream", "diff", *map(str, words), "--json"])
    said = capfd.readouterr()
    assert said.out, said.err
    outcome: dict[str, Any] = json.loads(said.out)
    return status, outcome


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Path:
    """The same program, with another number in its memory from the second submission on."""
    return record_program(tmp_path_factory.mktemp("other") / "out", "7.5")


def test_one_recording_on_another_topology(
    recorded: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, outcome = compared(capfd, recorded, "--right", "topology=2x2", "--right", "threads=2")
    assert (status, outcome["calls"], outcome["play"]["same"]) == (0, None, True)
    assert outcome["play"]["submissions"] == 3
    assert outcome["play"]["buffers"] == 6


def test_diff_names_first_kernel_that_differs(
    recorded: Path, other: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, outcome = compared(capfd, recorded, other)
    assert status == 1
    assert outcome["calls"]["count"] == 0
    first = outcome["play"]["first"]
    assert (first["kernel"], first["place"], first["argument"]) == ("scale", "2/1/1", 0)
    assert (first["name"], first["inputs_equal"]) == ("x", False)
    found = first["difference"]
    assert (found["count"], found["first"], found["dtype"]) == (1, 0, "float32")
    assert (found["expected"], found["found"], found["absolute"]) == (10.0, 15.0, 5.0)


def test_tolerances_decide(recorded: Path, other: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _, outcome = compared(capfd, recorded, other, "--atol", "5")
    assert outcome["play"]["same"]
    assert outcome["play"]["within_tolerance"] >= 2


def test_the_finding_in_text(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = (numpy.array([1, number], "float32").tobytes() for number in (2, 3))
    found = difference(one, other, "float32")
    first = Finding("2/1/1", "scale", 0, "x", "shared", found, str(found), inputs_equal=True)
    print_outcome(None, Outcome(submissions=2, items=4, size=4096, close=1, first=first))
    assert capsys.readouterr().out.splitlines() == [
        "memory: 4 buffers after 2 submissions, 4.0 KiB, alike until one differs; "
        "1 within the tolerance",
        "the first that differs: scale at 2/1/1",
        "  argument 0 (x), shared memory",
        "  1 of 2 elements (float32), the first at 1; the worst at 1: 2.0 and 3.0, 1 apart, "
        "4,194,304 ulp",
        "  its inputs were equal: it is this kernel",
    ]


def test_a_kernel_that_is_compiled_otherwise(
    recorded: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    flags = "options=-cl-fast-relaxed-math"
    status, outcome = compared(capfd, recorded, "--right", flags, "--ulp", "64")
    assert (status, outcome["play"]["same"]) == (0, True)
    status, outcome = compared(capfd, recorded, "--left", "options=nonsense")
    assert status == 1
    assert any("zeModuleCreate" in call for call in outcome["play"]["calls"])


def test_calls_that_differ(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def program(name: str, *, group: int, extra: bool, base: int) -> Path:
        script = Script(tmp_path / f"{name}.gsstream")
        script.call("zeInit", 0)
        kernel_create(script, base, b"scale")
        script.call("zeKernelSetGroupSize", base, group, 1, 1)
        if extra:
            script.call("zeEventHostReset", base + 64)
        for _ in range(3 if extra else 1):
            script.call("zeEventQueryStatus", base + 64, result=ze.ZE_RESULT_NOT_READY)
        launch(script, base + 128, base)
        value = (block(0x10, base.to_bytes(8, "little")),)
        script.call("zeKernelSetArgumentValue", base, 0, 8, 0x10, blocks=value)
        return script.close()

    one = program("one", group=64, extra=False, base=0x7F00_0000_0000)
    same = program("same", group=64, extra=False, base=0x7F11_0000_0000)
    other = program("other", group=32, extra=True, base=0x7F22_0000_0000)
    status, outcome = compared(capfd, one, same, "--calls")
    assert (status, outcome["calls"]["count"], outcome["play"]) == (0, 0, None)
    status, outcome = compared(capfd, one, other, "--calls")
    assert status == 1
    changed, added = outcome["calls"]["differences"]
    assert "groupSizeX=64" in changed["left_text"]
    assert "groupSizeX=32" in changed["right_text"]
    assert (added["left"], added["right_text"][:16]) == (None, "zeEventHostReset")


def test_uploads_that_differ(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name, content in (("one", b"1"), ("two", b"2")):
        script = Script(tmp_path / f"{name}.gsstream")
        script.writer.writes([(0x7F00_0000_0000, b"0" * 4096)])
        script.writer.writes([(0x7F00_0000_0000, content * 4096)])
        script.close()
    paths = tmp_path / "one.gsstream", tmp_path / "two.gsstream"
    assert main(["stream", "diff", *map(str, paths), "--calls"]) == 1
    assert "uploads: 1 of 2 differ, first in records" in capfd.readouterr().out


def test_names_behind_structs_are_compared(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in (b"one", b"two"):
        script = Script(tmp_path / f"{name.decode()}.gsstream")
        kernel_create(script, 0x400, name)
        script.close()
    paths = tmp_path / "one.gsstream", tmp_path / "two.gsstream"
    assert compared(capfd, *paths, "--calls")[1]["calls"]["count"] == 1


def test_lists_of_handles_are_compared(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name, lists in (("one", 0x200), ("two", 0x208)):
        script = Script(tmp_path / f"{name}.gsstream")
        for handle in (0x200, 0x208):
            script.call("zeCommandListClose", handle)
        blocks = (word(0x2200, lists, BEFORE),)
        script.call("zeCommandQueueExecuteCommandLists", 0x100, 1, 0x2200, 0, blocks=blocks)
        script.close()
    paths = tmp_path / "one.gsstream", tmp_path / "two.gsstream"
    assert compared(capfd, *paths, "--calls")[1]["calls"]["count"] == 1


def _crash(player: Player, connection: Connection, data: Any) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def test_a_play_that_crashes_is_a_sentence(tmp_path: Path, library: Path) -> None:
    side = Side(example(tmp_path / "a.gsstream"), str(library))
    with (
        PlayProcess(side, _crash) as process,
        pytest.raises(PlayEnded, match=r"a\.gsstream .* SIGSEGV"),
    ):
        process.result()


def test_wrong_words_are_answered_with_a_sentence(
    recorded: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["stream", "diff", str(recorded)])
    assert ended.value.code == 2
    assert "name a second recording" in capfd.readouterr().err
    assert main(["stream", "diff", str(recorded), str(tmp_path)]) == 1
    assert "there is no recording" in capfd.readouterr().err
    assert main(["stream", "diff", str(recorded), "--right", "driver=/no/such.so"]) == 1
    assert "cannot open /no/such.so" in capfd.readouterr().err
    for words in (["--right", "nonsense"], ["--rtol", "-1"], ["--atol", "many"]):
        with pytest.raises(SystemExit) as ended:
            main(["stream", "diff", str(recorded), *words])
        assert ended.value.code == 2
        capfd.readouterr()
    example(tmp_path / "a.gsstream")
    work(tmp_path / "b.gsstream")
    assert main(["stream", "diff", str(tmp_path), str(recorded)]) == 1
    assert "choose one of its streams: a.gsstream, b.gsstream" in capfd.readouterr().err
