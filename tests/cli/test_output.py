"""Files that commands write: whatever goes wrong, the sentence names the file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from groundstate.cli.output import create, create_binary

KERNEL = "kernel void add(global int *a) { a[get_global_id(0)] += 1; }\n"
PROGRAM = ["--", sys.executable, "-c", "import groundstate; groundstate.devices()"]
WRITERS = (
    ["compile", "k.cl", "-o", "/dev/full"],
    ["compile", "k.cl", "--emit=asm", "-o", "/dev/full"],
    ["check", "--json", "-o", "/dev/full", *PROGRAM],
    ["check", "--sarif", "/dev/full", *PROGRAM],
    ["profile", "--no-roof", "-o", "/dev/full", *PROGRAM],
    ["profile", "--no-roof", "--html", "/dev/full", *PROGRAM],
    ["profile", "--no-roof", "--trace", "/dev/full", *PROGRAM],
)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("arguments", WRITERS, ids=lambda words: " ".join(words[:3]))
def test_full_disk_is_told_with_the_file(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "k.cl").write_text(KERNEL)
    command = [sys.executable, "-m", "groundstate", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    last = done.stderr.splitlines()[-1]
    assert last == f"groundstate {arguments[0]}: /dev/full: no space left on the disk"
    assert done.returncode == 1


@pytest.mark.parametrize("command", [["check", "--json"], ["profile", "--json", "--no-roof"]])
def test_json_that_nobody_reads_is_no_error(command: list[str]) -> None:
    """The program's own output comes first, and is all that `head -1` wants."""
    words = [sys.executable, "-m", "groundstate", *command, "--", sys.executable, "-c", "print()"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "\n"
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=60), [line for line in said.splitlines() if "pipe" in line]) == (
        0,
        [],
    )


@pytest.mark.parametrize("command", [["check", "--json"], ["profile", "--json", "--no-roof"]])
def test_full_standard_output_is_named(command: list[str]) -> None:
    words = [sys.executable, "-m", "groundstate", *command, "--", "true"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    last = done.stderr.splitlines()[-1]
    assert last == f"groundstate {command[0]}: standard output: no space left on the disk"
    assert done.returncode == 1


def test_errors_of_created_files_name_them(tmp_path: Path) -> None:
    for make in (create, create_binary):
        with pytest.raises(OSError, match="/dev/full") as full, make("/dev/full") as file:
            file.write("x" if make is create else b"x")  # type: ignore[arg-type]
        assert full.value.filename == "/dev/full"
        with pytest.raises(FileNotFoundError, match="none/file"):
            make(tmp_path / "none/file")
    with create(tmp_path / "file") as text:
        text.write("\N{MICRO SIGN}s")
    assert (tmp_path / "file").read_bytes() == b"\xc2\xb5s"
