"""`groundstate top` and `groundstate metrics` as a user types them."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios

import pytest

from groundstate.cli.main import main


def test_once_prints_text_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--once", "--interval", "0.05"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("groundstate top")
    assert "device 0" in shown
    assert "GiB" in shown


def test_json_of_one_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--json", "--interval", "0", "--device", "0"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["seconds"] is None
    assert [device["number"] for device in facts["devices"]] == [0]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["top"], "this is no terminal; --once and --json work without one"),
        (["top", "--once", "--device", "99"], "there is no device 99, only device 0"),
        (["top", "--device", "-1", "--json"], "there is no device -1"),
        (["metrics", "--address", "192.0.2.1"], "cannot listen at 192.0.2.1:9464"),
    ],
)
def test_what_does_not_work_is_said(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["top", "--interval", "nan"], "nan is not a number of seconds"),
        (["top", "--interval", "soon"], "soon is not a number of seconds"),
        (["top", "--interval", "-1"], "-1 is not a number of seconds"),
        (["top", "--once", "--json"], "not allowed with argument"),
        (["metrics", "--port", "65536"], "'65536' is not a port"),
        (["metrics", "--port", "http"], "'http' is not a port"),
    ],
)
def test_wrong_options_are_refused(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err


WITHOUT = """\
import sys
sys.modules["textual"] = sys.modules["prometheus_client"] = None
sys.stdin.isatty = sys.stdout.isatty = lambda: True
from groundstate.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("command", "package"), [("top", "textual"), ("metrics", "prometheus_client")]
)
def test_missing_package_error_names_pip_install(command: str, package: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, command], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert f"{package} is not installed" in done.stderr
    assert "pip install 'groundstate[monitor]'" in done.stderr


def test_text_and_json_need_no_packages() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, "top", "--once", "--interval", "0"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "device 0" in done.stdout


LEAVES_THE_SCREEN = b"\x1b[?1049l"


@pytest.mark.parametrize("ending", ["q", "SIGTERM"])
def test_screen_takes_and_restores_terminal(ending: str) -> None:
    terminal, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "groundstate", "top", "--interval", "0.2"],
        env={**os.environ, "TERM": "xterm-256color"},
        stdin=child,
        stdout=child,
        stderr=child,
    )
    os.close(child)
    shown = read_until(terminal, b"processes")
    if ending == "q":
        os.write(terminal, b"q")
    else:
        process.send_signal(signal.SIGTERM)
    shown += read_until(terminal, None)
    os.close(terminal)
    assert process.wait(timeout=30) == 0
    assert b"compute" in shown
    assert LEAVES_THE_SCREEN in shown


def read_until(terminal: int, word: bytes | None) -> bytes:
    """What a terminal shows until it shows a word, or until nobody writes to it any more."""
    shown = b""
    while word is None or word not in shown:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    return shown
