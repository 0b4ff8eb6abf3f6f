"""CUDA's assembler and disassembler, where somebody has installed them: PTX to SASS, which is what
NVIDIA's GPUs run. Nothing else of this package needs them.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import tempfile

from groundstate.compiler.errors import BuildError

PLACES = ("/usr/local/cuda/bin", "/opt/cuda/bin")
"""Where the toolkit is, if it is not in the path."""
WHEELS = {"ptxas": "nvidia-cuda-nvcc", "nvdisasm": "nvidia-cuda-nvdisasm"}
"""The packages that have the tools, too."""


def find(tool: str) -> str:
    """Where a tool is. Raises BuildError if it is nowhere."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *PLACES))
    found = shutil.which(tool, path=path) or _in_wheel(tool)
    if found is None:
        raise BuildError(
            f"{tool} is not there: install NVIDIA's CUDA toolkit, or pip install {WHEELS[tool]}"
        )
    return found


def _in_wheel(tool: str) -> str | None:
    try:
        files = importlib.metadata.files(WHEELS[tool]) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    places = [str(each.locate()) for each in files if each.name == tool]
    return next(filter(os.path.exists, places), None)


def sass(ptx: str, sm: str) -> str:
    """SASS of PTX, as text, for a GPU such as sm_90. Raises BuildError with a tool's words."""
    assembler, disassembler = find("ptxas"), find("nvdisasm")
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = (os.path.join(folder, f"kernels.{each}") for each in ("ptx", "cubin"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(ptx)
        _run([assembler, f"-arch={sm}", source, "-o", cubin])
        return _run([disassembler, "-c", cubin])


def _run(command: list[str]) -> str:
    """What a tool prints."""
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as problem:
        raise BuildError(f"{command[0]} does not start: {problem.strerror}") from problem
    if done.returncode:
        words = (done.stderr or done.stdout).decode(errors="replace").strip()
        raise BuildError(f"{os.path.basename(command[0])} failed: {words}")
    return done.stdout.decode(errors="replace")
