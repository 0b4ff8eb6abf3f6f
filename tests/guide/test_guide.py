"""The programs of the programming guide: none is missing, and C and Python show the same."""

from __future__ import annotations

import ctypes
import os
import runpy
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from groundstate import standin
from tests.loader_stub import is_loader_installed

from .blocks import BLOCKS_IN_SECTION, PROGRAMS, Program, page
from .kernels import EXAMPLES, write_kernels

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FLAGS = ["-std=gnu11", "-O0", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE="]
TIMEOUT = 120


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with all C programs, compiled side by side."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("there is no C compiler: apt-get install gcc")
    if not Path("/usr/include/level_zero/ze_api.h").exists():
        pytest.skip(
            "the Level Zero headers are missing: on x86-64, apt-get install libze1 libze-dev"
        )
    folder = tmp_path_factory.mktemp("guide")

    def compile_program(program: Program) -> str:
        source, output = HERE / f"{program.name}.c", folder / program.name
        command = [compiler, *FLAGS, str(source), "-o", str(output), "-lze_loader", "-lm", "-ldl"]
        return subprocess.run(command, capture_output=True, text=True).stderr

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        messages = "".join(pool.map(compile_program, PROGRAMS))
    assert messages == ""
    return folder


def routes(library: Path) -> list[dict[str, str]]:
    """The variables that lead a program to the driver: in place of the loader, and through it."""
    through = [{"ZE_ENABLE_ALT_DRIVERS": str(library)}] if is_loader_installed() else []
    return [{"LD_LIBRARY_PATH": str(standin.folder())}, *through]


def python_output(program: Program, capture: pytest.CaptureFixture[str]) -> str:
    """What the Python program prints; one that needs variables has a process of its own."""
    path = str(EXAMPLES / f"{program.name}.py")
    if program.environment:
        environment = {**os.environ, **program.environment}
        return succeeded([sys.executable, path], environment)
    runpy.run_path(path, run_name="__main__")
    sys.stdout.flush()
    return capture.readouterr().out


def succeeded(command: list[str], environment: dict[str, str]) -> str:
    """The output of a program that has to have ended well and without complaints."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, f"{command} -> {done.returncode}\n{done.stdout}{done.stderr}"
    assert done.stderr == ""
    return done.stdout


def require_opencl() -> None:
    """Skips a test on a machine without OpenCL: a loader, and an implementation behind it."""
    pyopencl = pytest.importorskip("pyopencl")
    try:
        ctypes.CDLL("libOpenCL.so.1")
        pyopencl.get_platforms()
    except (OSError, pyopencl.LogicError) as problem:
        pytest.skip(f"{problem}: apt-get install ocl-icd-libopencl1 pocl-opencl-icd")


def in_order(program: Program, shown: str) -> list[str]:
    """The lines of an output; sorted, if work-items printed them, which happens in any order."""
    lines = shown.splitlines()
    return sorted(lines) if program.name == "formatted_output" else lines


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_c_and_python_show_the_same(
    program: Program,
    programs: Path,
    library: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    if program.name == "opencl_interop":
        require_opencl()
    expected = in_order(program, python_output(program, capfd))
    assert expected
    for number, route in enumerate(routes(library)):
        kernels = tmp_path / str(number)
        write_kernels(program.name, kernels)
        command = [str(programs / program.name), str(kernels)]
        shown = succeeded(command, {"PATH": os.defpath, **route, **program.environment})
        assert in_order(program, shown) == expected


# --- The list -------------------------------------------------------------------------------------


def test_no_block_is_forgotten() -> None:
    done = {block for program in PROGRAMS for block in program.blocks if block[1]}
    there_are = {
        (section, number)
        for section, count in BLOCKS_IN_SECTION.items()
        for number in range(1, count + 1)
    }
    assert done == there_are


def test_every_program_is_in_the_list() -> None:
    names = sorted(program.name for program in PROGRAMS)
    assert names == sorted(path.stem for path in HERE.glob("*.c"))
    assert names == sorted(path.stem for path in EXAMPLES.glob("*.py"))


def test_the_page_is_up_to_date() -> None:
    written = (ROOT / "docs" / "reference" / "guide.md").read_text(encoding="utf-8")
    assert written == page(), "run: python -m tests.guide.blocks > docs/reference/guide.md"
