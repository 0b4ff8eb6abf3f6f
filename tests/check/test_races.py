"""Races and barriers: what is found in labelled kernels, and what a report says.

`python -m tests.check races sync` prints recall and false alarms.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.check.labelled.copies import TOGETHER
from tests.check.labelled.measure import Outcome, run_suite
from tests.check.labelled.races import BARRIERS
from tests.check.labelled.suites import SUITES

PROGRAM = """
import sys
import groundstate as gs
context = gs.default_context()
module = gs.Module(context, opencl=sys.argv[1], name="k.cl")
commands = context.default_list()
memory = context.alloc_shared(4096, "int32")
commands.fill(memory, 0)
module[module.kernel_names[0]](commands, int(sys.argv[2]), int(sys.argv[3]), memory)
commands.synchronize()
print(*memory.tolist()[: int(sys.argv[4])])
"""
"""Runs a kernel that takes one allocation."""


def run(
    folder: Path, source: str, groups: int, size: int, shown: int = 0, before: str = "", **more: str
) -> tuple[list[dict[str, Any]], list[str]]:
    """What is found in a kernel, and the first numbers that it leaves."""
    output = folder / "findings"
    output.write_text("")
    environment = os.environ | {
        "GROUNDSTATE_CHECK": "races,sync",
        "GROUNDSTATE_CHECK_OUTPUT": str(output),
        **more,
    }
    command = [sys.executable, "-c", before + PROGRAM, source, str(groups), str(size), str(shown)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    return [each for each in lines if "kind" in each], ended.stdout.split()


# --- Labelled kernels -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def outcomes() -> dict[str, dict[str, Outcome]]:
    return {
        checker: {each.case.name: each for each in run_suite(checker)}
        for checker in ("races", "sync")
    }


@pytest.mark.parametrize("name", [case.name for case in SUITES["races"]])
def test_race_is_found_where_there_is_one(
    outcomes: dict[str, dict[str, Outcome]], name: str
) -> None:
    outcome = outcomes["races"][name]
    assert outcome.kinds == ({outcome.case.kind} if outcome.case.kind else set())


@pytest.mark.parametrize("name", [case.name for case in (*BARRIERS, *TOGETHER)])
def test_barrier_or_copy_is_reported_if_not_all_reach_it(
    outcomes: dict[str, dict[str, Outcome]], name: str
) -> None:
    outcome = outcomes["sync"][name]
    assert outcome.kinds == ({outcome.case.kind} if outcome.case.kind else set())


# --- Reports --------------------------------------------------------------------------------------

NEIGHBOUR = """kernel void neighbour(global int *a) {
    uint i = get_global_id(0);
    a[i + 1] = i;
    a[i] += 5;
}"""


def test_race_shows_both_accesses(tmp_path: Path) -> None:
    found, _ = run(tmp_path, NEIGHBOUR, 1, 4, GROUNDSTATE_SHAPE="scalar")
    shown = [
        ([place["line"] for place in each["places"]], [place["label"] for place in each["places"]])
        for each in found
    ]
    assert ([4, 3], ["read by work-item (1, 0, 0)", "write by work-item (0, 0, 0)"]) in shown
    assert {each["kernel"] for each in found} == {"neighbour"}
    assert all("CLK_GLOBAL_MEM_FENCE" in each["notes"][-1] for each in found)


def test_divergent_barrier_says_who_waits_where(tmp_path: Path) -> None:
    source = """kernel void apart(global int *a) {
    if (get_local_id(0) < 3)
        barrier(CLK_LOCAL_MEM_FENCE);
    else if (get_local_id(0) < 7)
        barrier(CLK_GLOBAL_MEM_FENCE);
    a[get_local_id(0)] = 1;
}"""
    (found,), _ = run(tmp_path, source, 1, 8)
    assert [place["line"] for place in found["places"]] == [3, 5]
    assert found["places"][0]["label"] == "3 of 8 work-items wait here"
    assert "4 wait at another barrier, the first is (3, 0, 0)" in found["notes"]
    assert "1 have ended" in found["notes"]


def test_work_items_go_on_from_their_own_barriers(tmp_path: Path) -> None:
    source = """kernel void apart(global int *a) {
    uint l = get_local_id(0);
    if (l == 7) return;
    a[l] = 10;
    if (l % 2) { barrier(CLK_GLOBAL_MEM_FENCE); a[l] += 1; }
    else { barrier(CLK_LOCAL_MEM_FENCE); a[l] += 2; }
}"""
    _, numbers = run(tmp_path, source, 1, 8, 8)
    assert numbers == ["12", "11", "12", "11", "12", "11", "12", "0"]


SAME_VALUE = "kernel void same(global int *a) { a[0] = 1; }"


def test_same_values_are_reported_by_option(tmp_path: Path) -> None:
    quiet, _ = run(tmp_path, SAME_VALUE, 4, 64)
    found, _ = run(tmp_path, SAME_VALUE, 4, 64, GROUNDSTATE_CHECK_SAME_VALUES="1")
    assert quiet == []
    assert {each["kind"] for each in found} == {"race-in-global-memory"}
    assert all("which store the same value" in each["title"] for each in found)


# --- The checker itself ---------------------------------------------------------------------------

DEAF = """
from groundstate.compiler.instrument import passes
passes.INSTRUMENT["races"] = ()
"""
UNORDERED = """
from groundstate.compiler.instrument import races
races.fences_of = lambda semantics: 0
"""
ORDERLY = """kernel void orderly(global int *a) {
    a[get_local_id(0)] = 1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    a[64 + get_local_id(0)] = a[get_local_id(0) ^ 1];
}"""


def test_checker_without_its_pass_finds_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, NEIGHBOUR, 1, 64, GROUNDSTATE_CACHE="0")[0]
    assert not run(tmp_path, NEIGHBOUR, 1, 64, before=DEAF, GROUNDSTATE_CACHE="0")[0]


APART = """kernel void apart(global int *a) {
    if (get_local_id(0) < 3) barrier(CLK_LOCAL_MEM_FENCE);
}"""
UNTOLD_BARRIERS = """
from groundstate.compiler.instrument import races
races._barrier = lambda kernel, node, before: []
"""


def test_checker_that_hears_of_no_barriers_finds_no_divergent_one(tmp_path: Path) -> None:
    assert run(tmp_path, APART, 1, 64, GROUNDSTATE_CACHE="0")[0]
    assert not run(tmp_path, APART, 1, 64, before=UNTOLD_BARRIERS, GROUNDSTATE_CACHE="0")[0]


def test_checker_that_ignores_fences_raises_false_alarms(tmp_path: Path) -> None:
    assert not run(tmp_path, ORDERLY, 1, 64, GROUNDSTATE_CACHE="0")[0]
    assert run(tmp_path, ORDERLY, 1, 64, before=UNORDERED, GROUNDSTATE_CACHE="0")[0]


ONE_COPY = """kernel void one_copy(global int *a) {
    local int t[64];
    if (get_local_id(0) == 0) {
        event_t done = async_work_group_copy(t, a, 64, 0);
    }
}"""
WITHOUT_WORD_OF_COPIES = """
from groundstate.compiler.instrument import group_copies
group_copies.tell_together = lambda kernel, node: iter(())
"""
LEFT_WITHOUT_WAIT = """kernel void left(global int *a) {
    local int t[64];
    event_t done = async_work_group_copy(t, a, 64, 0);
    barrier(CLK_LOCAL_MEM_FENCE);
    a[64 + get_local_id(0)] = t[get_local_id(0)];
}"""


def test_checker_that_hears_of_no_copies_finds_no_divergent_one(tmp_path: Path) -> None:
    def kinds(before: str) -> set[str]:
        found, _ = run(tmp_path, ONE_COPY, 1, 64, before=before, GROUNDSTATE_CACHE="0")
        return {each["kind"] for each in found}

    assert "divergent-copy" in kinds("")
    assert "divergent-copy" not in kinds(WITHOUT_WORD_OF_COPIES)


def test_race_with_a_copy_says_that_it_is_not_waited_for(tmp_path: Path) -> None:
    found, _ = run(tmp_path, LEFT_WITHOUT_WAIT, 1, 64)
    (race,) = (each for each in found if each["kind"] == "race-in-local-memory")
    (left,) = (each for each in found if each["kind"] == "unawaited-copy")
    assert [place["line"] for place in race["places"]] == [5, 3]
    assert "wait_group_events" in race["notes"][-1]
    assert left["places"][0]["line"] == 3


def test_null_pointer_is_no_race(tmp_path: Path) -> None:
    source = """kernel void nowhere(global int *a) {
    global int *p = a[9] ? a : 0;
    *p = get_global_id(0);
}"""
    found, _ = run(tmp_path, source, 1, 64, GROUNDSTATE_CHECK="memory,races")
    assert {each["kind"] for each in found} == {"null-write"}


BENCHMARKS = """
from benchmarks.kernels.cases import SMALL_CASES
from benchmarks.kernels.irregular import SMALL_IRREGULAR_CASES
from benchmarks.kernels.runtimes import Groundstate
runtime = Groundstate()
for case in (SMALL_CASES | SMALL_IRREGULAR_CASES).values():
    given = case.arguments()
    prepared = runtime.build(case, [runtime.upload(each) for each in given])
    prepared.launch()
    assert case.mistake(case.expected(given), prepared.result(given[case.result])) == "", case.name
runtime.close()
"""


def test_benchmark_kernels_are_right_and_free_of_races(tmp_path: Path) -> None:
    found, _ = run(tmp_path, SAME_VALUE, 1, 1, before=BENCHMARKS)
    assert found == []
