"""SYCL programs through dpctl: which device they get, many at once, and what fails in them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from groundstate import standin
from groundstate.compiler.opencl.frontend import compile_opencl

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
NUMBERED = ROOT / "tests" / "loader" / "programs" / "numbered.cl"
PYTHON = ROOT / ".venv" / "sycl" / "bin" / "python"
TIMEOUT = 120
TURN = """
kernel void turn(global uint *numbers, local uint *copy) {
    size_t i = get_local_id(0);
    copy[i] = numbers[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    numbers[i] = copy[get_local_size(0) - 1 - i];
}
"""

Start = Callable[..., subprocess.Popen[str]]
adapters = pytest.mark.parametrize("adapter", [0, 1], ids=["older", "newer"])


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts a program of this folder on the driver, as `groundstate run` does."""
    if not PYTHON.exists():
        pytest.skip("there is no Python with dpctl: make .venv/sycl/.installed")
    spirv = tmp_path_factory.mktemp("clients") / "numbered.spv"
    spirv.write_bytes(compile_opencl(NUMBERED.read_text(encoding="utf-8") + TURN))

    started: list[subprocess.Popen[str]] = []

    def begin(program: str, adapter: int, **more: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "UR_LOADER_USE_LEVEL_ZERO_V2": str(adapter), **more}
        environment |= standin.environment(environment)
        process = subprocess.Popen(
            [PYTHON, PROGRAMS / f"{program}.py", spirv],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()


def said(process: subprocess.Popen[str]) -> tuple[list[str], str]:
    """The lines that a program printed, and what it complained of; it must have ended well."""
    out, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0, err
    return out.splitlines(), err


@adapters
def test_threads_share_queues_of_default_device(start: Start, adapter: int) -> None:
    lines, _ = said(start("threads", adapter))
    assert lines[0].startswith("level_zero:gpu:0 Groundstate")
    assert lines[1:] == ["equal"]


def test_several_processes_at_once(start: Start) -> None:
    processes = [start("threads", adapter) for adapter in (0, 1, 1)]
    assert [said(process)[0][-1] for process in processes] == ["equal"] * 3


def test_workers_of_multiprocessing(start: Start) -> None:
    assert said(start("workers", 1))[0] == ["equal"]


@adapters
def test_failures_raise_and_driver_logs_reasons(start: Start, adapter: int) -> None:
    lines, complaints = said(start("failures", adapter, GROUNDSTATE_ERRORS="serious"))
    happened = dict(line.split() for line in lines[:-1])
    assert happened["module"] == "SyclProgramCompilationError"
    assert happened["memory"] == "USMAllocationError"
    assert happened["local"] == "SyclKernelSubmitError"
    assert happened["lost"] == "USMAllocationError"
    assert lines[-1] == "end"
    module, memory, local, fault = [
        line for line in complaints.splitlines() if line.startswith("groundstate: ")
    ]
    assert "zeModuleCreate: " in module
    assert "1125899906842624 bytes" in memory
    assert "a group needs 1073741824 bytes of local memory" in local
    assert "kernel 'step'" in fault
    assert "address 0x1000, where there is no memory" in fault
