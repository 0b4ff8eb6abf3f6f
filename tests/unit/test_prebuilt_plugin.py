"""Without a compiler of OpenCL C, tests run with the kept SPIR-V or are skipped with a reason."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests import prebuilt
from tests.imports import IMPORT_PATH

ROOT = Path(__file__).parents[2]
PROGRAM = """
import pytest
from groundstate.compiler.opencl.frontend import compile_opencl

@pytest.mark.needs_compiler
def test_marked():
    raise AssertionError("it ran")

def test_not_kept():
    compile_opencl("kernel void nobody_has_this() {}")

def test_other_mistake():
    assert 1 == 2

def test_kept():
    assert compile_opencl(SOURCE, options=OPTIONS)[:4].hex() == "03022307"
"""


def run(folder: Path, strict: str) -> str:
    """Runs the program above where no compiler is found; what pytest prints."""
    archive = prebuilt.FOLDER / "core" / "test_module.zip"
    entry = next(each for _, each in prebuilt.entries(archive) if each.spirv)
    options = [f"-cl-std={entry.standard}", *entry.given]
    constants = f"SOURCE = {entry.source!r}\nOPTIONS = {options!r}\n"
    (folder / "test_it.py").write_text(constants + PROGRAM)
    environment = {
        **os.environ,
        "GROUNDSTATE_CLANG": "no-such-clang",
        "GROUNDSTATE_STRICT_TESTS": strict,
        "PYTHONPATH": os.pathsep.join(IMPORT_PATH),
    }
    command = [sys.executable, "-m", "pytest", "-v", "-rs", "-p", "tests.conftest", str(folder)]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout


def test_unkept_spirv_skips_test_naming_ziglang(tmp_path: Path) -> None:
    printed = run(tmp_path, strict="")
    assert "::test_marked SKIPPED" in printed
    assert "::test_not_kept SKIPPED" in printed
    assert "::test_other_mistake FAILED" in printed
    assert "::test_kept PASSED" in printed
    assert "1 failed, 1 passed, 2 skipped" in printed
    assert "the SPIR-V of a kernel is not kept" in printed
    assert "install ziglang" in printed


def test_in_strict_mode_it_is_a_failure(tmp_path: Path) -> None:
    printed = run(tmp_path, strict="1")
    assert "2 failed, 1 passed, 1 error" in printed  # what is skipped before it runs is an error
    assert printed.count("skipping is not allowed in strict mode") == 2
