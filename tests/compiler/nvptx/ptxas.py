"""CUDA's assembler: from the wheel `nvidia-cuda-nvcc`, or from the path."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

WANTED = (70, 80, 90, 100)
"""Compute capabilities, times ten."""
STANDS_IN = {70: 75}
"""CUDA 13 has dropped the first, but assembles its PTX for the next one."""
_USED = re.compile(r"Used (\d+) registers")
_SPILLED = re.compile(r"(\d+) bytes spill stores")


@dataclass(frozen=True)
class Assembled:
    """What the assembler says of the kernels of a module."""

    registers: tuple[int, ...]
    spilled_bytes: tuple[int, ...]


@cache
def find() -> str | None:
    """Where the assembler is."""
    try:
        files = importlib.metadata.files("nvidia-cuda-nvcc") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "ptxas" and Path(str(file.locate())).exists():
            return str(file.locate())
    return shutil.which("ptxas")


@cache
def known() -> tuple[int, ...]:
    """The compute capabilities that it assembles for, of those that are wanted."""
    path = find()
    if path is None:
        return ()
    text = subprocess.run([path, "--help"], capture_output=True, text=True, check=True).stdout
    return tuple(sm for sm in WANTED if f"'sm_{STANDS_IN.get(sm, sm)}'" in text)


def assemble(text: str, sm: int) -> Assembled:
    """Assembles PTX. Raises AssertionError with the assembler's words if it does not take it."""
    path = find()
    if path is None:
        pytest.skip("there is no ptxas: pip install nvidia-cuda-nvcc")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "k.ptx")
        source.write_text(text)
        arch = f"-arch=sm_{STANDS_IN.get(sm, sm)}"
        command = [path, "-v", arch, str(source), "-o", str(Path(folder, "k.cubin"))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    registers = tuple(map(int, _USED.findall(done.stderr)))
    return Assembled(registers, tuple(map(int, _SPILLED.findall(done.stderr))))
