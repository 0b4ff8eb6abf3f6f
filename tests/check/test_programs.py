"""`groundstate check -- ./my_app`: a C program with a kernel that writes one place too far."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groundstate.compiler.opencl.frontend import compile_opencl
from tests.patience import FACTOR

PROGRAMS = Path(__file__).parent / "programs"
NATIVE = Path(__file__).parents[2] / "native"
REPORT = """\
error: out-of-bounds write of 4 bytes, right after a 4096-byte device allocation
  --> blur.cl:6:16   kernel blur, work-item (1023, 0, 0), group (3, 0, 0)
   6 |     out[i + 1] = sum / 3.0f;
     |                ^ argument 1 'out'
"""
SUMMARY = "groundstate check: 1 finding: 1 out-of-bounds write"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, with and without lines and without frame pointers, and its kernel."""
    made = tmp_path_factory.mktemp("programs")
    source = (PROGRAMS / "blur.cl").read_text(encoding="utf-8")
    (made / "blur.spv").write_bytes(compile_opencl(source, options=["-g"], name="blur.cl"))
    command = ["cc", "-O2", "-fomit-frame-pointer", f"-I{NATIVE}", str(PROGRAMS / "app.c")]
    for name, options in (("my_app", ["-g"]), ("without_lines", [])):
        options += ["-lze_loader", "-pthread", "-o", str(made / name)]
        subprocess.run([*command, *options], check=True)
    return made


def start(
    folder: Path, *words: str, app: str = "./my_app", command: str = "check"
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "groundstate", command, "--", app, "blur.spv", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(folder: Path, *words: str, app: str = "./my_app") -> tuple[int, str]:
    process = start(folder, *words, app=app)
    _, said = process.communicate(timeout=120)
    return process.returncode, said


def line_of(text: str) -> int:
    lines = (PROGRAMS / "app.c").read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_report_names_kernel_and_caller(folder: Path) -> None:
    status, said = run(folder)
    assert REPORT in said
    assert f"app.c:{line_of('/* allocates */')}  upload()" in said
    assert said.endswith(f"{SUMMARY}\n")
    assert status == 86


def test_report_without_lines_of_the_host_names_functions(folder: Path) -> None:
    _, said = run(folder, app="./without_lines")
    assert REPORT in said
    (line,) = (each for each in said.splitlines() if "allocated by zeMemAllocDevice" in each)
    assert "upload" in line
    assert line.endswith(" in without_lines")


@pytest.mark.parametrize(
    ("word", "status", "end"),
    [
        ("threads", 86, f"{SUMMARY} (4 times)"),
        ("fork", 86, SUMMARY),
        ("exec", 86, SUMMARY),
        ("status", 3, SUMMARY),
        ("abort", -signal.SIGABRT, f"{SUMMARY} (./my_app was killed by signal 6)"),
    ],
)
def test_program_that_ends_its_own_way(folder: Path, word: str, status: int, end: str) -> None:
    ended, said = run(folder, word)
    assert said.count(REPORT) == 1
    assert said.endswith(f"{end}\n")
    assert ended == status


def interrupted(folder: Path, command: str) -> tuple[int, str]:
    """How a program ends that Ctrl-C interrupts when its kernel has been compiled and has run."""
    process = start(folder, "wait", command=command)
    assert process.stdout is not None
    assert process.stdout.readline() == "done\n"
    time.sleep(0.2 * FACTOR)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, said = process.communicate(timeout=60)
    return process.returncode, said


def test_interrupted_program_has_its_findings_told(folder: Path) -> None:
    status, said = interrupted(folder, "check")
    assert REPORT in said
    assert SUMMARY in said
    assert status == -signal.SIGINT


def test_ctrl_c_ends_a_program_that_has_compiled(folder: Path) -> None:
    status, said = interrupted(folder, "run")
    assert status == -signal.SIGINT, said
