"""The C program with kernels of known character, and its profile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from groundstate.compiler.opencl.frontend import compile_opencl

PROGRAMS = Path(__file__).parent / "programs"
NATIVE = Path(__file__).parents[2] / "native"


@dataclass
class Profiled:
    """A run of `groundstate profile`, and what it wrote."""

    folder: Path
    status: int
    said: str
    report: dict[str, Any]

    def kernel(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = next(e for e in self.report["kernels"] if e["name"] == name)
        return found


@pytest.fixture(scope="session")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program and its kernels."""
    folder = tmp_path_factory.mktemp("known")
    source = (PROGRAMS / "known.cl").read_text(encoding="utf-8")
    (folder / "known.spv").write_bytes(compile_opencl(source, options=["-g"], name="known.cl"))
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", f"-I{NATIVE}"]
    program = [str(PROGRAMS / "known.c"), "-lze_loader", "-o", str(folder / "known")]
    subprocess.run([os.environ.get("CC", "cc"), *flags, *program], check=True)
    return folder


def line_with(text: str) -> int:
    """The number of the line of the kernels that has a text."""
    lines = (PROGRAMS / "known.cl").read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def profile(
    known: Path, *words: str, options: tuple[str, ...] = ("--no-roof",)
) -> subprocess.CompletedProcess[str]:
    """Profiles the program; `words` are its own."""
    command = [sys.executable, "-m", "groundstate", "profile", *options, "--", "./known"]
    return subprocess.run(
        [*command, "known.spv", *words], cwd=known, capture_output=True, text=True
    )


def report_of(known: Path, *words: str, options: tuple[str, ...] = ("--no-roof",)) -> Profiled:
    """The same, and the report that it prints as JSON."""
    done = profile(known, *words, options=(*options, "--json", "-o", "profile.json"))
    report = json.loads((known / "profile.json").read_text(encoding="utf-8"))
    return Profiled(known, done.returncode, done.stdout + done.stderr, report)


@pytest.fixture(scope="session")
def profiled(known: Path) -> Profiled:
    """The profile of all kernels, beside the machine's roof, as a page and as a trace, too."""
    return report_of(known, options=("--html", "profile.html", "--trace", "trace.json"))
