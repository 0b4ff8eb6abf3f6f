"""C programs with our header and library: through the real loader, and through the driver alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from groundstate import dnnl
from tests.loader_stub import needs_loader

PROGRAMS = Path(__file__).parent / "programs"
FLAGS = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
TIMEOUT_SECONDS = 120


@pytest.mark.parametrize("way", ["direct", pytest.param("loader", marks=needs_loader)])
@pytest.mark.parametrize("program", ["objects", "execution", "threads"])
def test_program(program: str, way: str, library: Path, tmp_path: Path) -> None:
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("there is no C compiler: apt-get install gcc")
    if not Path("/usr/include/level_zero/ze_api.h").exists():
        pytest.skip("the Level Zero headers are missing: on x86-64, apt-get install libze-dev")
    ours = Path(dnnl.library_path())
    level_zero = [str(library)] if way == "direct" else ["-lze_loader"]
    includes = [f"-I{PROGRAMS}", f"-I{dnnl.include_folder()}"]
    link = [str(ours), *level_zero, f"-Wl,-rpath,{ours.parent}"]
    target = tmp_path / program
    source = str(PROGRAMS / f"{program}.c")
    command = [compiler, *FLAGS, *includes, source, "-o", str(target), *link]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    environment = {} if way == "direct" else {"ZE_ENABLE_ALT_DRIVERS": str(library)}
    keep = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    done = subprocess.run(
        [str(target)],
        env={**keep, **environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{program}: all is as it should be\n"
