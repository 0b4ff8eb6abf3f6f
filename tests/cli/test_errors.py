"""What commands say about files that cannot be used."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from groundstate.cli.errors import FAILED, complain, describe


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


def test_complaints_name_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert complain("dis", "k.spv: no such file") == FAILED
    assert complain("", "interrupted", status=130) == 130
    assert capsys.readouterr().err == (
        "groundstate dis: k.spv: no such file\ngroundstate: interrupted\n"
    )
