"""Stretches the time limits of tests and their programs, for machines that emulate a CPU.

There a program takes ten times as long, and limits that are to find those that hang find others.
"""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

FACTOR = float(os.environ.get("TEST_PATIENCE", "1"))


def stretch_time_limits() -> None:
    """From now on processes get so many times the seconds that callers give them."""
    if FACTOR == 1:
        return
    process: Any = subprocess.Popen
    communicate, wait = process.communicate, process.wait

    def patient_communicate(self: Any, input: Any = None, timeout: float | None = None) -> Any:
        return communicate(self, input, timeout and timeout * FACTOR)

    def patient_wait(self: Any, timeout: float | None = None) -> Any:
        return wait(self, timeout and timeout * FACTOR)

    process.communicate, process.wait = patient_communicate, patient_wait


def stretch_marks(items: list[pytest.Item]) -> None:
    """Gives tests that name a time limit of their own as many times as much."""
    for item in items if FACTOR != 1 else ():
        mark = item.get_closest_marker("timeout")
        if mark is not None:
            item.add_marker(pytest.mark.timeout(mark.args[0] * FACTOR), append=False)
