"""Runs one file of a client's tests on one device, whatever its tests do to the process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .devices import ClientDevice

PLUGIN = Path(__file__).parent / "plugin"
POLL_S = 2.0
MOST_DEATHS = 25
"""After so many processes that ended in the middle of a test, the rest of a file is given up."""

ENDING = threading.Event()
"""Set when whoever started all this wants it to end: no process stays behind."""

PASSED, FAILED, SKIPPED, EXPECTED, DIED = "passed", "failed", "skipped", "expected", "died"


@dataclass
class Outcome:
    """What became of one test."""

    result: str
    reason: str = ""
    seconds: float = 0.0


@dataclass
class FileResult:
    """What became of the tests of one file on one device."""

    tests: dict[str, Outcome] = field(default_factory=dict)
    collected: int = 0
    chosen: int = 0
    trouble: str = ""
    """Why not all of the chosen tests were reached; empty if they were."""

    @property
    def counts(self) -> Counter[str]:
        return Counter(outcome.result for outcome in self.tests.values())

    @property
    def seconds(self) -> float:
        return sum(outcome.seconds for outcome in self.tests.values())


def read_journal(path: Path) -> FileResult:
    """What the plugin has written so far; a test that began and did not end has died."""
    result = FileResult()
    if not path.exists():
        return result
    for text in path.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        if "collected" in line:
            result.collected, result.chosen = line["collected"], line["chosen"]
            result.trouble = ""
        elif "trouble" in line:
            result.trouble = line["trouble"]
            result.tests.pop(line["unreached"], None)
        elif line["outcome"] == "started":
            result.tests[line["test"]] = Outcome(DIED, "the process ended during this test")
        else:
            result.tests[line["test"]] = Outcome(line["outcome"], line["reason"], line["seconds"])
    return result


@dataclass(frozen=True)
class FileRun:
    """One file of tests, on one device."""

    client: Path
    """The folder of the client's Python."""
    device: ClientDevice
    file: Path
    journal: Path
    limit_s: float
    """For all of the file's tests together."""
    test_limit_s: int = 120
    sample: int = 0
    seed: int = 1
    options: tuple[str, ...] = ()
    """More for pytest."""

    def command(self) -> list[str]:
        options = {
            "--journal": str(self.journal),
            "--sample": str(self.sample),
            "--sample-seed": str(self.seed),
            # The thread ends a process that hangs in C, too; the journal says in which test.
            "--timeout": str(self.test_limit_s),
            "--timeout-method": "thread",
            "--tb": "short",
            "-p": "client_journal",
        }
        python = str(self.client / "bin" / "python")
        arguments = [text for pair in options.items() for text in pair]
        return [
            python,
            "-X",
            "faulthandler",
            "-m",
            "pytest",
            "-q",
            *arguments,
            *self.options,
            str(self.file),
        ]

    def run(self, moved: Callable[[FileResult], None] = lambda result: None) -> FileResult:
        """Runs the tests that the journal does not have yet; `moved` is called now and then."""
        self.journal.parent.mkdir(parents=True, exist_ok=True)
        end = time.monotonic() + self.limit_s
        for _ in range(MOST_DEATHS):
            before = len(read_journal(self.journal).tests)
            status = self._process(end, moved)
            result = read_journal(self.journal)
            if status is None:
                why = "interrupted" if ENDING.is_set() else f"stopped after {self.limit_s:.0f} s"
                return self._stopped(result, why)
            if len(result.tests) >= result.chosen > 0:
                return result
            if len(result.tests) == before:
                return self._stopped(result, f"pytest ended with status {status} before any test")
        return self._stopped(result, f"given up after {MOST_DEATHS} tests that ended the process")

    def _process(self, end: float, moved: Callable[[FileResult], None]) -> int | None:
        """The exit status of a process that runs the tests; None if it had to be stopped."""
        with self.journal.with_suffix(".log").open("a", encoding="utf-8") as log:
            process = subprocess.Popen(
                self.command(),
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.environment(),
                cwd=self.journal.parent,
                start_new_session=True,
            )
        try:
            while process.poll() is None:
                if time.monotonic() > end or ENDING.is_set():
                    return None
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(POLL_S)
                moved(read_journal(self.journal))
        finally:
            stop(process)
        return process.returncode

    def environment(self) -> dict[str, str]:
        return {**self.device.environment(self.client), "PYTHONPATH": str(PLUGIN)}

    def _stopped(self, result: FileResult, trouble: str) -> FileResult:
        """Writes down why the rest of the tests have no result."""
        last = next(reversed(result.tests), None)
        running = last if last is not None and result.tests[last].result == DIED else None
        with self.journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"trouble": trouble, "unreached": running}) + "\n")
        return read_journal(self.journal)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and what it started, if they are still there; its stacks go to the log."""
    for number in (signal.SIGABRT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
