"""Programs of tests/native about threads and processes, at full speed: without a sanitizer."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from groundstate import standin

NATIVE = Path(__file__).parent.parent / "native"


@pytest.mark.parametrize("name", ["forks", "destroyed"])
def test_program_ends_well(tmp_path: Path, name: str) -> None:
    library, program = standin.library().parent, tmp_path / name
    options = ["-std=gnu11", "-O1", "-pthread", "-D_GNU_SOURCE=", f"-I{NATIVE.parents[1]}/native"]
    link = [f"-L{library}", "-l:libze_groundstate.so.1", f"-Wl,-rpath,{library}"]
    subprocess.run(["cc", *options, NATIVE / f"{name}.c", *link, "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, timeout=280, check=False)
    assert (done.returncode, done.stderr) == (0, "")
