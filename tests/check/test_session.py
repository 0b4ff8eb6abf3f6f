"""Checked mode from its start, which is told, to its end, when final counts are."""

from __future__ import annotations

import subprocess
import sys

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


def test_driver_in_its_own_interpreter_tells_that_it_checks() -> None:
    assert check(ISOLATED).startswith("groundstate check: no findings (memory")


def test_driver_tells_nothing_outside_checked_mode() -> None:
    done = subprocess.run([sys.executable, "-c", ISOLATED], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
