"""SYCL programs in C++, built by an ordinary compiler, with kernels that the runtime compiles."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from groundstate.compiler.opencl.frontend import compile_opencl

from .conftest import PROGRAMS, ROOT, run_on_the_driver
from .test_programs import succeeded

# The runtime's two adapters for Level Zero, and what each makes of a queue.
ADAPTERS = {
    "older": ({"UR_LOADER_USE_LEVEL_ZERO_V2": "0"}, "an immediate list"),
    "older with command queues": (
        {"UR_LOADER_USE_LEVEL_ZERO_V2": "0", "UR_L0_USE_IMMEDIATE_COMMANDLISTS": "0"},
        "a command queue",
    ),
    "newer": ({"UR_LOADER_USE_LEVEL_ZERO_V2": "1"}, "an immediate list"),
}
"""What chooses an adapter, and what its queues are."""


@pytest.fixture(scope="session")
def compiler() -> str:
    found = shutil.which(os.environ.get("CXX", "c++"))
    if found is None:
        pytest.skip("there is no C++ compiler: apt-get install g++")
    return found


def built(compiler: str, sycl: Path, source: Path, target: Path, *link: str) -> Path:
    """A program made as docs/howto/running.md says."""
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-isystem", str(sycl / "include")]
    link = (f"-L{sycl}/lib", f"-Wl,-rpath,{sycl}/lib", "-lsycl", *link)
    done = subprocess.run(
        [compiler, *flags, str(source), "-o", str(target), *link], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def native(
    compiler: str, sycl: Path, headers: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    """The program sycl_native, and its kernels."""
    folder = tmp_path_factory.mktemp("sycl")
    spirv = folder / "numbered.spv"
    spirv.write_bytes(compile_opencl((PROGRAMS / "numbered.cl").read_text(encoding="utf-8")))
    source = PROGRAMS / "sycl_native.cpp"
    return built(compiler, sycl, source, folder / "native", "-lze_loader"), str(spirv)


def test_device_is_no_gpu_that_sycl_knows(compiler: str, sycl: Path, tmp_path: Path) -> None:
    """So nobody expects matrix instructions of it."""
    source = PROGRAMS / "sycl_architecture.cpp"
    done = run_on_the_driver(built(compiler, sycl, source, tmp_path / "architecture"))
    assert succeeded(done).startswith("unknown, 0 matrix combinations, version ")


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_spirv_and_the_objects_of_level_zero(native: tuple[Path, str], adapter: str) -> None:
    program, spirv = native
    env, kind = ADAPTERS[adapter]
    also_refused = ["refused"] if adapter == "newer" else []
    done = run_on_the_driver(program, spirv, *also_refused, env=env)
    queue, broken, end, *refused = succeeded(done).splitlines()
    assert queue == f"a queue is {kind}"
    assert "UR_RESULT_ERROR_PROGRAM_BUILD_FAILURE" in broken
    assert "groundstate: zeModuleCreate: instruction 61166 at word 5" in done.stderr
    assert end == "sycl ok"
    # Programs that the runtime builds have the driver's description in the exception.
    reason = "OpAsmCallINTEL: inline assembly is for one kind of GPU"
    assert (reason in "\n".join(refused)) == bool(also_refused)


def test_sycl_example_compiles_kernels_at_runtime(
    compiler: str, sycl: Path, tmp_path: Path
) -> None:
    source = ROOT / "examples" / "sycl" / "saxpy.cpp"
    program = built(compiler, sycl, source, tmp_path / "saxpy")
    _, *lines = succeeded(run_on_the_driver(program)).splitlines()
    checked = [line.rsplit(",", 1)[0] for line in lines]
    assert checked == [f"saxpy<{each}>: 1048576 elements, 0 wrong" for each in ("float", "int")]


def test_profile_of_a_sycl_program_has_its_kernels(
    native: tuple[Path, str], tmp_path: Path
) -> None:
    program, spirv = native
    file = tmp_path / "profile.json"
    options = ["--no-roof", "--json", "-o", str(file)]
    command = [sys.executable, "-m", "groundstate", "profile", *options, "--", str(program), spirv]
    succeeded(subprocess.run(command, capture_output=True, text=True))
    report = json.loads(file.read_text(encoding="utf-8"))
    (kernel,) = report["kernels"]
    assert (kernel["name"], kernel["counted"]["per_item"]["bytes"]) == ("step", 8)
    calls = [each["name"] for each in report["processes"][0]["calls"]]
    assert any("Append" in name for name in calls)
