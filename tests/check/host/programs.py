"""Runs the labelled programs of this folder, and judges what was found in them.

`python -m tests.check` prints recall and false alarms for each kind.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.check.host.cases import Cases, findings_in

ROOT = Path(__file__).parents[3]
WRONG = ("wrong_calls", "wrong_waits", "wrong_orders", "wrong_touches", "wrong_meetings")
RIGHT = ("right", "right_waits", "right_orders", "right_touches", "right_meetings")
RACES = ("wrong_orders", "right_orders", "wrong_meetings", "right_meetings")
CHECKERS = dict.fromkeys(RACES, "races")
"""For programs that are for another checker than that of the host."""
TIMEOUT = 120

Found = dict[str, list[dict[str, Any]]]


STRICT = ("wrong_touches", "right_touches")
"""Programs that are run with GROUNDSTATE_CHECK_STRICT."""


def cases_of(program: str) -> Cases:
    module = importlib.import_module(f"tests.check.host.{program}")
    cases: Cases = module.CASES
    return cases


def run(program: str, *arguments: str, check: str = "host", before: str = "") -> tuple[str, Any]:
    """Runs a module of this folder in a process of its own; its output, and all findings.

    `before` is run in that process first.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "findings")
        Path(output).touch()
        settings = {"GROUNDSTATE_CHECK": check, "GROUNDSTATE_CHECK_OUTPUT": output}
        settings["GROUNDSTATE_CHECK_STRICT"] = str(int(program in STRICT))
        module = f"'tests.check.host.{program}', run_name='__main__', alter_sys=True"
        start = f"{before}\nimport runpy\nrunpy.run_module({module})"
        done = subprocess.run(
            [sys.executable, "-c", start, *arguments],
            cwd=ROOT,
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        assert done.returncode <= 0, done.stderr
        return done.stdout, findings_in(output)


def found_by(program: str, **how: str) -> Found:
    """What was found in each case of a program, and after the last one."""
    printed, last = run(program, **{"check": CHECKERS.get(program, "host"), **how})
    found: Found = json.loads(printed)
    if program == "right":
        found["at the end"] = last
    return found


def kinds(findings: Iterable[dict[str, Any]]) -> list[str]:
    return sorted(each["kind"] for each in findings)


def misjudged(program: str, found: Found) -> list[str]:
    """The cases in which something else was found than their label says."""
    expected = cases_of(program).expected
    return [name for name, findings in found.items() if kinds(findings) != expected.get(name, [])]
