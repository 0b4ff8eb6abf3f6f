"""The memory checker on labelled kernels, and what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from groundstate.compiler.instrument import bounds
from groundstate.compiler.ir.parser import parse_kernel
from groundstate.compiler.ir.passes import Analyses, Pass, run_passes
from groundstate.compiler.target import Target
from tests.check.labelled.cases import Case
from tests.check.labelled.measure import Outcome, run_suite
from tests.check.labelled.suites import SUITES

CASES = SUITES["memory"]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """What is found in each labelled kernel."""
    return {each.case.name: each for each in run_suite("memory")}


def test_suite_has_wrong_and_right_kernels() -> None:
    assert sum(bool(case.kind) for case in CASES) >= 25
    assert sum(not case.kind for case in CASES) >= 25
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_kernel_has_the_findings_of_its_label(case: Case, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[case.name]
    assert outcome.is_right, (case.kind, outcome.findings)


def finding(outcomes: dict[str, Outcome], name: str) -> dict[str, Any]:
    """The only finding of a case."""
    (found,) = outcomes[name].findings
    return found  # type: ignore[no-any-return]


def test_off_by_one_names_work_item_and_place(outcomes: dict[str, Outcome]) -> None:
    found = finding(outcomes, "write_behind")
    assert found["title"] == (
        "out-of-bounds write of 4 bytes, right after a 256-byte shared allocation"
    )
    assert found["kernel"] == "write_behind"
    assert found["work_item"] == [63, 0, 0]
    assert found["group"] == [3, 0, 0]
    assert found["count"] == 1
    (place,) = found["places"]
    assert place["file"] == "labelled.cl"
    assert place["label"] == "argument 0 'out'"
    assert "out[get_global_id(0) + 1]" in place["source"]
    assert any("allocated by zeMemAllocShared" in note for note in found["notes"])


def test_only_the_lane_that_is_wrong_reports(outcomes: dict[str, Outcome]) -> None:
    found = finding(outcomes, "only_one_item")
    assert found["work_item"] == [37, 0, 0]
    assert found["count"] == 1


def test_every_wrong_access_is_counted(outcomes: dict[str, Outcome]) -> None:
    assert finding(outcomes, "through_null")["count"] == 64


def test_access_to_another_allocation_is_found(outcomes: dict[str, Outcome]) -> None:
    notes = finding(outcomes, "into_another_allocation")["notes"]
    assert any("another allocation" in note for note in notes)


def test_use_after_free_names_who_freed(outcomes: dict[str, Outcome]) -> None:
    found = finding(outcomes, "after_free")
    assert found["title"] == "write of 4 bytes in a 256-byte shared allocation that was freed"
    assert any("freed by zeMemFree" in note for note in found["notes"])


def test_local_variable_is_named(outcomes: dict[str, Outcome]) -> None:
    assert "'local_behind.tile' of 64 bytes" in finding(outcomes, "local_behind")["title"]


SKIPPED = """
import groundstate as gs
source = "kernel void k(global int *out) { int i = get_global_id(0); out[i + 1] = i; }"
context = gs.default_context()
memory = context.alloc_shared(1024, "int32")
memory.numpy()[:] = 7
commands = context.default_list()
gs.Module(opencl=source).kernel("k")(commands, 2, 8, memory.address + 4 * 1008)
commands.synchronize()
print(memory.numpy()[1008:].tolist())
"""


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_wrong_access_is_left_out_and_the_others_happen() -> None:
    ended = run(SKIPPED, GROUNDSTATE_CHECK="memory")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == str([7, *range(15)])
    assert ended.stderr.count("error: out-of-bounds write") == 1


def test_plain_mode_reports_nothing() -> None:
    ended = run(SKIPPED, GROUNDSTATE_CHECK="0")
    assert ended.returncode == 0
    assert ended.stderr == ""


def test_context_is_lost_if_asked_to_stop() -> None:
    ended = run(SKIPPED, GROUNDSTATE_CHECK="memory", GROUNDSTATE_CHECK_STOP="1")
    assert ended.returncode != 0
    assert "GROUNDSTATE_CHECK_STOP" in ended.stderr


def test_checker_that_is_not_there_is_complained_about() -> None:
    ended = run(SKIPPED, GROUNDSTATE_CHECK="uninit")
    assert ended.returncode == 0
    assert "uninit is not there yet" in ended.stderr


def test_broken_checker_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tests above would see if the pass took every access for one inside."""
    text = """
kernel "write"
argument 0: global u32*
block 0:
  %0: u64 = Builtin ["GlobalInvocationId", 0]
  %1: global u32* = PtrAccessChain argument 0, %0
  Store %1, u32:1
  return
"""

    def guards() -> int:
        kernel = parse_kernel(text)
        step = Pass("check-bounds", bounds.check_bounds)
        run_passes([step], kernel, Analyses(kernel, Target(lanes=8)))
        return sum(node.op == "Guard" for node in kernel.nodes())

    assert guards() == 1
    monkeypatch.setattr(bounds._Instrumented, "_is_inside", lambda *_: True)
    assert guards() == 0


BROKEN = """
from groundstate.compiler.instrument import bounds
bounds._Instrumented._is_inside = lambda *_: True
"""


def test_program_with_broken_checker_has_no_report() -> None:
    program = BROKEN + SKIPPED.replace("i + 1", "i + 1 + 0")
    ended = run(program, GROUNDSTATE_CHECK="memory", GROUNDSTATE_CACHE="0")
    assert ended.returncode == 0, ended.stderr
    assert "error:" not in ended.stderr
