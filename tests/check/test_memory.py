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


FREED_IN_USE = """
import ctypes
import groundstate as gs
from groundstate import ze
source = "kernel void k(global int *out) { out[get_global_id(0)] = 1; }"
context = gs.default_context()
memory = context.alloc_device(64, "int32")
kernel = gs.Module(opencl=source).kernel("k")
start = gs.EventPool(context, 1).event(0)
commands = context.default_list()
commands.wait(start)
kernel(commands, 1, 64, memory.address)
policy = {policy}
if policy is None:
    context.api.call("zeMemFree", context.handle, memory.address)
else:
    description = ze.ze_memory_free_ext_desc_t(freePolicy=policy)
    arguments = context.handle, ctypes.byref(description), memory.address
    context.api.call("zeMemFreeExt", *arguments)
start.signal()
commands.synchronize()
import os; os._exit(0)
"""


@pytest.mark.parametrize(
    ("policy", "count"), [("None", 1), ("ze.ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE", 0)]
)
def test_memory_that_waits_for_its_users_is_theirs(policy: str, count: int) -> None:
    ended = run(FREED_IN_USE.replace("{policy}", policy), GROUNDSTATE_CHECK="memory")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("allocation that was freed") == count, ended.stderr


def test_checker_that_is_not_there_is_complained_about() -> None:
    ended = run(SKIPPED, GROUNDSTATE_CHECK="memories")
    assert ended.returncode == 0
    assert "memories is none of memory, uninit," in ended.stderr


EXPIRED = """
import groundstate as gs
source = '''
kernel void give(global ulong *slots) {
    local int own[16];
    own[get_local_id(0)] = 7;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) slots[get_group_id(0)] = (ulong)own;
}
kernel void take(global ulong *slots, global int *out) {
    int *from = (int *)slots[get_group_id(0)];
    out[get_global_id(0)] = from[get_local_id(0)];
}
kernel void take_and_have(global ulong *slots, global int *out) {
    local int own[16];
    own[get_local_id(0)] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    int *from = (int *)slots[get_group_id(0)];
    out[get_global_id(0)] = from[get_local_id(0)] + own[15 - get_local_id(0)];
}
kernel void keep(global ulong *slots, global int *out) {
    local int own[16];
    own[get_local_id(0)] = 3;
    if (get_local_id(0) == 0) slots[get_group_id(0)] = (ulong)own;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    int *from = (int *)slots[get_group_id(0)];
    out[get_global_id(0)] = from[15 - get_local_id(0)];
}
'''
context = gs.default_context()
slots, out = context.alloc_shared(64, "uint64"), context.alloc_shared(64, "int32")
commands = context.default_list()
module = gs.Module(opencl=source, name="local.cl")
for name in NAMES:
    module[name](commands, 4, 16, *([slots] if name == "give" else [slots, out]))
    commands.synchronize()
"""


@pytest.mark.parametrize("name", ["take", "take_and_have"])
def test_local_memory_is_not_used_past_its_group(name: str) -> None:
    ended = run(f"NAMES = ['give', {name!r}]\n" + EXPIRED, GROUNDSTATE_CHECK="memory")
    assert ended.returncode == 0, ended.stderr
    assert "read of 4 bytes in local memory of another group or of a kernel" in ended.stderr


def test_local_pointer_in_global_memory_serves_its_group() -> None:
    ended = run("NAMES = ['keep']\n" + EXPIRED, GROUNDSTATE_CHECK="memory")
    assert ended.returncode == 0, ended.stderr
    assert "error:" not in ended.stderr


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
