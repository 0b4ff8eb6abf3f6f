"""A pytest plugin for other people's tests: each result is on disk before the next test starts.

So a test that ends the process costs its own result and no other. It stands alone, because it runs
in the Python of the client, where nothing of this repository is installed.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

STARTED = "started"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("client journal")
    group.addoption("--journal", help="the file to which results are appended, a line of JSON each")
    group.addoption("--sample", type=int, default=0, help="only so many tests of the file; 0: all")
    group.addoption("--sample-seed", type=int, default=1, help="which ones those are")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--journal")
    if path:
        config.pluginmanager.register(Journal(config, Path(path)), "client-journal-of-this-run")


def short_name(node: str) -> str:
    """The name of a test from the folder `tests` on: the same wherever the package is installed."""
    path, separator, rest = node.partition("::")
    return path.rpartition("tests/")[2] + separator + rest


class Journal:
    """Writes down what becomes of each test, and leaves out those that were reached before."""

    def __init__(self, config: pytest.Config, path: Path) -> None:
        self.config = config
        self.reached = reached(path)
        self.file = path.open("a", encoding="utf-8")
        self.reports: list[pytest.TestReport] = []

    def write(self, **line: object) -> None:
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = self.sample(items)
        self.write(collected=len(items), chosen=len(chosen))
        left = [item for item in chosen if short_name(item.nodeid) not in self.reached]
        gone = {id(item) for item in items} - {id(item) for item in left}
        self.config.hook.pytest_deselected(items=[item for item in items if id(item) in gone])
        items[:] = left

    def sample(self, items: list[pytest.Item]) -> list[pytest.Item]:
        """The tests whose names have the smallest digests: the same ones on every device."""
        size, seed = self.config.getoption("--sample"), self.config.getoption("--sample-seed")
        if not 0 < size < len(items):
            return items

        def digest(item: pytest.Item) -> bytes:
            return hashlib.sha256(f"{seed} {short_name(item.nodeid)}".encode()).digest()

        last = sorted(digest(item) for item in items)[size - 1]
        return [item for item in items if digest(item) <= last]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.reports = []
        self.write(test=short_name(nodeid), outcome=STARTED)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.reports.append(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        telling = next((each for each in self.reports if each.outcome != "passed"), None)
        outcome = "passed" if telling is None else telling.outcome
        if any(hasattr(each, "wasxfail") for each in self.reports):
            outcome = "expected" if outcome == "skipped" else outcome
        self.write(
            test=short_name(nodeid),
            outcome=outcome,
            seconds=round(sum(each.duration for each in self.reports), 3),
            reason="" if telling is None else reason_of(telling),
        )


def reached(path: Path) -> set[str]:
    """The tests that an earlier process began with, whatever became of them."""
    if not path.exists():
        return set()
    tests = set()
    for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        tests.discard(line.get("unreached"))
        if "test" in line:
            tests.add(line["test"])
    return tests


def reason_of(report: pytest.TestReport) -> str:
    """In a line, why a test was skipped or failed."""
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else report.longreprtext
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:300] if lines else ""
