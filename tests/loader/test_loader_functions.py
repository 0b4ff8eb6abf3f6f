"""What programs ask of a loader, asked of the stand-in."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from groundstate import standin
from registry.load import load

from .conftest import TIMEOUT, Build


def test_a_statically_linked_shim_starts(build: Build, headers: Path) -> None:
    program = build("loader_shim", "-ldl")
    loader = standin.folder() / "libze_loader.so.1"
    done = subprocess.run(
        [str(program), str(loader)], env={}, capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "loader 1.32.0 api 1.17\ntorn down\n"


def test_all_exports_of_the_real_loader_are_there(library: Path, headers: Path) -> None:
    """Whatever a program linked against Debian's loader refers to is found in the stand-in."""
    real = next(Path("/usr/lib").glob("*/libze_loader.so.1"), None)
    if real is None:
        pytest.skip("the Level Zero loader is missing: on x86-64, apt-get install libze1")
    missing = {name for name in exported(real) - exported(library) if name.startswith("ze")}
    assert missing == set()


def test_each_core_function_registers_one_tracer(library: Path) -> None:
    nouns = [
        function.name.removeprefix(function.namespace)
        for function in load().functions.values()
        if function.namespace in ("ze", "zer")
    ]
    registrations = {name for name in exported(library) if name.endswith("RegisterCallback")}
    assert registrations == {f"zelTracer{noun}RegisterCallback" for noun in nouns}


def test_stand_in_and_driver_are_one_library(library: Path) -> None:
    driver = ctypes.CDLL(str(library))
    loader = ctypes.CDLL(str(standin.folder() / "libze_loader.so.1"))
    assert address(driver.zeInit) == address(loader.zeInit)


def address(function: object) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value  # type: ignore[arg-type]


def exported(path: Path) -> set[str]:
    """The names of the functions that a library exports."""
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", str(path)], capture_output=True, text=True, check=True
    )
    return {line.split()[-1] for line in listing.stdout.splitlines()}
