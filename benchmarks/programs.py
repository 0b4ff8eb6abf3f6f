"""Builds the C programs of this folder when they are needed, and runs them."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
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
    """Compiles `programs/<name>.c` if it, or what it may include, has changed since."""
    source = SOURCES / f"{name}.c"
    program = BUILT / (output or name)
    included = [*SOURCES.glob("*.h"), *(ROOT / "native").rglob("*.[ch]")]
    newest = max(path.stat().st_mtime for path in [source, *included])
    if program.exists() and program.stat().st_mtime > newest:
        return program
    BUILT.mkdir(parents=True, exist_ok=True)
    include = f"-I{ROOT / 'native'}"
    new = program.with_name(f"{program.name}.{os.getpid()}")
    command = [compiler(), *FLAGS, include, *flags, str(source), "-o", str(new), "-lm", "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise MeasuringError(f"{source.name} does not compile:\n{done.stderr}")
    new.replace(program)  # another process may be running the one before
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
    return _samples(done.stdout.splitlines())


def _samples(lines: Iterable[str]) -> dict[str, list[float]]:
    samples: dict[str, list[float]] = {}
    for line in lines:
        name, nanoseconds = line.rsplit(" ", 1)
        samples.setdefault(name, []).append(float(nanoseconds))
    return samples


class Session:
    """A program that measures when it is asked to, and waits in between.

    A line with a number asks for as many samples; an empty line follows them.
    """

    def __init__(self, program: Path, *arguments: object, env: Mapping[str, str]) -> None:
        self._name = program.name
        self._process = subprocess.Popen(
            [str(program), *map(str, arguments)],
            env=clean_environment(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def measure(self, count: int) -> dict[str, list[float]]:
        """So many samples."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(f"{count}\n")
            process.stdin.flush()
        lines: list[str] = []
        for line in process.stdout:
            if line == "\n":
                return _samples(lines)
            lines.append(line)
        _, errors = process.communicate(timeout=TIMEOUT_S)
        raise MeasuringError(f"{self._name} ended with {process.returncode}: {errors}")

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate(timeout=TIMEOUT_S)
