"""The other processes of a recording, played beside the one that is cut.

What a process has opened of another one is only there while that one plays, too.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from groundstate.capture.play.together import Member, prepare


@contextmanager
def played_beside(others: list[Path], library: str, patience: float) -> Iterator[Member | None]:
    """This process as one of those that play together; None if there are no others."""
    if not others:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="groundstate-cut-") as name:
        folder = Path(name)
        prepare(folder, len(others) + 1)
        running = [
            subprocess.Popen(
                _command(stream, library, patience, f"{folder}:{number}"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for number, stream in enumerate(others, 1)
        ]
        try:
            yield Member(folder, 0, patience)
        finally:
            for process in running:
                process.kill()
                process.wait()


def _command(stream: Path, library: str, patience: float, together: str) -> list[str]:
    command = [sys.executable, "-m", "groundstate", "play", "--one-thread", "--together", together]
    return [*command, f"--driver={library}", f"--patience={patience}", str(stream)]
