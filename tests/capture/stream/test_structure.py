"""Submissions, lists and kernels are numbered as GITS does; objects have their lives."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from groundstate.capture.stream import StreamReader
from groundstate.capture.structure import (
    Life,
    Outline,
    Selection,
    SelectionError,
    Submissions,
)
from tests.capture.recorded import PROGRAMS, ROOT, built, numbered, only_stream, record, spirv_of


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return numbered(tmp_path_factory.mktemp("numbered"))


@pytest.fixture(scope="module")
def outline(stream: Path) -> Outline:
    with StreamReader(stream) as reader:
        return Outline(reader)


def places(submissions: Submissions) -> list[tuple[int, int, int]]:
    return [
        (submission.number, batch.list.number, launch.number)
        for submission in submissions.submissions
        for batch, launch in submission.launches()
    ]


def lives_of(outline: Outline, kind: str) -> list[Life]:
    return [life for life in outline.lifetimes.lives if kind in (life.kind, life.sort)]


def test_numbers_are_those_of_gits(outline: Outline) -> None:
    assert places(outline.submissions) == [
        *[(1, 1, 1), (1, 1, 2)],
        *[(2, 2, 3), (2, 3, 4), (2, 3, 5)],
        *[(3, 3, 4), (3, 3, 5)],
        *[(4, 4, 6), (4, 4, 7)],
        (5, 2, 3),
    ]
    assert outline.problem is None


def test_kernels_have_names_and_sizes(outline: Outline) -> None:
    launches = outline.submissions.launches
    names = ["step", "step", "step", "twist", "step", "step", "twist"]
    assert [launch.kernel for launch in launches] == names
    assert {launch.groups for launch in launches} == {(64, 1, 1)}
    assert {launch.group_size for launch in launches} == {(64, 1, 1)}


def test_lists_hold_all_that_was_appended(outline: Outline) -> None:
    first, second, third, immediate = outline.submissions.lists
    assert [command.function.removeprefix("zeCommandListAppend") for command in first.held()] == [
        "MemoryFill",
        "Barrier",
        "LaunchKernel",
        "Barrier",
        "LaunchKernel",
        "Barrier",
    ]
    assert [len(each.held()) for each in (second, third, immediate)] == [2, 4, 0]
    assert (immediate.immediate, immediate.submit) == (True, 4)
    assert outline.submissions.submissions[2].batches[0].commands is third.held()


@pytest.mark.parametrize(
    ("text", "kernels"),
    [
        ("2/3/5", [(2, 3, 5)]),
        ("2-3/3/4-5", [(2, 3, 4), (2, 3, 5), (3, 3, 4), (3, 3, 5)]),
        ("4", [(4, 4, 6), (4, 4, 7)]),
        ("1,5/+/1,3", [(1, 1, 1), (5, 2, 3)]),
        ("+/+/7", [(4, 4, 7)]),
        ("9/1/1", []),
    ],
)
def test_selections(outline: Outline, text: str, kernels: list[tuple[int, int, int]]) -> None:
    found = [
        (submission.number, batch.list.number, launch.number)
        for submission, batch, command in outline.submissions.selected(Selection.parse(text))
        for launch in command.launches
    ]
    assert found == kernels


@pytest.mark.parametrize(
    "text", ["", "a/1/1", "1/2/3/4", "3-1", "0", "-", "1//2", "1,/2", "9" * 30]
)
def test_selections_that_say_nothing(text: str) -> None:
    with pytest.raises(SelectionError):
        Selection.parse(text)


def test_lives_depend_on_what_made_them(outline: Outline) -> None:
    (context,) = lives_of(outline, "ze_context_handle_t")
    (module,) = lives_of(outline, "ze_module_handle_t")
    (device,) = lives_of(outline, "ze_device_handle_t")
    assert set(module.needs) == {context, device}
    assert all(kernel.needs == (module,) for kernel in lives_of(outline, "ze_kernel_handle_t"))
    used, unused = lives_of(outline, "device")
    (shared,) = lives_of(outline, "shared")
    assert (used.size, unused.size, shared.size) == (4096 * 4, 1 << 20, 4096 * 4)
    step, twist = lives_of(outline, "ze_kernel_handle_t")
    uses = outline.lifetimes.uses
    set_by = [number for number in step.changed_by if used in uses[number]]
    assert set_by
    assert any({twist, shared} <= set(uses[number]) for number in twist.changed_by)
    assert len(unused.changed_by) == 1  # it is only freed
    for life in outline.lifetimes.lives:
        kept = life.kind in ("ze_driver_handle_t", "ze_device_handle_t")
        assert (life.ended_by is None) == kept, life


def test_address_belongs_to_allocation_alive_then(outline: Outline) -> None:
    used, _ = lives_of(outline, "device")
    assert used.covers(used.value + 100)
    assert not used.covers(used.value + 4096 * 4)
    assert used.ended_by is not None
    assert used in set(outline.lifetimes.alive_at(used.ended_by))
    assert used not in set(outline.lifetimes.alive_at(used.ended_by + 1))
    assert outline.lifetimes.memory(used.value) is None  # at the end, nothing is left


def test_launches_of_every_form(tmp_path: Path) -> None:
    program = built(PROGRAMS / "launches.c", tmp_path)
    record(tmp_path / "out", program, spirv_of(PROGRAMS / "launches.cl", tmp_path), "forms")
    with StreamReader(only_stream(tmp_path / "out")) as reader:
        submissions = Outline(reader).submissions
    kernels = {launch.kernel for launch in submissions.launches}
    assert {"mark", "offsets", "meet", "take", "spin"} <= kernels
    (take,) = (launch for launch in submissions.launches if launch.kernel == "take")
    assert (take.groups, take.group_size) == ((3, 1, 1), (7, 1, 1))
    by_call: dict[int, int] = {}
    for launch in submissions.launches:
        by_call[launch.call] = by_call.get(launch.call, 0) + 1
    assert sorted(set(by_call.values())) == [1, 3]  # three kernels of one indirect append
    assert [launch.number for launch in submissions.launches] == list(
        range(1, len(submissions.launches) + 1)
    )


def test_python_program_graph_runs_its_kernels(tmp_path: Path) -> None:
    record(tmp_path / "out", sys.executable, ROOT / "examples" / "10_graphs.py")
    with StreamReader(only_stream(tmp_path / "out")) as reader:
        submissions = Outline(reader).submissions
    runs = [
        [launch.kernel for launch in command.all_launches()]
        for submission in submissions.submissions
        for batch in submission.batches
        for command in batch.commands
        if command.function == "zeCommandListAppendGraphExt"
    ]
    assert runs
    assert all(run and set(run) <= {x.kernel for x in submissions.launches} for run in runs)


def test_imported_memory_depends_on_its_source(tmp_path: Path) -> None:
    record(tmp_path / "out", built(ROOT / "tests" / "guide" / "external_memory.c", tmp_path))
    with StreamReader(only_stream(tmp_path / "out")) as reader:
        outline = Outline(reader)
    exported, imported = lives_of(outline, "device")
    (descriptor,) = lives_of(outline, "file descriptor")
    assert exported in descriptor.needs
    assert descriptor in imported.needs
    assert exported not in imported.needs


def test_damaged_streams_tell_what_is_left(stream: Path, tmp_path: Path, outline: Outline) -> None:
    data = stream.read_bytes()
    whole = len(places(outline.submissions))
    for place in range(32, len(data), max(1, len(data) // 60)):
        broken = tmp_path / f"{place}.gsstream"
        broken.write_bytes(data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :])
        with StreamReader(broken) as reader:
            part = Outline(reader)
        assert len(places(part.submissions)) <= whole
        assert (
            part.problem is not None
            or reader.finished is False
            or places(part.submissions) == places(outline.submissions)
        )
