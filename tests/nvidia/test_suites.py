"""Other suites with a GPU as their device: the tool, with the stand-in's GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu.not_for_gpus import NOT_FOR_GPUS, reason_against
from tests.nvidia.library import HERE, build, environment

ROOT = HERE.parents[1]

WRITTEN = """
import ctypes
import time

def test_before(): pass
def test_touches(): ctypes.string_at(8)
def test_hangs(): time.sleep(60)
def test_fails(): assert False
def test_after(): pass
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("standin"))


def run(library: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.gpu.suites", "--jobs", "1", *arguments],
        cwd=ROOT,
        env=environment(library, GROUNDSTATE_NVIDIA="only"),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_suite_passes(library: Path) -> None:
    found = run(library, "tests/driver/events/test_fences.py")
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.splitlines()[-1].endswith(" passed")


def test_what_ends_a_process_is_noted(library: Path, tmp_path: Path) -> None:
    file = tmp_path / "test_written.py"
    file.write_text(WRITTEN)
    place, report = os.path.relpath(file, ROOT), tmp_path / "report"
    found = run(library, place, "--seconds", "3", "--report", str(report))
    assert found.returncode == 1
    assert found.stdout.splitlines()[-1] == "2 ended its process, 1 failed, 2 passed"
    words = report.read_text()
    assert "SIGSEGV" in words
    assert "SIGALRM" in words


def test_what_is_left_out_exists() -> None:
    for patterns in NOT_FOR_GPUS.values():
        for pattern in patterns:
            path, _, test = pattern.partition("::")
            files = list(ROOT.glob(path.rstrip("/"))) or list(ROOT.glob(path.rstrip("*") + "*"))
            assert files, pattern
            name = test.split("[")[0].split("?")[0].strip("*")
            assert not test or any(name in file.read_text() for file in files), pattern


def test_reasons() -> None:
    assert (
        reason_against("tests/driver/sysman/test_any.py::test_it")
        == "it is about the CPU as a device"
    )
    assert reason_against("tests/driver/events/test_fences.py::test_a_fence") == ""
    assert "fake compiler" in reason_against("tests/driver/any.py::test_it", ("kernels",))
