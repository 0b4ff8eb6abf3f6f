"""The checker of uninitialised memory on labelled kernels, and what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from groundstate.compiler.instrument import uninitialised
from groundstate.compiler.ir.parser import parse_kernel
from groundstate.compiler.ir.passes import Analyses, Pass, run_passes
from groundstate.compiler.target import Target
from groundstate.driver.checking import uninitialised_findings
from tests.check.labelled.cases import Case
from tests.check.labelled.measure import Outcome, run_suite
from tests.check.labelled.suites import SUITES

CASES = SUITES["uninit"]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """What is found in each labelled kernel."""
    return {each.case.name: each for each in run_suite("uninit")}


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


def test_finding_of_an_atomic_operation_has_one_place(outcomes: dict[str, Outcome]) -> None:
    found = finding(outcomes, "histogram_not_cleared")
    changed = "an atomic operation changes an uninitialised value in a 32-byte shared allocation"
    assert found["title"] == changed
    (place,) = found["places"]
    assert place["label"] == "argument 0 'bins'"


def test_finding_names_use_load_and_allocation(outcomes: dict[str, Outcome]) -> None:
    found = finding(outcomes, "second_half_of_device_memory")
    assert found["title"] == "an uninitialised value is stored to a 256-byte shared allocation"
    assert found["work_item"] == [32, 0, 0]
    assert found["group"] == [2, 0, 0]
    assert found["count"] == 32
    used, read = found["places"]
    assert used["label"] == "used here"
    assert "out[i] = in[i]" in used["source"]
    assert read["label"] == "argument 1 'in'"
    assert read["beside"] == "where it was read"
    assert "nobody has written it: at offset 128 of a 256-byte device allocation" in found["notes"]
    assert any("allocated by zeMemAllocDevice" in note for note in found["notes"])


def test_local_variable_is_named(outcomes: dict[str, Outcome]) -> None:
    found = finding(outcomes, "local_memory_of_others")
    assert found["places"][1]["label"] == "'local_memory_of_others.tile'"
    assert uninitialised_findings.LOCAL_ADVICE in found["notes"]


def test_variable_is_shown_where_it_is_declared(outcomes: dict[str, Outcome]) -> None:
    used, declared = finding(outcomes, "variable_written_on_one_way")["places"]
    assert "= x;" in used["source"]
    assert declared["beside"] == "where it was declared"
    assert declared["source"].strip() == "int x;"


def test_private_variable_is_told_of(outcomes: dict[str, Outcome]) -> None:
    notes = finding(outcomes, "private_array_with_a_gap")["notes"]
    assert "it is a private variable that was not written before" in notes


PROGRAM = """
from array import array
import groundstate as gs

SOURCE = '''
kernel void copy(global int *out, global const int *in) {
    int i = get_global_id(0); out[i] = in[i]; }
kernel void add(global int *out, global const int *in) {
    int i = get_global_id(0); out[i] = in[i] + 1; }
'''
context = gs.default_context()
commands = context.default_list()
module = gs.Module(opencl=SOURCE, name="steps.cl")
shared = context.alloc_shared(64, "int32")
one, other, third = (context.alloc_device(64, "int32") for _ in range(3))


def launch(name, out, into):
    module.kernel(name)(commands, 4, 16, out.address, into.address)
    commands.synchronize()

