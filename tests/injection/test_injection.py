"""Calls that the libraries make into the system fail, one after the other: see main.c.

Each run takes a part of all calls, another one for each seed (GROUNDSTATE_INJECTION_SEED), so that
the tests stay short; `make fault-injection` fails every call.
"""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from groundstate import standin
from groundstate.compiler.opencl.frontend import compile_opencl

HERE = Path(__file__).parent
SEED = os.environ.get("GROUNDSTATE_INJECTION_SEED", "")
BURSTS = (1, 5, 1_000_000_000)
"""A single failure, some in a row, and all from one on."""
WAYS = {
    "warm": ("injection", "warm", 5),
    "recorded": ("injection-recorded", "warm", 12),
    "fresh": ("injection", "fresh", 70),
    "libraries": ("injection-libraries", "warm", 5),
    "fresh-libraries": ("injection-libraries", "fresh", 60),
}
"""The program, what it does, and how many calls lie between two that fail."""


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("injection")
    settings = [f"LIBRARY={standin.library().parent}", f"BUILD={folder}"]
    wanted = sorted({str(folder / program) for program, _, _ in WAYS.values()})
    make = ["make", "-C", str(HERE), *settings, *wanted]
    done = subprocess.run(make, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kernels") / "kernels.spv"
    path.write_bytes(compile_opencl((HERE / "kernels.cl").read_text(encoding="utf-8")))
    return path


def run(program: Path, *arguments: object, recordings: Path) -> str:
    """What the program says last; it has to end well."""
    done = subprocess.run(
        [program, *map(str, arguments)],
        env={**os.environ, "GROUNDSTATE_CAPTURE_OUT": str(recordings)},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("burst", BURSTS)
@pytest.mark.parametrize("way", WAYS)
def test_injected_failure_handled_retry_succeeds(
    programs: Path, kernels: Path, tmp_path: Path, way: str, burst: int
) -> None:
    name, mode, stride = WAYS[way]
    first = random.Random(f"{SEED}{way}{burst}").randint(1, stride)
    said = run(programs / name, kernels, mode, burst, first, stride, recordings=tmp_path)
    assert said.startswith(f"{mode}: ")


def test_resource_limits_are_answered(programs: Path, kernels: Path, tmp_path: Path) -> None:
    said = run(programs / "injection", kernels, "limits", 0, 0, recordings=tmp_path)
    assert said.startswith("limits: ")
