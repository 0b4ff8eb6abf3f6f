"""A short soak, and what it would notice."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.stress.soak import Figures, compare

ROOT = Path(__file__).parents[2]
BEFORE = Figures(resident_bytes=100 << 20, descriptors=10, threads=8, objects=3)


@pytest.mark.usefixtures("library")
def test_soak_with_faults_is_right_without_leaks() -> None:
    command = [sys.executable, "-m", "tests.stress.soak", "--minutes", "0.3", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert said["wrong"] == []
    assert set(said["rounds"]) == {"compute", "record", "lose", "share"}


@pytest.mark.parametrize(
    ("name", "more"),
    [("resident_bytes", 60 << 20), ("descriptors", 1), ("threads", 1), ("objects", 1)],
)
def test_growth_is_noticed(name: str, more: int) -> None:
    later = replace(BEFORE, **{name: getattr(BEFORE, name) + more})
    (sentence,) = BEFORE.growth_to(later)
    assert name.split("_")[0] in sentence


def test_slight_memory_increase_is_no_growth() -> None:
    later = Figures(BEFORE.resident_bytes + (10 << 20), 9, 7, 2)
    assert BEFORE.growth_to(later) == []


def test_a_wrong_result_is_noticed() -> None:
    with pytest.raises(AssertionError, match=r"\[1\] is 5, not 2 \(1 wrong\)"):
        compare(np.array([1, 5]), np.array([1, 2]))
