"""C programs that know nothing of Groundstate, through each way to the driver."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from groundstate.compiler.opencl.frontend import compile_opencl

from .conftest import PROGRAMS, TIMEOUT, Build, Route

UNINITIALIZED = 0x78000001
DEPENDENCY_UNAVAILABLE = 0x70020000


def succeeded(done: subprocess.CompletedProcess[str]) -> str:
    """The output of a program that has to have ended well."""
    assert done.returncode == 0, f"{done.args} -> {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_discovery(route: Route) -> None:
    lines = succeeded(route.run("discovery")).splitlines()
    assert lines[0].startswith("driver api=1.")
    assert len([line for line in lines if line.startswith("  device type=1 sub=0")]) == 1
    assert len(lines) == 2


def test_discovery_of_a_topology(route: Route) -> None:
    lines = succeeded(route.run("discovery", env={"GROUNDSTATE_TOPOLOGY": "2x3"})).splitlines()
    assert len([line for line in lines if line.startswith("  device") and "sub=0" in line]) == 2
    assert len([line for line in lines if line.startswith("    device") and "sub=1" in line]) == 6


def test_pipeline(route: Route) -> None:
    assert succeeded(route.run("pipeline")) == "pipeline ok\n"


def compiled(name: str, factory: pytest.TempPathFactory) -> str:
    """The kernels of the program of a name, as a file of SPIR-V."""
    source = (PROGRAMS / f"{name}.cl").read_text(encoding="utf-8")
    path = factory.mktemp("kernels") / f"{name}.spv"
    path.write_bytes(compile_opencl(source))
    return str(path)


@pytest.fixture(scope="session")
def launches(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled("launches", tmp_path_factory)


@pytest.fixture(scope="session")
def scaling(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled("images", tmp_path_factory)


def test_images_as_in_the_programming_guide(route: Route, scaling: str) -> None:
    assert succeeded(route.run("images", scaling)) == "images ok\n"


def test_every_form_of_launch(route: Route, launches: str) -> None:
    assert succeeded(route.run("launches", launches, "forms")) == "launches ok\n"


@pytest.mark.parametrize("route", ["direct"], indirect=True)
def test_more_than_2_to_the_32_work_items(route: Route, launches: str) -> None:
    assert succeeded(route.run("launches", launches, "many")) == "launches ok\n"


def test_printing_more_than_the_buffer_holds(route: Route, launches: str) -> None:
    """What fits is printed whole, and each of the other calls tells the kernel that it failed."""
    *printed, said, end = succeeded(route.run("launches", launches, "print")).splitlines()
    failed, items = (int(word) for word in said.split() if word.isdigit())
    numbers = {int(line.split()[1]) for line in printed}
    assert end == "launches ok"
    assert 0 < failed < items
    assert len(numbers) == len(printed) == items - failed
    assert {line[15:] for line in printed} == {" of many, each as long as all the others"}


def test_many_threads_at_once(route: Route) -> None:
    assert succeeded(route.run("threads")) == "threads ok\n"


def test_fork_and_exec(route: Route) -> None:
    assert sorted(succeeded(route.run("forkexec")).split("\n")) == ["", "child ok", "parent ok"]


def test_sharing_with_other_processes(route: Route) -> None:
    before = shared_memory_of_the_driver()
    assert succeeded(route.run("ipc")) == "ipc ok\n"
    assert shared_memory_of_the_driver() == before


@pytest.mark.parametrize("how", ["return", "exit", "quick"])
def test_leaving_without_destroying(route: Route, how: str) -> None:
    before = shared_memory_of_the_driver()
    assert succeeded(route.run("abandon", how)) == "leaving\n"
    assert shared_memory_of_the_driver() == before


def test_being_killed_leaves_nothing(route: Route) -> None:
    before = shared_memory_of_the_driver()
    assert route.run("abandon", "kill").returncode == -signal.SIGKILL
    assert succeeded(route.run("pipeline")) == "pipeline ok\n"
    assert shared_memory_of_the_driver() == before


def test_foreign_python_variables_are_ignored(route: Route, tmp_path: Path) -> None:
    (tmp_path / "groundstate").mkdir()
    (tmp_path / "groundstate" / "__init__.py").write_text("raise SystemExit('the wrong package')\n")
    (tmp_path / "ctypes.py").write_text("raise SystemExit('the wrong ctypes')\n")
    misleading = {"PYTHONPATH": str(tmp_path), "PYTHONHOME": str(tmp_path)}
    assert succeeded(route.run("pipeline", env=misleading)) == "pipeline ok\n"


def test_no_home_and_another_folder(route: Route, tmp_path: Path) -> None:
    path = route.build("pipeline", *route.link, output=f"pipeline-{route.name}")
    done = subprocess.run(
        [str(path)],
        cwd=tmp_path,
        env={**route.environment, "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert succeeded(done) == "pipeline ok\n"
    assert list(tmp_path.iterdir()) == []


def test_host_with_other_python_is_harmless(route: Route, build: Build) -> None:
    fake = build("fake_python", "-shared", "-fPIC", output="libpython3.99.so.1.0")
    done = route.run("other_python", str(fake))
    assert succeeded(done).split()[1] == "0x0"


def test_host_sharing_other_python_gets_no_driver(route: Route, build: Build) -> None:
    if route.name == "loader":
        return  # the loader opens the driver when it is asked for it, and hides it
    fake = build("fake_python", "-shared", "-fPIC", output="libpython3.99.so.1.0")
    done = route.run("other_python", str(fake), "share")
    result = int(succeeded(done).split()[1], 16)
    assert result in (UNINITIALIZED, DEPENDENCY_UNAVAILABLE)
    assert "3.99" in done.stderr
    assert "pip install" in done.stderr


def test_a_python_of_another_environment(plain_venv: Path, library: Path) -> None:
    """A Python that has never heard of the package runs the driver with its own interpreter."""
    done = subprocess.run(
        [str(plain_venv), "-I", "-c", PYTHON_PROGRAM, str(library)],
        env={},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert succeeded(done) == "1 device\n"


PYTHON_PROGRAM = """
import ctypes, sys
ze = ctypes.CDLL(sys.argv[1])
count, driver, device = ctypes.c_uint32(1), ctypes.c_void_p(), ctypes.c_void_p()
assert ze.zeInit(0) == 0
assert ze.zeDriverGet(ctypes.byref(count), ctypes.byref(driver)) == 0
assert ze.zeDeviceGet(driver, ctypes.byref(count), ctypes.byref(device)) == 0
print(count.value, "device")
"""


def shared_memory_of_the_driver() -> set[str]:
    """The segments that a process of the driver could have left behind."""
    return {name for name in os.listdir("/dev/shm") if "groundstate" in name}


def test_tracers_see_calls(route: Route) -> None:
    """The system's loader is the judge: with it, its own tracing layer calls the callbacks."""
    assert succeeded(route.run("tracers", env={"ZE_ENABLE_TRACING_LAYER": "1"})) == "tracers ok\n"
