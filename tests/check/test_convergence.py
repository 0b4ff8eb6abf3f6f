"""Operations of sub-groups in divergent code: what is found, and what a report says.

`python -m tests.check sync` prints recall and false alarms.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.check.labelled.cases import Case
from tests.check.labelled.measure import Outcome, run_suite
from tests.check.labelled.subgroups import CASES


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """What is found in each labelled kernel."""
    return {each.case.name: each for each in run_suite("sync")}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_kernel_has_the_findings_of_its_label(case: Case, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[case.name]
    assert outcome.is_right, (case.kind, outcome.findings)


def test_report_names_who_is_missing(outcomes: dict[str, Outcome]) -> None:
    (found,) = outcomes["reduction_without_one"].findings
    assert found["title"] == (
        "not all work-items of a sub-group come to a sub-group reduction or scan"
    )
    assert found["places"][0]["label"] == "15 of 16 work-items are here"
    assert "missing: work-item (3, 0, 0)" in found["notes"]
    assert found["count"] == 4


def test_shuffle_names_both_lanes(outcomes: dict[str, Outcome]) -> None:
    (found,) = outcomes["shuffle_from_the_left_out"].findings
    assert found["title"] == "a shuffle takes the value of lane 0, which does not execute it"
    assert found["work_item"] == [1, 0, 0]


PROGRAM = """
import groundstate as gs
context = gs.default_context()
source = '''kernel void k(global int *out) {
    int i = get_global_id(0);
    if (i % 16 != 3) out[i] = sub_group_reduce_add(i);
    if (i & 1) out[i] = sub_group_shuffle_xor(i, 1);
}'''
commands = context.default_list()
memory = context.alloc_shared(64, "int32")
gs.Module(context, opencl=source)["k"](commands, 4, 16, memory)
commands.synchronize()
"""
UNWATCHED = """
from groundstate.compiler.instrument import convergence
convergence.is_collective = lambda node: False
"""
NO_SHUFFLES = """
from groundstate.compiler.instrument import convergence
convergence.SHUFFLES = ()
"""


def run(folder: Path, before: str = "") -> set[str]:
    """The kinds that are found in the kernel above."""
    output = folder / "findings"
    output.write_text("")
    environment = {
        "GROUNDSTATE_CHECK": "sync",
        "GROUNDSTATE_CACHE": "0",
        "GROUNDSTATE_CHECK_OUTPUT": str(output),
    }
    ended = subprocess.run(
        [sys.executable, "-c", before + PROGRAM],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    lines: list[dict[str, Any]] = [*map(json.loads, output.read_text().splitlines())]
    return {each["kind"] for each in lines if "kind" in each}


def test_broken_checker_finds_less(tmp_path: Path) -> None:
    both = {"divergent-sub-group-operation", "inactive-shuffle-source"}
    assert run(tmp_path) == both
    assert run(tmp_path, UNWATCHED) == {"inactive-shuffle-source"}
    assert run(tmp_path, NO_SHUFFLES) == {"divergent-sub-group-operation"}
