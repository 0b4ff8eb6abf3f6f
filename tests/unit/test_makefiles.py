"""The makefiles take no names from the environment that a shell may have for its own use."""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
MAKEFILES = sorted(
    path.relative_to(REPOSITORY)
    for folder in (".", "native", "tests/native", "tests/injection")
    for path in (REPOSITORY / folder).glob("Makefile")
)

CONVENTIONAL = {"PYTHON", "CC"}
"""What people expect to set for all programs that they build."""


def settings(makefile: Path) -> dict[str, str]:
    """The names that a makefile gives a value, with the operator."""
    text = (REPOSITORY / makefile).read_text()
    return dict(re.findall(r"^([A-Z][A-Z_]*)\s*([?:]?=)", text, flags=re.MULTILINE))


def values(makefile: Path, names: list[str], environment: dict[str, str]) -> list[str]:
    """What variables have become after reading a makefile."""
    show = "".join(f"$(info {name}=$({name}))" for name in names)
    command = ["make", "-C", str((REPOSITORY / makefile).parent), "--no-print-directory"]
    command += [f"--eval=show-values: ; @:{show}", "show-values"]
    found = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return found.stdout.splitlines()


@pytest.mark.parametrize("makefile", MAKEFILES, ids=str)
def test_exported_names_do_not_change_a_build(makefile: Path) -> None:
    names = sorted(settings(makefile).keys() - CONVENTIONAL)
    assert len(names) > 3
    exported = dict.fromkeys(names, "/nowhere/exported")
    assert values(makefile, names, exported) == values(makefile, names, {})


def test_names_on_the_command_line_do_change_it() -> None:
    command = ["make", "-C", str(REPOSITORY / "native"), "--no-print-directory", "OUT=elsewhere"]
    command += ["--eval=show: ; @echo $(LIBRARY)", "show"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "elsewhere/libze_groundstate.so.1"


@pytest.mark.parametrize("build", ["../build/native", "../native/../build/native", None])
def test_object_names_ignore_folder_spelling(build: str | None) -> None:
    """Else headers that changed would not recompile what `pip install` has compiled."""
    command = ["make", "-C", str(REPOSITORY / "native"), "--no-print-directory"]
    command += [f"BUILD={build}"] if build else []
    command += ["--eval=show: ; @echo $(firstword $(OBJECTS))", "show"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.startswith(f"{REPOSITORY}/build/native/")


def test_native_compiles_for_aarch64() -> None:
    """Sizes of the C library's types differ there, and with them what static assertions say."""
    compiler = "cc" if platform.machine() == "aarch64" else "aarch64-linux-gnu-gcc"
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}: apt-get install gcc-aarch64-linux-gnu")
    command = ["make", "-C", str(REPOSITORY / "native"), "syntax", f"CC={compiler}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
