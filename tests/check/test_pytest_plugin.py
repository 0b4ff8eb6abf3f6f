"""The pytest plugin fails the test whose kernels or calls were found to be wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = """
import subprocess, sys
import pytest
from groundstate import findings
from groundstate.findings import Finding, Place

def wrong(kind="out-of-bounds-write"):
    place = Place("blur.cl", 17, 9, "    out[i + 1] = sum;", "", "argument 1 'out'")
    findings.report(Finding("memory", kind, "a wrong access", [place], kernel="blur"))
"""

PLUGIN = "groundstate.check.pytest_plugin"


def run(folder: Path, tests: str, *options: str) -> tuple[int, str]:
    """Runs tests with the plugin; returns status and output."""
    (folder / "support.py").write_text(SUPPORT)
    (folder / "test_it.py").write_text("from support import *\n" + tests)
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "GROUNDSTATE_CHECK"))
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        PLUGIN,
        "-q",
        *options,
    ]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout + done.stderr


def outcomes(shown: str) -> dict[str, int]:
    """How many tests passed, failed and had errors."""
    last = [line for line in shown.splitlines() if re.search(r"\d (passed|failed|error)", line)][-1]
    return {word.rstrip("s"): int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", last)}


def test_wrong_kernel_fails_its_test_and_no_other(tmp_path: Path) -> None:
    tests = """
def test_before(): pass
def test_wrong(): wrong(); wrong()
def test_after(): pass
"""
    status, shown = run(tmp_path, tests, "--groundstate-check")
    assert status == 1
    assert outcomes(shown) == {"failed": 1, "passed": 2}
    assert "_ test_wrong _" in shown
    assert "   17 |     out[i + 1] = sum;\n      |         ^ argument 1 'out'" in shown
    assert "groundstate check: 1 finding: 1 out-of-bounds write (2 times)" in shown
    assert "groundstate check: 1 finding in these tests" in shown


def test_same_mistake_fails_every_test_that_has_it(tmp_path: Path) -> None:
    tests = """
@pytest.mark.parametrize("number", range(4))
def test_wrong(number): wrong()
"""
    _, shown = run(tmp_path, tests, "--groundstate-check=memory")
    assert outcomes(shown) == {"failed": 4}


@pytest.mark.parametrize("more", [[], ["-n", "1"]])
def test_option_without_list_leaves_the_next_argument(tmp_path: Path, more: list[str]) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "test_other.py").write_text("def test_other(): raise KeyError\n")
    tests = "def test_wrong(): wrong()"
    status, shown = run(tmp_path, tests, *more, "--groundstate-check", "test_it.py")
    assert (status, outcomes(shown)) == (1, {"failed": 1})
    assert "error: a wrong access" in shown


def test_child_process_fails_the_test_that_ran_it(tmp_path: Path) -> None:
    tests = """
def test_wrong():
    subprocess.run([sys.executable, "-c", "from support import *; wrong()"], check=True)
def test_after(): pass
"""
    _, shown = run(tmp_path, tests, "--groundstate-check")
    assert outcomes(shown) == {"failed": 1, "passed": 1}


def test_fixtures_are_checked_too(tmp_path: Path) -> None:
    tests = """
@pytest.fixture
def before(): wrong()
@pytest.fixture
def after():
    yield
    wrong()
def test_before(before): pass
def test_after(after): pass
"""
    _, shown = run(tmp_path, tests, "--groundstate-check")
    assert outcomes(shown) == {"passed": 1, "error": 2}


def test_failed_test_shows_the_report_beside_its_failure(tmp_path: Path) -> None:
    _, shown = run(tmp_path, "def test_wrong(): wrong(); assert 1 == 2", "--groundstate-check")
    assert outcomes(shown) == {"failed": 1}
    assert "assert 1 == 2" in shown
    assert "Captured groundstate check" in shown
    assert "error: a wrong access" in shown


def test_marker_allows_kinds(tmp_path: Path) -> None:
    tests = """
@pytest.mark.groundstate_allow("out-of-bounds-*")
def test_known(): wrong()
@pytest.mark.groundstate_allow("out-of-bounds-*")
def test_other(): wrong("null-read")
"""
    _, shown = run(tmp_path, tests, "--groundstate-check", "--strict-markers")
    assert outcomes(shown) == {"passed": 1, "failed": 1}


def test_suppressed_findings_fail_no_test(tmp_path: Path) -> None:
    (tmp_path / "known.txt").write_text("* file=blur.cl\n")
    tests = "def test_wrong(): wrong()"
    status, shown = run(tmp_path, tests, "--groundstate-check", "--groundstate-suppress=known.txt")
    assert (status, outcomes(shown)) == (0, {"passed": 1})


def test_nothing_is_checked_unless_asked(tmp_path: Path) -> None:
    tests = """
import os
def test_plain():
    assert "GROUNDSTATE_CHECK" not in os.environ
    assert "groundstate.check.collected" not in sys.modules
"""
    status, shown = run(tmp_path, tests)
    assert (status, outcomes(shown)) == (0, {"passed": 1})


def test_checked_mode_is_on_before_anything_is_imported(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "import os\nassert os.environ['GROUNDSTATE_CHECK'] == 'memory'\n"
    )
    status, shown = run(tmp_path, "def test_plain(): pass", "--groundstate-check=memory")
    assert (status, outcomes(shown)) == (0, {"passed": 1})


def test_findings_at_exit_go_to_stderr(tmp_path: Path) -> None:
    tests = """
import atexit
atexit.register(wrong)
def test_plain(): pass
"""
    status, shown = run(tmp_path, tests, "--groundstate-check")
    assert status == 0
    assert "error: a wrong access" in shown


def test_findings_of_tests_are_not_told_again_at_exit(tmp_path: Path) -> None:
    tests = """
import atexit
atexit.register(findings.flush)
def test_wrong(): wrong()
"""
    _, shown = run(tmp_path, tests, "--groundstate-check")
    assert "groundstate: " not in shown.splitlines()[-1]


def test_several_workers_check_each_for_itself(tmp_path: Path) -> None:
    tests = """
@pytest.mark.parametrize("number", range(6))
def test_some(number):
    if number % 2: wrong()
"""
    _, shown = run(tmp_path, tests, "--groundstate-check", "-n", "2")
    assert outcomes(shown) == {"passed": 3, "failed": 3}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--groundstate-check=memry"], "'memry' is not a list of memory"),
        (["--groundstate-check", "--groundstate-suppress=none.txt"], "--groundstate-suppress: "),
    ],
)
def test_wrong_options_are_explained(tmp_path: Path, options: list[str], sentence: str) -> None:
    status, shown = run(tmp_path, "def test_plain(): pass", *options)
    assert status == 4
    assert sentence in shown
