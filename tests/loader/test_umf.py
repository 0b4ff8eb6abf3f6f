"""The Unified Memory Framework (UMF) allocates and shares memory of the device."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from .conftest import FLAGS, ROOT, run_on_the_driver
from .test_programs import succeeded

SIZES = (24, 5000, 3145728)


def pooled(kind: str) -> str:
    """What the example says when a pool of that memory works."""
    given = "".join(f" {size} bytes of {kind} memory," for size in SIZES)
    return f"a pool gave out{given} and has them back"


def test_pools_errors_and_two_processes(sycl: Path, headers: Path, tmp_path: Path) -> None:
    compiler = shutil.which(os.environ.get("CC", "cc"))
    assert compiler is not None
    program = tmp_path / "umf"
    link = (f"-L{sycl}/lib", f"-Wl,-rpath,{sycl}/lib", "-lumf", "-lze_loader")
    source = str(ROOT / "examples" / "umf.c")
    command = [compiler, *FLAGS, f"-I{sycl}/include", source, "-o", str(program), *link]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

    ran = run_on_the_driver(program, env={"GROUNDSTATE_ERRORS": "1"})
    assert succeeded(ran).splitlines() == [
        pooled("host"),
        pooled("shared"),
        pooled("device"),
        "LEVEL_ZERO has no pebibyte: error 2, the driver's 0x70000003",
        "a second process doubled 1000 numbers, 0 wrong",
    ]
    assert "groundstate: 1125899906842624 bytes more do not fit" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1

    checked = run_on_the_driver(program, env={"GROUNDSTATE_CHECK": "1"})
    assert succeeded(checked) == ran.stdout
    assert "error:" not in checked.stderr
