"""In strict mode, which CI uses, a test that is skipped for whatever reason fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.imports import IMPORT_PATH

WAYS = {
    "in the test": "import pytest\ndef test(): pytest.skip('a part is missing')\n",
    "in a fixture": (
        "import pytest\n@pytest.fixture\ndef part(): pytest.skip('a part is missing')\n"
        "def test(part): pass\n"
    ),
    "by a mark": (
        "import pytest\n@pytest.mark.skipif(True, reason='a part is missing')\ndef test(): pass\n"
    ),
    "by an import": "import pytest\npytest.importorskip('no_such_module')\ndef test(): pass\n",
}


@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.parametrize("way", WAYS)
def test_a_skip_fails(tmp_path: Path, way: str, workers: str) -> None:
    (tmp_path / "test_it.py").write_text(WAYS[way])
    done = run(tmp_path, workers, strict="1")
    assert done.returncode != 0
    assert "skipping is not allowed in strict mode" in done.stdout


def test_otherwise_a_skip_is_a_skip(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(WAYS["in the test"])
    done = run(tmp_path, "0", strict="")
    assert done.returncode == 0
    assert "1 skipped" in done.stdout


@pytest.mark.parametrize("workers", ["0", "1"])
def test_stray_file_in_working_tree_fails_run(tmp_path: Path, workers: str) -> None:
    stray = Path(__file__).parents[2] / f"stray-{os.getpid()}.tmp"
    (tmp_path / "test_it.py").write_text(f"def test(): open({str(stray)!r}, 'w').close()\n")
    try:
        done = run(tmp_path, workers, strict="")
    finally:
        stray.unlink()
    assert "1 passed" in done.stdout
    assert f"the tests wrote into the working tree: {stray.name}" in done.stdout
    assert done.returncode == 1


def run(folder: Path, workers: str, strict: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-n", workers, str(folder)]
    paths = os.pathsep.join(IMPORT_PATH)
    environment = {**os.environ, "GROUNDSTATE_STRICT_TESTS": strict, "PYTHONPATH": paths}
    del environment["PYTEST_CURRENT_TEST"]  # as if nobody but a person had started it
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
