"""The examples in docstrings run, in an environment with all parts and nothing else."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
from pathlib import Path

import pytest

from .installs import Installs
from .pages import ROOT

pytestmark = pytest.mark.timeout(1200)  # many programs run one after the other

SOURCE = ROOT / "src"
RUN = """\
import doctest, importlib, sys
for name in sys.argv[1:]:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    print("==", name, result.attempted, result.failed, flush=True)
"""


def with_examples(folder: Path) -> list[str]:
    """The modules below a folder that have examples in their text."""
    example = re.compile(r"^\s*>>> ", re.M)
    found = (path for path in sorted(folder.rglob("*.py")) if example.search(path.read_text()))
    relative = (path.relative_to(folder.parent).with_suffix("") for path in found)
    return [".".join(path.parts).removesuffix(".__init__") for path in relative]


def test_examples_in_docstrings_run(installs: Installs, tmp_path: Path) -> None:
    modules = with_examples(SOURCE / "groundstate")
    assert len(modules) > 50
    python = installs.having(["groundstate[all]"]) / "bin" / "python"
    done = subprocess.run(
        [python, "-c", RUN, *modules],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    results = [line.split() for line in done.stdout.splitlines() if line.startswith("== ")]
    assert [name for _, name, _, failed in results if failed != "0"] == [], done.stdout
    assert [name for _, name, attempted, _ in results if attempted == "0"] == []


@pytest.mark.parametrize("name", with_examples(Path(__file__).parent))
def test_examples_of_these_tests_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"tests.{name}"))
    assert (result.attempted > 0, result.failed) == (True, 0)
