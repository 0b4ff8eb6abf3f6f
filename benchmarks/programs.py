"""Builds the C programs of this folder when they are needed, and runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = Path(__file__).parent / "programs"
BUILT = ROOT / "build" / "benchmarks"
FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-D_GNU_SOURCE=")
TIMEOUT_S = 600
STEERING = (
    *("ZE_", "ZEL_", "ZES_", "ZET_", "GROUNDSTATE_", "OCL_", "OPENCL_", "POCL_", "CL_"),
    *("ONEAPI_", "SYCL_", "UR_", "PYTHONDONTWRITEBYTECODE"),
)
"""How the names of variables begin that would change what is measured."""


class MeasuringError(RuntimeError):
    """Something that the benchmarks need is missing or does not work."""


def compiler() -> str:
    """The C compiler, by name."""
    name = os.environ.get("CC", "cc")
    if shutil.which(name) is None:
        raise MeasuringError("there is no C compiler: apt-get install gcc libc6-dev")
    return name


@cache
def build(name: str, *flags: str, output: str = "") -> Path:
    """Compiles `programs/<name>.c` if it or a header has changed since; returns the program."""
    source = SOURCES / f"{name}.c"
    program = BUILT / (output or name)
    headers = [*SOURCES.glob("*.h"), *(ROOT / "native" / "generated").glob("*.h")]
    newest = max(path.stat().st_mtime for path in [source, *headers])
    if program.exists() and program.stat().st_mtime > newest:
        return program
    BUILT.mkdir(parents=True, exist_ok=True)
    include = f"-I{ROOT / 'native'}"
    command = [compiler(), *FLAGS, include, *flags, str(source), "-o", str(program), "-lm", "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise MeasuringError(f"{source.name} does not compile:\n{done.stderr}")
    return program


def clean_environment(changes: Mapping[str, str]) -> dict[str, str]:
    """This process's variables without those that steer Level Zero, OpenCL and SYCL, and `changes`.

    Python keeps what it compiles, as it does of installed packages.
    """
    kept = {name: text for name, text in os.environ.items() if not name.startswith(STEERING)}
    return {**kept, **changes}


def run(program: Path | str, *arguments: object, env: Mapping[str, str]) -> dict[str, list[float]]:
    """Runs a program that prints a line `name nanoseconds` for each sample."""
    command = [str(program), *map(str, arguments)]
    done = subprocess.run(
        command, env=clean_environment(env), capture_output=True, text=True, timeout=TIMEOUT_S
    )
    if done.returncode != 0:
        raise MeasuringError(f"{Path(program).name} ended with {done.returncode}: {done.stderr}")
    samples: dict[str, list[float]] = {}
    for line in done.stdout.splitlines():
        name, nanoseconds = line.rsplit(" ", 1)
        samples.setdefault(name, []).append(float(nanoseconds))
    return samples
