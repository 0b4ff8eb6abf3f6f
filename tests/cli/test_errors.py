"""What commands say about files that cannot be used."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from groundstate.cli import commands
from groundstate.cli.errors import FAILED, complain, describe
from groundstate.cli.main import main


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOENT, "no such file"),
        (errno.EISDIR, "is a folder, not a file"),
        (errno.EACCES, "permission denied"),
        (errno.ENAMETOOLONG, "file name too long"),
    ],
)
def test_os_error_is_described_by_path_and_reason(number: int, reason: str) -> None:
    assert describe(OSError(number, os.strerror(number), "k.spv")) == f"k.spv: {reason}"
    assert describe(OSError(number, os.strerror(number)), Path("a/b")) == f"a/b: {reason}"
    assert describe(OSError(number, os.strerror(number))) == reason


def test_other_errors_keep_their_own_message() -> None:
    assert describe(ValueError("it is too large")) == "it is too large"
    assert describe(OSError("libx.so: cannot open")) == "libx.so: cannot open"
    assert describe(KeyError()) == "KeyError"


def test_names_that_nothing_resolves_are_described() -> None:
    """Their numbers are not those of the system's other errors."""
    problem = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    assert describe(problem, "nohost") == "nohost: name or service not known"


def test_only_errors_of_writing_are_blamed_on_standard_output(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(args: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(commands, "parse", lambda arguments: (refuse, None))
    assert main(["info"]) == FAILED
    assert capfd.readouterr().err == "groundstate info: too many open files\n"


def test_complaints_name_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert complain("dis", "k.spv: no such file") == FAILED
    assert complain("", "interrupted", status=130) == 130
    assert capsys.readouterr().err == (
        "groundstate dis: k.spv: no such file\ngroundstate: interrupted\n"
    )
