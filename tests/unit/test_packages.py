"""The Debian packages that `make` asks for exist on the architecture that it runs on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
X86_ONLY = {"libze1", "libze-dev"}
"""Debian builds the loader for x86-64 alone."""

CROSS_COMPILER = {"gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"}
"""What compiles for AArch64 elsewhere."""


def packages_on(machine: str, target: str, folder: Path) -> set[str]:
    """What `make` would install for a target on a machine that calls itself so."""
    uname = folder / "uname"
    uname.write_text(f"#!/bin/sh\necho {machine}\n")
    uname.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    command = ["make", "--dry-run", "--always-make", "-C", str(CHECKOUT), target]
    shown = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout.replace("\\\n", " ")
    line = next(each for each in shown.splitlines() if each.startswith("tools/debian-packages"))
    return set(line.split()[1:])


@pytest.mark.parametrize("target", ["packages", "bench"])
def test_loader_is_installed_where_debian_has_it(target: str, tmp_path: Path) -> None:
    assert "libze1" in packages_on("x86_64", target, tmp_path)
    assert not X86_ONLY & packages_on("aarch64", target, tmp_path)


def test_other_packages_are_the_same_everywhere(tmp_path: Path) -> None:
    there, here = (packages_on(each, "packages", tmp_path) for each in ("aarch64", "x86_64"))
    assert here - there == X86_ONLY | CROSS_COMPILER
    assert {"g++", "spirv-tools", "pocl-opencl-icd"} <= there <= here
