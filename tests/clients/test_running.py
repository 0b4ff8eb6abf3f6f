"""The runner of other people's tests: nothing that these do loses the results of others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .comparing import FileComparison
from .devices import ClientDevice
from .report import BEGIN, END, as_markdown, write_document
from .running import DIED, EXPECTED, FAILED, PASSED, SKIPPED, FileResult, FileRun, Outcome

HERE = ClientDevice("here", "this very Python")
TESTS = """
import os, time, pytest

@pytest.mark.parametrize("number", range(40))
def test_numbers(number):
    assert number != 7

def test_ends_the_process():
    os._exit(3)

def test_skipped():
    pytest.skip("for a reason")

@pytest.mark.xfail
def test_expected():
    assert False
"""


def running(folder: Path, text: str, sample: int = 0, limit_s: float = 100) -> FileRun:
    client = Path(sys.executable).parents[1]
    file = folder / "tests" / "test_them.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return FileRun(client, HERE, file, folder / "them.jsonl", limit_s, sample=sample)


def test_crashing_test_loses_only_its_own_result(tmp_path: Path) -> None:
    result = running(tmp_path, TESTS).run()
    assert result.trouble == ""
    assert result.counts == {PASSED: 39, FAILED: 1, DIED: 1, SKIPPED: 1, EXPECTED: 1}
    assert result.tests["test_them.py::test_numbers[7]"].reason == "assert 7 != 7"
    assert result.tests["test_them.py::test_skipped"].reason == "for a reason"
    assert result.tests["test_them.py::test_ends_the_process"].result == DIED


def test_a_larger_sample_contains_the_smaller_one(tmp_path: Path) -> None:
    text = TESTS.replace("os._exit(3)", "pass")
    small = running(tmp_path, text, sample=5).run()
    assert (small.collected, small.chosen, len(small.tests)) == (43, 5, 5)
    large = running(tmp_path, text, sample=20).run()
    assert (large.chosen, len(large.tests)) == (20, 20)
    assert small.tests.keys() < large.tests.keys()


def test_file_over_time_limit_stops_and_resumes(tmp_path: Path) -> None:
    run = running(tmp_path, "import time\ndef test_a(): pass\ndef test_b(): time.sleep(1000)", 0, 3)
    result = run.run()
    assert result.trouble == "stopped after 3 s"
    assert "test_them.py::test_b" not in result.tests
    again = running(tmp_path, "def test_a(): pass\ndef test_b(): pass").run()
    assert again.trouble == ""
    assert again.counts == {PASSED: 2}


def test_file_import_failure_is_reported(tmp_path: Path) -> None:
    result = running(tmp_path, "import nothing_of_this_name").run()
    assert "before any test" in result.trouble
    assert result.tests == {}


def compared() -> FileComparison:
    here = {"a": Outcome(PASSED), "b": Outcome(FAILED, "why"), "c": Outcome(SKIPPED, "no <x>")}
    there = {"a": Outcome(PASSED), "b": Outcome(PASSED), "c": Outcome(PASSED)}
    results = {"newer": FileResult(here, 9, 3), "opencl": FileResult(there, 9, 3)}
    return FileComparison("test_them", results)


def test_results_are_compared_with_the_peer() -> None:
    file = compared()
    assert file.worse("newer") == {"b": "why"}
    assert file.only_skipped_here("newer") == {"c": "no <x>"}
    assert file.share("newer") == (1, 2)


def test_document_table_is_replaced_between_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.touch()
    with pytest.raises(ValueError, match="has no lines"):
        write_document(page, "dpnp", "")
    begin, end = BEGIN.format(suite="dpnp").strip(), END.format(suite="dpnp").strip()
    page.write_text(f"before\n{begin}\nold\n{end}\nafter\n", encoding="utf-8")
    write_document(page, "dpnp", as_markdown([compared()], ["newer", "opencl"]))
    text = page.read_text(encoding="utf-8")
    assert "old" not in text
    assert text.startswith(f"before\n{begin}\n")
    assert text.endswith(f"{end}\nafter\n")
    assert "| `test_them` | 3 of 9 | 1, 1 skipped, 1 failed | 3 |" in text
    assert "| no &lt;x> | 1 |" in text
