"""What is done while clang runs: the compiler that will be needed next gets ready."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from groundstate.compiler import preparation
from groundstate.compiler.llvm import service
from groundstate.compiler.opencl.clang import Clang
from groundstate.compiler.opencl.frontend import compile_opencl

SOURCE = "kernel void f(global int *a) { a[get_global_id(0)] += %d; }"

COMPILE = """
import sys
from groundstate.compiler.preparation import preparation
step = preparation()
while step():
    pass
ready = set(sys.modules)
from groundstate.compiler.program import Program
Program(open(sys.argv[1], "rb").read()).compile("f", (8, 1, 1))
print(*(name for name in sys.modules if name not in ready))
"""


def program(text: str) -> Clang:
    """What stands in for clang: it gets Python as its first argument."""
    return Clang((sys.executable, "-c", text))


def test_meanwhile_is_called_until_it_has_nothing_to_do() -> None:
    left = iter([True, True, False])
    run = program("import sys, time; time.sleep(1); print(sys.stdin.read())").run
    assert run([], b"text", lambda: next(left)).stdout == b"text\n"
    assert list(left) == []


def test_meanwhile_ends_with_the_process() -> None:
    assert program("pass").run([], b"", lambda: True).returncode == 0


def test_clang_reads_and_writes_more_than_a_pipe_holds() -> None:
    text = b"x" * (1 << 20)
    calls = iter([True, False])
    copy = program("import sys; sys.stdout.write(sys.stdin.read())")
    assert copy.run([], text, lambda: next(calls)).stdout == text


def test_failure_meanwhile_ends_clang() -> None:
    def fail() -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        program("import time; time.sleep(600)").run([], b"", fail)


@pytest.mark.needs_compiler
def test_source_in_the_cache_prepares_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GROUNDSTATE_CACHE", str(tmp_path / "cache"))
    calls: list[int] = []

    def meanwhile() -> bool:
        calls.append(1)
        return False

    first = compile_opencl(SOURCE % 1, meanwhile=meanwhile)
    assert calls
    calls.clear()
    assert compile_opencl(SOURCE % 1, meanwhile=meanwhile) == first
    assert not calls


def test_first_step_starts_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[bool] = []
    monkeypatch.setattr(service, "start", lambda: started.append(True))
    assert preparation.preparation()()
    assert started == [True]


@pytest.mark.needs_compiler
def test_prepared_compiler_imports_no_more_of_itself(tmp_path: Path) -> None:
    path = tmp_path / "f.spv"
    path.write_bytes(compile_opencl(SOURCE % 2))
    run = subprocess.run(
        [sys.executable, "-c", COMPILE, str(path)],
        env={**os.environ, "GROUNDSTATE_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    late = [name for name in run.stdout.split() if name.startswith("groundstate.compiler.")]
    assert late == []
