"""Programs whose standard error is a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress


def errors_on_a_terminal(*arguments: str, **variables: str) -> str:
    """What Python, started with some arguments, writes to its standard error, a terminal."""
    parent, child = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "TERM": "xterm-256color", **variables}
    process = subprocess.Popen(
        [sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=child
    )
    os.close(child)
    shown = b""
    with suppress(OSError):  # the other side is gone
        while piece := os.read(parent, 4096):
            shown += piece
    os.close(parent)
    assert process.wait(timeout=60) == 0, shown.decode()
    return shown.decode().replace("\r", "")
