"""Fences of relaxed atomic operations: what a report says to change, and modules whose compiler
does not say which scopes are meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundstate.compiler.opencl.frontend import compile_opencl
from tests.check.labelled import locks
from tests.check.test_memory_more import findings
from tests.check.test_races import run

UNMARKED = """
from groundstate.compiler.opencl import fences
fences.mark = lambda ir: ir
"""
UNWIDENED = """
from groundstate.compiler.opencl import fences
fences.widen = lambda ir: ir
"""
FENCED_AT_ONCE = """
from groundstate.compiler.instrument import races
races.EXCHANGES = ()
"""
LOCK = """kernel void owner(global int *lock) {
    if (get_local_id(0) != 0) return;
    while (atomic_cmpxchg(&lock[0], 0, 1) != 0) {}TAKEN
    lock[300] = get_group_id(0) + 1;
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    atomic_xchg(&lock[0], 0);
}"""
PUBLISHED = """kernel void published(global int *data) {
    if (get_local_id(0) == 0 && get_group_id(0) == 0) {
        data[301] = 42;FENCE
        atomic_xchg(&data[300], 7);
    } else if (get_local_id(0) == 63 && get_group_id(0) == 1) {
        while (atomic_add(&data[300], 0) != 7) {}
        data[5] = data[301];
    }
}"""
COUNTED = """kernel void counted(global int *count) {
    atomic_inc(&count[0]);
    if (get_global_id(0) == SIZE - 1) count[7] = count[0];
}"""


def advice(folder: Path, source: str, groups: int = 2) -> set[str]:
    """The last lines of the reports of a kernel."""
    return {each["notes"][-1] for each in run(folder, source, groups, 64)[0]}


def test_report_of_a_lock_says_where_fences_belong(tmp_path: Path) -> None:
    (said,) = advice(tmp_path, LOCK.replace("TAKEN", ""))
    assert "behind the compare-exchange that takes it" in said


def test_report_of_a_narrow_fence_says_which_scope_is_needed(tmp_path: Path) -> None:
    (said,) = advice(tmp_path, PUBLISHED.replace("FENCE", locks.GROUP_FENCE))
    assert "only with a fence whose scope is the device" in said


def test_report_of_no_fence_says_that_atomics_are_relaxed(tmp_path: Path) -> None:
    (said,) = advice(tmp_path, PUBLISHED.replace("FENCE", ""))
    assert "those of this kernel are relaxed, and there is no fence" in said


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (1, "make the read atomic as the other access is, or put a barrier("),
        (2, "make the read atomic as the other access is; nothing orders two groups"),
    ],
)
def test_report_of_one_atomic_access_says_to_make_both_atomic(
    tmp_path: Path, groups: int, expected: str
) -> None:
    (said,) = advice(tmp_path, COUNTED.replace("SIZE", str(64 * groups)), groups)
    assert said.startswith(expected)


def test_report_names_the_allocation_and_who_made_it(tmp_path: Path) -> None:
    (found,) = run(tmp_path, PUBLISHED.replace("FENCE", ""), 2, 64)[0]
    assert "at offset 1,204 of a 16384-byte shared allocation" in found["notes"]
    assert any("allocated by zeMemAllocShared" in note for note in found["notes"])


# --- Broken on purpose ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "broken"),
    [
        (LOCK.replace("TAKEN", ""), FENCED_AT_ONCE),
        (PUBLISHED.replace("FENCE", locks.GROUP_FENCE), UNMARKED),
    ],
    ids=["lock", "scope"],
)
def test_broken_checker_of_fences_finds_nothing(tmp_path: Path, source: str, broken: str) -> None:
    assert run(tmp_path, source, 2, 64, GROUNDSTATE_CACHE="0")[0]
    assert not run(tmp_path, source, 2, 64, before=broken, GROUNDSTATE_CACHE="0")[0]


def test_fence_without_a_scope_that_is_taken_for_one_is_a_false_alarm(tmp_path: Path) -> None:
    source = PUBLISHED.replace("FENCE", locks.OLD_FENCE)
    assert not run(tmp_path, source, 2, 64, GROUNDSTATE_CACHE="0")[0]
    assert run(tmp_path, source, 2, 64, before=UNWIDENED, GROUNDSTATE_CACHE="0")[0]


# --- Modules of other compilers -------------------------------------------------------------------

RUN_MODULE = """
import sys
import groundstate as gs
context = gs.default_context()
memory = context.alloc_shared(4096, "int32")
commands = context.default_list()
commands.fill(memory, 0)
gs.Module(context, spirv=open(sys.argv[1], "rb").read())["published"](commands, 2, 64, memory)
commands.synchronize()
"""


@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    ("fences", "count"),
    [
        pytest.param(locks.OLD_FENCE, 0, id="of OpenCL 1"),
        pytest.param(locks.GROUP_FENCE, 0, id="of a group or of OpenCL 1"),
        pytest.param(locks.GROUP_FENCE.replace("acq_rel", "seq_cst"), 1, id="of a group"),
        pytest.param(locks.DEVICE_FENCE + " data[301] = 43;" + locks.GROUP_FENCE, 1, id="of both"),
    ],
)
def test_fence_is_narrow_only_if_its_module_leaves_no_doubt(
    tmp_path: Path, fences: str, count: int
) -> None:
    module = tmp_path / "module.spv"
    module.write_bytes(compile_opencl(PUBLISHED.replace("FENCE", fences)))
    assert len(findings(tmp_path, RUN_MODULE, str(module), GROUNDSTATE_CHECK="races")) == count
