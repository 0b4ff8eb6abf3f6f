"""The C programs of tests/native, against the library as it is installed.

`make test-asan` and `make test-tsan` run the same programs against builds with sanitizers.
"""

import os
import subprocess
from pathlib import Path

import pytest

from groundstate import standin

PROGRAMS = Path(__file__).parents[1] / "native"


@pytest.mark.parametrize("program", sorted(PROGRAMS.rglob("*.c")), ids=lambda path: str(path.stem))
def test_program(program: Path, tmp_path: Path) -> None:
    library = standin.library().parent
    built = tmp_path / program.relative_to(PROGRAMS).with_suffix("")
    make = ["make", "-C", str(PROGRAMS), f"LIBRARY={library}", f"BUILD={tmp_path}", str(built)]
    subprocess.run(make, check=True, capture_output=True)
    recordings = tmp_path / "recorded"
    recordings.mkdir()
    environment = {**os.environ, "GROUNDSTATE_CAPTURE_OUT": str(recordings)}
    result = subprocess.run(
        [built], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
