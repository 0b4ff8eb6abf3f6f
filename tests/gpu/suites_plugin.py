"""A journal of the tests, in each pytest that `suites.py` starts. It is complete even if a test
ends the process."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.gpu.not_for_gpus import reason_against

JOURNAL = Path(os.environ["SUITES_JOURNAL"])
SECONDS = int(os.environ["SUITES_SECONDS"])
LOST = 70
"""The exit code of a process whose GPU is lost: what it would say of other tests means nothing."""
SIGN_OF_LOSS = ("ERROR_DEVICE_LOST", "start the program again", "destroy the contexts")


def note(test: str, outcome: str, words: str = "") -> None:
    with JOURNAL.open("a", encoding="utf-8") as file:
        json.dump({"test": test, "outcome": outcome, "words": words}, file)
        file.write("\n")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    done = set(json.loads(Path(f"{JOURNAL}.done").read_text(encoding="utf-8")))
    kept = []
    for item in items:
        reason = reason_against(item.nodeid, getattr(item, "fixturenames", ()))
        if reason and item.nodeid not in done:
            note(item.nodeid, "left out", reason)
        elif item.nodeid not in done:
            kept.append(item)
    items[:] = kept


def pytest_runtest_logstart(nodeid: str) -> None:
    note(nodeid, "begun")
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(SECONDS)  # nobody handles it: a test that hangs ends its process


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or report.outcome != "passed":
        words = "" if report.passed else str(report.longrepr)[-4000:]
        note(report.nodeid, report.outcome, words)
        if report.failed and any(sign in words for sign in SIGN_OF_LOSS):
            os._exit(LOST)


def pytest_runtest_logfinish(nodeid: str) -> None:
    signal.alarm(0)
