"""Checked mode from its start, which is told, to its end, when final counts are."""

from __future__ import annotations

import subprocess
import sys

import pytest

import groundstate as gs
from groundstate import knobs

REPORT = """
import groundstate as gs
from groundstate.findings import Finding, report

assert gs.devices()
for _ in range(3):
    report(Finding("memory", "null-read", "a read of nothing"))
"""

ISOLATED = f"""
import ctypes
assert ctypes.CDLL({knobs.library()!r}).zeInit(0) == 0
"""


def check(code: str, *options: str) -> str:
    command = [sys.executable, "-m", "groundstate", "check", *options, "--", sys.executable]
    done = subprocess.run([*command, "-c", code], capture_output=True, text=True, timeout=60)
    return done.stderr


def test_final_count_is_told_when_the_program_ends() -> None:
    said = check(REPORT, "--only", "memory")
    assert said.endswith("groundstate check: 1 finding: 1 null read (3 times)\n")


def test_stderr_gets_a_summary_when_the_program_ends() -> None:
    command = ["env", "GROUNDSTATE_CHECK=memory", sys.executable, "-c", REPORT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stderr == (
        "error: a read of nothing\n\ngroundstate: 1 finding: 1 null read (3 times)\n"
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("STOP", "expected 0 or 1; using 0"),
        ("STRICT", "expected 0 or 1; using 0"),
        ("SAME_VALUES", "expected 0 or 1; using 0"),
        ("WAITS", "expected 0 or 1; using "),
        ("VARY", "expected a whole number from 0 up; using 0"),
        ("DEVICE", "expected one of none, uhd-630, "),
    ],
)
def test_value_that_no_variable_knows_is_told_without_any_finding(name: str, expected: str) -> None:
    command = ["env", "GROUNDSTATE_CHECK=memory", f"GROUNDSTATE_CHECK_{name}=maybe"]
    done = subprocess.run(
        [*command, sys.executable, "-c", "import groundstate as gs; assert gs.devices()"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr.startswith(f"groundstate: GROUNDSTATE_CHECK_{name}='maybe': {expected}")
    assert done.stderr.count("\n") == 1


def test_driver_in_its_own_interpreter_tells_that_it_checks() -> None:
    assert check(ISOLATED).startswith("groundstate check: no findings (memory")


def test_driver_tells_nothing_outside_checked_mode() -> None:
    done = subprocess.run([sys.executable, "-c", ISOLATED], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


CHECKED_MODULE = """
import groundstate as gs
source = "kernel void k(global int *a) { int i = get_global_id(0); a[i + 1] = 100 / (i - 3); }"
context = gs.default_context()
memory = context.alloc_shared(16, "int32")
commands = context.default_list()
gs.Module(opencl=source, name="k.cl", check=%r)["k"](commands, 2, 8, memory)
commands.synchronize()
"""


@pytest.mark.parametrize(
    ("check", "titles"),
    [
        (False, []),
        (True, ["error: out-of-bounds write of 4 bytes, right after a 64-byte shared allocation"]),
        ("arithmetic", ["error: integer division by zero: 100 / 0"]),
    ],
)
def test_one_module_is_checked(check: bool | str, titles: list[str]) -> None:
    code = CHECKED_MODULE % (check,)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if line.startswith("error:")] == titles


def test_checker_that_a_module_cannot_have_is_refused() -> None:
    with pytest.raises(ValueError, match="'host' is none of memory"):
        gs.Module(opencl="kernel void k() {}", check="host")
