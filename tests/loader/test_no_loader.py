"""Tests link C programs where the system has no Level Zero loader."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.loader_stub import link_without_loader

from .conftest import ROOT, run_on_the_driver

pytestmark = pytest.mark.usefixtures("headers", "library")


def test_program_linked_with_the_stub_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIBRARY_PATH", "")
    link_without_loader(tmp_path)
    program = tmp_path / "hello"
    first = f"-L{os.environ['LIBRARY_PATH']}"  # a loader of the system's would come before it
    command = ["cc", str(ROOT / "examples" / "hello.c"), first, "-lze_loader", "-Wl,-t"]
    linked = subprocess.run([*command, "-o", program], capture_output=True, text=True, check=True)
    assert str(tmp_path / "libze_loader.so") in linked.stdout
    done = run_on_the_driver(program)
    assert done.returncode == 0, done.stderr
    assert done.stdout
