"""Compiles the C programs of this folder and runs them through each way to the driver."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from groundstate import standin

PROGRAMS = Path(__file__).parent / "programs"
ROOT = Path(__file__).parents[2]
SYCL = ROOT / ".venv" / "sycl"
HEADERS = Path("/usr/include/level_zero")
FLAGS = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-D_GNU_SOURCE="]
TIMEOUT = 120

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def headers() -> Path:
    """The headers of the real loader."""
    if not (HEADERS / "ze_api.h").exists():
        pytest.skip("the Level Zero headers are missing: on x86-64, apt-get install libze-dev")
    return HEADERS


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compiles a program of this folder: `build("pipeline", "-lze_loader")`."""
    folder = tmp_path_factory.mktemp("programs")
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("there is no C compiler: apt-get install gcc")

    def compile_program(name: str, *flags: str, output: str = "") -> Path:
        path = folder / (output or name)
        if not path.exists():
            source = PROGRAMS / f"{name}.c"
            options = [*FLAGS, f"-I{PROGRAMS}"]
            command = [compiler, *options, str(source), "-o", str(path), *flags, "-lm"]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        return path

    return compile_program


@pytest.fixture(scope="session")
def sycl() -> Path:
    """A virtual environment with a SYCL runtime: its headers in include, its libraries in lib."""
    if not (SYCL / "include" / "sycl").exists():
        pytest.skip("there is no environment with a SYCL runtime: make .venv/sycl/.installed")
    return SYCL


def run_on_the_driver(
    program: Path, *arguments: str, options: Sequence[str] = (), env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a program as users do, with `groundstate run`."""
    return subprocess.run(
        [sys.executable, "-m", "groundstate", "run", *options, "--", str(program), *arguments],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )


@dataclass(frozen=True)
class Route:
    """One way for a C program to reach the driver."""

    name: str
    link: tuple[str, ...]
    environment: dict[str, str]
    build: Build = field(repr=False)

    def run(
        self, program: str, *arguments: str, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Builds a program and runs it with only the variables that this route needs, and `env`."""
        path = self.build(program, *self.link, output=f"{program}-{self.name}")
        return subprocess.run(
            [str(path), *arguments],
            env={**self.environment, **(env or {})},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )


def loader_route(name: str, environment: dict[str, str], build: Build) -> Route:
    """A route for programs that were linked against the real loader, as all are out there."""
    if not list(Path("/usr/lib").glob("*/libze_loader.so")):
        pytest.skip("the Level Zero loader is missing: on x86-64, apt-get install libze1 libze-dev")
    return Route(name, ("-lze_loader", "-ldl"), environment, build)


@pytest.fixture(params=["loader", "standin", "direct"])
def route(request: pytest.FixtureRequest, build: Build, library: Path, headers: Path) -> Route:
    """Each way in turn: the system's loader, our library in its place, and no loader at all."""
    if request.param == "loader":
        return loader_route("loader", {"ZE_ENABLE_ALT_DRIVERS": str(library)}, build)
    if request.param == "standin":
        return loader_route("standin", {"LD_LIBRARY_PATH": str(standin.folder())}, build)
    link = (f"-L{library.parent}", f"-l:{library.name}", f"-Wl,-rpath,{library.parent}", "-ldl")
    return Route("direct", link, {}, build)


@pytest.fixture(scope="session")
def plain_venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an empty virtual environment of this Python version."""
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin" / "python"


def table_getters(headers: Path) -> list[tuple[str, str]]:
    """Each dispatch table of the installed headers: its getter and its type."""
    pattern = re.compile(
        r"ZE_APICALL\s+(ze[st]?Get\w+ProcAddrTable)\(\s*ze_api_version_t[^\n]*\n\s*(\w+)\s*\*"
    )
    names = ("ze_ddi.h", "zes_ddi.h", "zet_ddi.h")
    found = [pattern.findall((headers / name).read_text(encoding="utf-8")) for name in names]
    return [pair for pairs in found for pair in pairs]
