"""Runs a program of this folder, and reads the JSON that it prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
ON_THE_DRIVER = [sys.executable, "-m", "groundstate", "run", "--"]


def run(command: list[str], program: str, *arguments: str, topology: str, **more: str) -> Any:
    """What a program prints on its last line; `command` ends with the Python that runs it."""
    variables = {"GROUNDSTATE_TOPOLOGY": topology, "GROUNDSTATE_MEMORY": "4G", **more}
    done = subprocess.run(
        [*command, str(PROGRAMS / f"{program}.py"), *arguments],
        env={**os.environ, **variables, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])
