"""Programs that open the loader by a path, as pyzes does, get the driver with `run --any-path`."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from .conftest import run_on_the_driver

OPENS = """
import ctypes, sys
for path in sys.argv[1:]:
    try:
        print(ctypes.CDLL(path).zeInit(0))
    except OSError:
        print("no")
"""


def test_only_the_loader_is_another(plain_venv: Path) -> None:
    loaders = ["/nowhere/libze_loader.so.1", "/nowhere/libze_loader.so.1.8.12", "libze_loader.so.1"]
    others = ["/nowhere/libze_loader.so.old", "/nowhere/libze_loader.txt", "/nowhere/libze_1.so"]
    done = run_on_the_driver(plain_venv, "-c", OPENS, *loaders, *others, options=["--any-path"])
    assert done.stdout.split() == ["0"] * len(loaders) + ["no"] * len(others), done.stderr


def test_pyzes_in_an_environment_of_its_own(plain_venv: Path, tmp_path: Path) -> None:
    package = importlib.util.find_spec("pyzes")
    if package is None or package.origin is None:
        pytest.skip("the package is missing: pip install pyzes==0.1.3")
    shutil.copytree(Path(package.origin).parent, tmp_path / "pyzes")
    program = tmp_path / "count.py"
    program.write_text(
        "from pyzes import *\n"
        "count = c_uint32(0)\n"
        "assert zesInit(0) == zesDriverGet(byref(count), None) == ZE_RESULT_SUCCESS\n"
        "print(count.value, 'driver')\n",
        encoding="utf-8",
    )
    done = run_on_the_driver(plain_venv, str(program), options=["--any-path"])
    assert done.stdout == "1 driver\n", done.stderr
