"""Building the stand-in for the CUDA driver, and the environment of processes that use it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
COMPILER = os.environ.get("CC", "cc").split()
FLAGS = ["-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-pthread"]


def build(folder: Path) -> Path:
    """Compiles the stand-in into a folder."""
    output = folder / "libcuda_standin.so"
    sources = sorted((HERE / "standin").glob("*.c"))
    subprocess.run([*COMPILER, *FLAGS, *sources, "-o", output], check=True)
    return output


def environment(library: Path, **more: str) -> dict[str, str]:
    """What a process needs to have the stand-in's GPU behind the CPU."""
    return {
        **os.environ,
        "GROUNDSTATE_CUDA_LIBRARY": str(library),
        "GROUNDSTATE_NVIDIA": "1",
        **more,
    }
