"""However a command ends, by Ctrl-C or because nobody reads on, there is no traceback."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

KERNEL = "kernel void add(global int *a) { a[get_global_id(0)] += 1; }\n"

INTERRUPT_AT = """
import signal, sys

class InterruptAt:
    '''Presses Ctrl-C when a module is about to be imported.'''
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)
        return None

sys.meta_path.insert(0, InterruptAt())
"""

PROGRAM = """
sys.argv = ["groundstate", *{arguments!r}]
from groundstate.cli.main import main
sys.exit(main())
"""


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("argparse", ["--help"]),
        ("groundstate.cli.commands", ["info"]),
        ("groundstate.cli.info", ["info"]),
        ("groundstate.core", ["info"]),
        ("groundstate.driver.entry", ["info"]),
        ("groundstate.driver.devices", ["info"]),
        ("rich.console", ["info"]),
        ("rich", ["compile", "nothing.cl"]),
        ("groundstate.monitor.source", ["top", "--once"]),
        ("groundstate.survey.conduct", ["survey", "."]),
    ],
)
def test_interrupt_during_import_ends_in_one_line(module: str, arguments: list[str]) -> None:
    code = INTERRUPT_AT.format(module=module) + PROGRAM.format(arguments=arguments)
    done = run_python(code)
    assert (done.returncode, done.stderr) == (130, "groundstate: interrupted\n")
    assert done.stdout == ""


def test_interrupt_in_destructor_ends_program() -> None:
    code = """
import signal, sys, time
from groundstate.cli import commands
from groundstate.cli.main import main

class Late:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
        str()

def run(args):
    Late()
    time.sleep(10)
    print("it went on")
    return 0

commands.parse = lambda arguments: (run, None)
sys.exit(main())
"""
    done = run_python(code)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "groundstate: interrupted\n")


def test_interrupt_survives_a_slow_hook() -> None:
    """The process may be held up while it arranges for the interrupt to come once more."""
    code = """
import signal, sys, time
from groundstate.cli import commands, main as program

class Late:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
        str()

def run(args):
    Late()
    time.sleep(10)
    print("it went on")
    return 0

arm = signal.setitimer
def slow(which, seconds):
    arm(which, seconds)
    signal.setitimer = arm
    time.sleep(0.1)

signal.setitimer = slow
commands.parse = lambda arguments: (run, None)
sys.exit(program.main())
"""
    done = run_python(code)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "groundstate: interrupted\n")


def test_interrupt_at_exit_ends_in_one_line() -> None:
    code = """
import atexit, signal, sys
from groundstate.cli.main import main
atexit.register(signal.raise_signal, signal.SIGINT)
sys.argv = ["groundstate", "--version"]
sys.exit(main())
"""
    done = run_python(code)
    assert (done.returncode, done.stderr) == (130, "groundstate: interrupted\n")


def test_driver_starts_after_an_interrupted_start() -> None:
    code = INTERRUPT_AT.format(module="groundstate.driver.devices")
    code += """
import groundstate as gs
try:
    gs.devices()
except KeyboardInterrupt:
    print("interrupted")
print(len(gs.devices()) > 0)
"""
    done = run_python(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\nTrue\n", "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "k.cl").write_text(KERNEL)
    command = [sys.executable, "-m", "groundstate", "compile", "k.cl"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    return tmp_path


COMMAND_LINES = (
    ["--help"],
    ["--version"],
    ["info"],
    ["info", "--json"],
    ["info", "--help"],
    ["env"],
    ["compile", "k.cl", "-o", "-"],
    ["compile", "k.cl", "--emit=asm"],
    ["dis", "k.spv"],
    ["top", "--once", "--interval", "0"],
    ["metrics", "--once"],
    ["cache"],
    ["survey", "k.spv"],
)


@pytest.mark.parametrize("arguments", COMMAND_LINES, ids=" ".join)
def test_output_that_nobody_reads_is_no_error(folder: Path, arguments: list[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "groundstate", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=120), said) == (0, "")


@pytest.mark.parametrize("arguments", COMMAND_LINES, ids=" ".join)
def test_unwritable_output_is_a_one_line_error(folder: Path, arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "groundstate", *arguments],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
    name = f"groundstate {arguments[0]}" if arguments[0].isalpha() else "groundstate"
    sentence = f"{name}: standard output: no space left on the disk\n"
    assert (done.returncode, done.stderr) == (1, sentence)


def test_closed_output_is_no_error() -> None:
    script = f"{sys.executable} -m groundstate info >&-"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_program_under_run_ends_at_broken_pipe() -> None:
    script = f"{sys.executable} -m groundstate run -- yes | head -1"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("y\n", "")


@pytest.mark.parametrize("command", ["compile", "dis", "survey"])
def test_missing_files_are_reported_alike(tmp_path: Path, command: str) -> None:
    words = [sys.executable, "-m", "groundstate", command, "no/such.spv"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    sentence = f"groundstate {command}: no/such.spv: no such file\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", sentence)


def test_output_in_a_missing_folder_is_one_line(folder: Path) -> None:
    command = [sys.executable, "-m", "groundstate", "compile", "k.cl", "-o", "no/such.spv"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, "groundstate compile: no/such.spv: no such file\n")


@pytest.mark.parametrize("arguments", ["k.cl -o -", "-", "k.cl --emit=object -o -"])
def test_compile_writes_no_binary_to_a_terminal(folder: Path, arguments: str) -> None:
    parent, child = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "groundstate", "compile", *arguments.split()],
        cwd=folder,
        input=KERNEL,
        stdout=child,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    os.close(child)
    os.close(parent)
    assert done.returncode == 1
    assert "is binary and standard output is a terminal; name a file with -o" in done.stderr


@pytest.mark.needs_compiler
def test_failed_file_leaves_standard_output_alone(tmp_path: Path) -> None:
    """A program that calls `main` goes on printing afterwards."""
    (tmp_path / "k.cl").write_text("kernel void f(global int *a) { a[0] = 1; }\n")
    program = """
from groundstate.cli.main import main
main(["compile", "k.cl", "-o", "no/such/k.spv"])
print("still here")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "no/such/k.spv: no such file" in done.stderr
    assert done.stdout == "still here\n"
