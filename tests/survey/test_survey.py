"""Every module gets an outcome, whatever it does to the compiler."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from groundstate.cli.main import main
from groundstate.survey.crew import Task, Worker
from groundstate.survey.report import general
from groundstate.survey.trial import Outcome, compile_module
from tests.survey.modules import (
    exporting,
    for_vector_registers,
    importing,
    kernel,
    refused,
    shared_object,
)
from tests.terminal import errors_on_a_terminal

GOOD = kernel("good", 5)


def test_a_module_is_compiled_for_each_width() -> None:
    outcome = compile_module([GOOD], (16, 1), {})
    assert (outcome.result, outcome.sentence, outcome.kernels) == ("compiled", "", ("good",))
    assert len(outcome.made) == 2
    assert outcome.lines > 0
    assert outcome.seconds >= sum(outcome.made.values()) > 0


def test_the_same_code_is_compiled_once() -> None:
    """Kernels that differ in their names only are the same code; its time counts for each."""
    first = compile_module([GOOD], (16, 1), {})
    made = dict.fromkeys(first.made, 1000.0)
    second = compile_module([kernel("other", 5)], (16, 1), made)
    assert (second.result, second.made) == ("compiled", {})
    assert second.seconds > 2000


@pytest.mark.parametrize(
    ("module", "result", "words"),
    [
        (importing("lonely", "elsewhere"), "incomplete", "elsewhere"),
        (refused("kills"), "refused", "it is for shaders"),
        (for_vector_registers(), "refused", "vectors of 768 elements"),
        (importing("esimd", "llvm.genx.slm.init"), "refused", "of one kind of GPU"),
        (GOOD[:-8], "failed", "it has no end"),
        (b"nonsense" * 4, "failed", "this is not SPIR-V"),
    ],
)
def test_what_is_not_compiled_says_why(module: bytes, result: str, words: str) -> None:
    outcome = compile_module([module], (1,), {})
    assert outcome.result == result
    assert words in outcome.sentence


def test_modules_are_linked_with_what_they_need() -> None:
    parts = [importing("whole", "one"), exporting("one")]
    outcome = compile_module(parts, (1,), {})
    assert (outcome.result, outcome.kernels) == ("compiled", ("whole",))


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (signal.SIGKILL, "the compiler's process was ended by SIGKILL"),
        (signal.SIGXCPU, "it takes longer than 7 s"),
    ],
)
def test_a_process_that_dies_costs_its_module(number: signal.Signals, sentence: str) -> None:
    worker = Worker(multiprocessing.get_context("forkserver"), (1,), 7, {})
    try:
        assert worker.process.pid is not None
        os.kill(worker.process.pid, number)
        worker.give(Task("0", (GOOD,)))
        outcome = worker.take(7)
        assert (outcome.result, outcome.sentence, worker.left) == ("failed", sentence, 0)
    finally:
        worker.close()


def test_messages_group_without_names_and_numbers() -> None:
    first = general("in function '_ZN3abc', OpLoad at word 40: type i32 is not float")
    assert first == general("in function '_ZN3def', OpLoad at word 7: type i32 is not float")
    assert first != general("in function '_ZN3def', OpStore at word 7: type i32 is not float")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    contents = [GOOD, importing("whole", "one"), exporting("one"), importing("lonely", "nowhere")]
    contents += [refused("kills"), GOOD[:-8], kernel("same", 5)]
    return shared_object(tmp_path, [(each, len(each)) for each in contents])


def survey(
    capsys: pytest.CaptureFixture[str], *arguments: str | Path
) -> tuple[int, dict[str, Any]]:
    status = main(["survey", "--json", "--jobs", "2", "--width", "1", *map(str, arguments)])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return status, report


def test_a_library_is_surveyed_and_reported(
    library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state, saved = tmp_path / "state.jsonl", tmp_path / "saved"
    status, report = survey(capsys, library, "--state", state, "--save", saved)
    assert status == 1
    assert report["results"] == {"compiled": 4, "incomplete": 1, "refused": 1, "failed": 1}
    assert (report["modules"], report["compiled_now"], report["kernels"]) == (7, 7, 3)
    assert {each["result"]: each["modules"] for each in report["reasons"]} == {
        "incomplete": 1,
        "refused": 1,
        "failed": 1,
    }
    assert sorted(path.read_bytes() for path in saved.iterdir()) == sorted(
        [importing("lonely", "nowhere"), refused("kills"), GOOD[:-8]]
    )

    with state.open("a") as file:
        file.write('{"key": "cut sho')
    _, again = survey(capsys, library, "--state", state)
    assert (again["compiled_now"], again["results"]) == (0, report["results"])


def test_a_survey_to_read(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (library.parent / "k.spv").write_bytes(GOOD)
    assert main(["survey", str(library.parent / "k.spv")]) == 0
    text = capsys.readouterr().out
    assert text.startswith("1 different modules of 1 in 1 files\n1 tried, for as many lanes as")
    assert "1  compiled" in text
    assert "good" in text


def test_a_sample_is_the_same_each_time(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, report = survey(capsys, library, "--sample", "2")
    _, again = survey(capsys, library, "--sample", "2")
    assert report["modules"] == 2
    assert {each["module"] for each in report["slowest"]} == {
        each["module"] for each in again["slowest"]
    }


@pytest.mark.parametrize(("wanted", "is_shown"), [("1", True), ("0", False)])
def test_a_bar_shows_how_far_it_is(wanted: str, is_shown: bool, tmp_path: Path) -> None:
    (tmp_path / "k.spv").write_bytes(GOOD)
    command = ("-m", "groundstate", "survey", str(tmp_path / "k.spv"))
    shown = errors_on_a_terminal(*command, GROUNDSTATE_PROGRESS=wanted)
    assert ("1/1" in shown) is is_shown
    assert bool(shown) is is_shown


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_files_without_modules_are_named(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "words.txt").write_text("no modules")
    (tmp_path / "folder").mkdir()
    named = [str(tmp_path / "words.txt"), str(tmp_path / "folder")]
    assert main(["survey", *options, *named]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"{', '.join(named)}: no SPIR-V module was found; name shared objects" in shown.err


def test_a_path_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["survey", str(tmp_path / "nothing.so")]) == 1
    assert "nothing.so: no such file" in capsys.readouterr().err


def test_outcome_of_damaged_file_is_refused() -> None:
    with pytest.raises(ValueError, match="no result"):
        Outcome.from_json({"result": "splendid"})