"""


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM + program],
        env=os.environ | {"GROUNDSTATE_CHECK": "uninit"} | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    return ended


def errors(program: str, **environment: str) -> int:
    """How many findings a program has."""
    return run(program, **environment).stderr.count("error: ")


@pytest.mark.parametrize(
    "initialise",
    [
        "commands.fill(one, b'x')",
        "commands.copy(one, array('i', range(64)))",
        "commands.copy(shared, array('i', range(64))); commands.copy(one, shared)",
        "shared.numpy()[:] = 0; commands.copy(one, shared)",
        "commands.fill(other, b'x'); commands.copy(one, other)",
        "shared.numpy()[:] = 3; launch('copy', other, shared); launch('copy', one, other)",
    ],
)
def test_what_was_written_is_not_reported(initialise: str) -> None:
    assert errors(f"{initialise}\nlaunch('add', shared, one)") == 0


@pytest.mark.parametrize(
    "initialise",
    [
        "pass",
        "commands.fill(one[:32], b'x')",
        "commands.copy(one[:63], array('i', range(63)))",
        "commands.copy(one, other)",
        "commands.copy(one, shared)",
        "shared.numpy()[2:] = 0; commands.copy(one, shared)",
        "launch('copy', one, other)",
        "launch('add', one, other)",
        "launch('add', third, other); commands.copy(one, third)",
    ],
)
def test_what_was_not_written_is_reported(initialise: str) -> None:
    ended = run(f"{initialise}\nlaunch('add', shared, one)")
    assert ended.stderr.count("error: an uninitialised value is stored to a 256-byte shared") == 1
    assert ended.stderr.count("error: ") == 1


SECOND_RESULT = """
source = "kernel void k(global float *out) { float x; x = out[1]; out[2] = fract(x, out); }"
memory = context.alloc_device(64, "float32")
gs.Module(opencl=source).kernel("k")(commands, 1, 1, memory)
commands.copy(shared[:1], memory.view("int32")[:1]); commands.synchronize()
"""


def test_second_result_of_a_function_is_followed_with_bounds() -> None:
    assert errors(SECOND_RESULT, GROUNDSTATE_CHECK="memory,uninit") == 1


COPY = "commands.copy(array('i', bytes(256)), one); commands.synchronize()"


def test_copy_of_unwritten_memory_is_reported() -> None:
    ended = run(COPY)
    assert "error: 256 bytes are copied to the host that nobody has written" in ended.stderr
    assert "at offset 0 of a 256-byte device allocation" in ended.stderr
    assert ended.stderr.count("error: ") == 1


@pytest.mark.parametrize("into", ["shared", "context.alloc_host(64, 'int32')"])
def test_copy_to_memory_of_the_host_is_reported(into: str) -> None:
    assert errors(f"commands.copy({into}, one); commands.synchronize()") == 1


@pytest.mark.parametrize(
    "before",
    ["commands.fill(one[:1], b'x')", "commands.fill(other, b'x'); launch('add', one, other)"],
)
def test_copy_of_written_memory_is_not_reported(before: str) -> None:
    """A result of which only a part was written may be copied as a whole."""
    assert errors(f"{before}\n{COPY}") == 0


def test_copy_of_what_a_kernel_left_names_the_kernel() -> None:
    ended = run(f"launch('add', one, other)\n{COPY}")
    assert ended.stderr.count("error: an uninitialised value is stored to a 256-byte device") == 1
    assert "steps.cl:5:" in ended.stderr
    assert "copied to the host by" in ended.stderr
    assert ended.stderr.count("error: ") == 1


PART_OF_A_VECTOR = """
source = "kernel void part(global float4 *a) { float4 f; f.xzw = 4.0f; a[0] = f * 2.0f; }"
gs.Module(opencl=source).kernel("part")(commands, 1, 1, one.view("float32"))
commands.synchronize()
"""


def test_copy_of_a_vector_with_an_unwritten_part_names_the_kernel() -> None:
    ended = run(f"{PART_OF_A_VECTOR}\n{COPY}")
    assert ended.stderr.count("error: an uninitialised value is stored to a 256-byte device") == 1
    assert ended.stderr.count("error: ") == 1


def test_copy_within_the_device_is_not_reported() -> None:
    assert errors("commands.copy(one, other); commands.synchronize()") == 0


def test_memory_that_is_allocated_again_is_unwritten() -> None:
    again = """
for _ in range(3):
    one.close()
    one = context.alloc_device(64, "int32")
    launch('add', shared, one)
    commands.fill(one, b'x')
    launch('copy', shared, one)
"""
    ended = run(again)
    assert ended.stderr.count("error: ") == 1  # one place
    assert "3 findings" not in ended.stderr
    assert "(192 times)" in ended.stderr


def test_freed_memory_leaves_no_trace() -> None:
    program = """
import ctypes
one.close(), other.close(), third.close()
for size in (64, 1 << 20, 8 << 20):
    kept = [context.alloc_device(size, "int32") for _ in range(8)]
    for each in kept:
        each.close()
own = [(ctypes.c_int32 * size)() for size in (64, 1 << 20, 8 << 20)]
for each in own:
    module.kernel("add")(commands, 4, 16, shared.address, ctypes.addressof(each))
    commands.synchronize()
"""
    assert errors(program) == 0


def test_large_memory_is_followed() -> None:
    program = """
large = context.alloc_device(8 << 20, "int32")
commands.fill(large[:4 << 20], b'x')
part = large[2 << 20:]
launch('copy', shared, part)
launch('add', shared, large[4 << 20:])
"""
    ended = run(program)
    assert ended.stderr.count("error: ") == 1
    assert "nobody has written it: at offset 16777216 of a 33554432-byte device" in ended.stderr


WRONG = "launch('add', shared, one)"


def test_plain_mode_reports_nothing() -> None:
    assert run(WRONG, GROUNDSTATE_CHECK="0").stderr == ""


TEXT = """
kernel "branch"
argument 0: global u32*
block 0:
  %0: u32 = Load argument 0 [2, 4]
  %1: bool = IEqual %0, u32:0
  branch %1, block 1, block 2
block 1:
  branch block 2
block 2:
  return
"""


def reports() -> int:
    """How many reports the pass makes for a branch."""
    kernel = parse_kernel(TEXT)
    step = Pass("check-uninitialised", uninitialised.check_uninitialised)
    run_passes([step], kernel, Analyses(kernel, Target(lanes=8)))
    return sum(node.op == "Report" for node in kernel.nodes())


def test_broken_checker_makes_no_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tests above would see if the pass took all memory for initialised."""
    assert reports() == 1
    monkeypatch.setattr(uninitialised._Instrumented, "_is_source", lambda *_: False)
    assert reports() == 0


BROKEN = """
from groundstate.compiler.instrument import uninitialised
uninitialised._Instrumented._is_source = lambda *_: False
"""


def test_program_with_broken_checker_has_no_report() -> None:
    assert errors(WRONG, GROUNDSTATE_CACHE="0") == 1
    assert errors(BROKEN + WRONG, GROUNDSTATE_CACHE="0") == 0
