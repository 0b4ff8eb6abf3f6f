"""A Level Zero loader to link programs with, where the system has none, as on Debian for arm64.

Its functions do nothing. Programs find another library under its name when they run: ours.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FUNCTION = re.compile(r"^GS_PUBLIC \w+ (ze\w+)\(", re.MULTILINE)


def is_loader_installed() -> bool:
    """Whether programs can be linked with the real loader."""
    return any(Path("/usr/lib").glob("*/libze_loader.so"))


needs_loader = pytest.mark.skipif(
    not is_loader_installed(),
    reason="the Level Zero loader is missing: on x86-64, apt-get install libze1 libze-dev",
)
WAYS = [
    pytest.param((), id="driver"),
    pytest.param(("--real-loader",), id="loader", marks=needs_loader),
]
"""The options of commands that put the driver, or a loader, behind a program."""


def link_without_loader(folder: Path) -> None:
    """Makes `-lze_loader` mean the stub for compilers that this process starts."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        return
    header = (ROOT / "native" / "generated" / "functions.h").read_text(encoding="utf-8")
    source = "".join(f"void {name}(void) {{}}\n" for name in FUNCTION.findall(header))
    output = folder / "libze_loader.so"
    command = [compiler, "-shared", "-fPIC", "-Wl,-soname,libze_loader.so.1", "-o", str(output)]
    subprocess.run([*command, "-x", "c", "-"], input=source, text=True, check=True)
    before = os.environ.get("LIBRARY_PATH")
    os.environ["LIBRARY_PATH"] = f"{folder}:{before}" if before else str(folder)
