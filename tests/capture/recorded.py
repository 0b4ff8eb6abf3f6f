"""Records programs for the tests of this folder, through the driver of this tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from groundstate.capture.place import streams_in
from groundstate.compiler.opencl.frontend import compile_opencl

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "loader" / "programs"
GROUNDSTATE = (sys.executable, "-m", "groundstate")
FLAGS = ("-std=gnu11", "-O0", "-Wall", "-Wextra", "-Werror", "-pthread", "-D_GNU_SOURCE=")
TIMEOUT = 120


def built(source: Path, folder: Path, *options: str) -> Path:
    """A C program, compiled as programs out there are: against the loader."""
    program = folder / source.stem
    if not program.exists():
        command = ["cc", *FLAGS, f"-I{PROGRAMS}", str(source), "-o", str(program), *options]
        subprocess.run([*command, "-lze_loader", "-ldl", "-lm"], check=True)
    return program


def spirv_of(source: Path, folder: Path) -> Path:
    """OpenCL C beside a program, as the program loads it."""
    path = folder / f"{source.stem}.spv"
    path.write_bytes(compile_opencl(source.read_text(encoding="utf-8")))
    return path


def record(out: Path, *command: str | Path, options: tuple[str, ...] = ()) -> str:
    """Records a program that has to end well, and gives back what it printed."""
    done = subprocess.run(
        [*GROUNDSTATE, "record", "-o", str(out), *options, "--", *map(str, command)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, f"{done.args} -> {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def only_stream(out: Path) -> Path:
    """The stream of a recording of one process."""
    (path,) = streams_in(out)
    return path


def numbered(folder: Path, *options: str) -> Path:
    """The recording of a program with regular lists, an immediate one and memory of all kinds."""
    program = built(PROGRAMS / "numbered.c", folder)
    spirv = spirv_of(PROGRAMS / "numbered.cl", folder)
    record(folder / "recording", program, spirv, options=options)
    return only_stream(folder / "recording")
