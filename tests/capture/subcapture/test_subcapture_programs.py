"""Cuts of programs with images, mapped memory, graphs, events and launches of every form."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from groundstate import ze
from groundstate.capture.play import Options
from groundstate.capture.stream import StreamReader
from groundstate.capture.structure import Outline
from groundstate.capture.subcapture import CutError
from tests.capture.recorded import PROGRAMS, ROOT, built, only_stream, record, spirv_of
from tests.capture.stream.cuts import (
    assert_same_memory,
    cut_by,
    cut_out,
    memory_after,
    memory_in,
    submission,
)
from tests.conftest import check
from tests.guide.kernels import write_kernels


def recorded_program(name: str, folder: Path) -> Path:
    """The recording of a program: one of the guide's, a C program with kernels, or an example."""
    if name.startswith("guide/"):
        program = built(ROOT / "tests" / f"{name}.c", folder)
        write_kernels(program.name, folder / "kernels")
        record(folder / "out", program, folder / "kernels")
    elif name.startswith("examples/"):
        record(folder / "out", sys.executable, ROOT / f"{name}.py")
    else:
        program = built(PROGRAMS / f"{name}.c", folder)
        spirv = spirv_of(PROGRAMS / f"{name}.cl", folder)
        record(folder / "out", program, spirv, *(["forms"] if name == "launches" else []))
    return only_stream(folder / "out")


@pytest.mark.parametrize(
    "name",
    [
        "images",
        "guide/reserved_memory",
        "guide/growing",
        "guide/fences",
        "guide/external_memory",
        "guide/dynamic_link",
        "examples/05_events",
        "examples/10_graphs",
    ],
)
def test_cut_of_last_or_middle_submission_matches(name: str, tmp_path: Path) -> None:
    stream = recorded_program(name, tmp_path)
    with StreamReader(stream) as reader:
        count = len(Outline(reader).submissions.submissions)
    for place in {-1, count // 2 - count}:
        target = tmp_path / f"cut{place}.gsstream"
        outcome = cut_by(stream, target, submission(place))
        part, whole = memory_in(target), memory_after(stream, outcome.last)
        assert_same_memory(part, whole)


def test_every_form_of_launch(tmp_path: Path) -> None:
    stream = recorded_program("launches", tmp_path)
    with StreamReader(stream) as reader:
        submissions = Outline(reader).submissions.submissions
    forms = {run.function if run.batches[0].list.immediate else "list": run for run in submissions}
    assert len(forms) >= 5
    for number, run in enumerate(forms.values()):
        target = tmp_path / f"{number}.gsstream"
        outcome = cut_by(stream, target, submission(submissions.index(run)))
        part, whole = memory_in(target), memory_after(stream, outcome.last)
        assert_same_memory(part, whole)


def test_memory_that_holds_addresses(tmp_path: Path) -> None:
    """The kernel follows a chain of addresses; its arguments lead to the first one only."""
    stream = recorded_program("guide/residency", tmp_path)
    options = Options(scan_pointers=True)
    for place in (0, 1):  # once any host memory may be reached, once two nodes are resident
        target = tmp_path / f"{place}.gsstream"
        outcome = cut_by(stream, target, submission(place), options)
        part = memory_in(target, options)
        whole = memory_after(stream, outcome.last, options)
        assert len(part) == 4
        assert_same_memory(part, whole)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("1", "take a larger range"), ("2", "begin the range at submission 1")],
)
def test_ranges_that_need_what_is_outside(
    text: str, sentence: str, tmp_path: Path, device: int
) -> None:
    program = built(PROGRAMS / "pipeline.c", tmp_path)
    record(tmp_path / "out", program)
    stream, target = only_stream(tmp_path / "out"), tmp_path / "cut.gsstream"
    with pytest.raises(CutError, match=sentence):
        cut_out(stream, target, text, Options(patience=0.5))
    assert not target.exists()
    # What was played up to the range waited for what the program did later, and waits no more.
    check(ze.zeDeviceSynchronize(device))
