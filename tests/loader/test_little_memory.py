"""C programs in little address space: they run, or hear that there is no memory."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from groundstate import doctor

from .conftest import TIMEOUT, Route

KERNEL = Path(doctor.__file__).with_name("square.spv")
ENOUGH_KIB = 512 << 10
OUT_OF_HOST_MEMORY = "0x70000002"


def run_limited(
    route: Route, limit_kib: int, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs the program `little` as a shell does after `ulimit -v`."""
    path = route.build("little", *route.link, output=f"little-{route.name}")
    return subprocess.run(
        ["sh", "-c", f'ulimit -v {limit_kib} && exec "$0" "$@"', str(path), *arguments],
        env={**route.environment, "GROUNDSTATE_CACHE": "off", **variables},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )


@pytest.mark.parametrize("threads", [1, 64])
def test_half_a_gib_compiles_and_runs_kernel(route: Route, threads: int) -> None:
    done = run_limited(route, ENOUGH_KIB, str(KERNEL), GROUNDSTATE_THREADS=str(threads))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("little ok ")


@pytest.mark.parametrize("route", ["direct"], indirect=True)
@pytest.mark.parametrize("limit_mib", [*range(16, 64, 3), *range(64, 260, 28)])
def test_less_is_enough_or_said_to_be_too_little(route: Route, limit_mib: int) -> None:
    done = run_limited(route, limit_mib << 10, str(KERNEL), GROUNDSTATE_ERRORS="1")
    if done.returncode == 0:
        return
    assert done.returncode == 1, done.stderr
    *_, said, failed = done.stderr.splitlines()
    assert said.startswith("groundstate: ")
    assert "ulimit -v" in said
    assert failed.endswith(OUT_OF_HOST_MEMORY)
