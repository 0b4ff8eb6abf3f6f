"""Runs labelled suites in checked mode, and compares what is found with what is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

from tests.check.labelled.cases import Case
from tests.check.labelled.suites import SUITES

TIMEOUT_S = 240


@dataclass(frozen=True)
class Outcome:
    """What was found in one case."""

    case: Case
    findings: list[dict[str, Any]]

    @property
    def kinds(self) -> set[str]:
        """The kinds of mistakes that were found."""
        return {each["kind"] for each in self.findings}

    @property
    def is_right(self) -> bool:
        """True if the mistake was found that there is, and nothing else."""
        return self.kinds == ({self.case.kind} if self.case.kind else set())


def run_suite(checker: str) -> list[Outcome]:
    """The outcomes of all cases of a suite, which run in a process of their own."""
    cases = {case.name: case for case in SUITES[checker]}
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "GROUNDSTATE_CHECK": checker,
            "GROUNDSTATE_CHECK_OUTPUT": os.path.join(folder, "findings"),
        }
        command = [sys.executable, "-m", "tests.check.labelled.run", checker]
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S
        )
    assert ended.returncode == 0, ended.stderr
    found = dict(json.loads(line) for line in ended.stdout.splitlines())
    return [Outcome(case, found[name]) for name, case in cases.items()]
