"""Runs other suites with an NVIDIA GPU as their device: `python -m tests.gpu.suites tests/driver`.

Those tests were written with the CPU in mind, where the host may touch device memory. One that does
so here ends its process, and one that makes the GPU fault takes the GPU from its process. So each
file runs in a process of its own, which is started again behind such a test. What cannot pass on a
GPU is listed in `not_for_gpus.py`, with the reason, and is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_STARTS = 60
"""Of one file: then it has so many tests that end their process that the rest says nothing new."""


@dataclass
class File:
    """A file of tests and what became of each."""

    path: str
    outcomes: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)

    def run(self, folder: Path, seconds: int, deadline: float) -> None:
        """Runs it until all its tests have an outcome, or the time is over."""
        for start in range(MOST_STARTS):
            left = deadline - time.monotonic()
            if left <= 0:
                self.outcomes[f"{self.path} (the rest)"] = "not run"
                return
            journal = folder / f"{self.path.replace('/', '.')}.{start}"
            log = journal.with_suffix(".log")
            command = [sys.executable, "-m", "pytest", "-o", "addopts=", "-q", "-rN", "--tb=short"]
            command += [
                "-p",
                "no:cacheprovider",
                "-p",
                "no:timeout",
                "-p",
                "tests.gpu.suites_plugin",
                self.path,
            ]
            environment = {
                "GROUNDSTATE_NVIDIA": "only",
                **os.environ,
                "SUITES_JOURNAL": str(journal),
                "SUITES_SECONDS": str(seconds),
            }
            Path(f"{journal}.done").write_text(json.dumps(list(self.outcomes)), encoding="utf-8")
            with log.open("wb") as output:
                process = subprocess.Popen(
                    command, cwd=ROOT, env=environment, stdout=output, stderr=output
                )
            try:
                code = process.wait(left)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
            if not self._read(journal, code, log) or self.gave_up():
                return

    def gave_up(self) -> bool:
        """Whether it does not come to its tests at all."""
        return self.path in self.outcomes

    def _read(self, journal: Path, code: int, log: Path) -> bool:
        """Notes what a process has written. Whether another one is needed for the rest."""
        lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
        running = ""
        for line in map(json.loads, lines):
            running = line["test"] if line["outcome"] == "begun" else ""
            if line["outcome"] != "begun" and self.outcomes.get(line["test"]) != "failed":
                self.outcomes[line["test"]] = line["outcome"]
                self.words[line["test"]] = line["words"]
        if running:
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            self.outcomes[running] = "ended its process"
            self.words[running] = f"{name}\n" + log.read_text(errors="replace")[-3000:]
        elif code not in (0, 1, 5) and not lines:
            self.outcomes[self.path] = "failed"
            self.words[self.path] = log.read_text(errors="replace")[-3000:]
            return False
        return bool(running) or (code not in (0, 1, 5) and bool(lines))


def files_in(places: list[str]) -> list[str]:
    """The files of tests below some folders."""
    found: list[Path] = []
    for place in places:
        path = ROOT / place
        found += sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
    return [str(path.relative_to(ROOT)) for path in found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("places", nargs="+", metavar="FOLDER")
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1))
    parser.add_argument("--seconds", type=int, default=60, help="that a test may take")
    parser.add_argument("--minutes", type=float, default=60, help="that all of it may take")
    parser.add_argument("--report", type=Path, help="a file for what failed, with the words")
    given = parser.parse_args()
    files = [File(path) for path in files_in(given.places)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as threads:
        deadline = time.monotonic() + 60 * given.minutes
        list(threads.map(lambda file: file.run(Path(folder), given.seconds, deadline), files))
    bad = []
    for file in files:
        counts = Counter(file.outcomes.values())
        print(f"{file.path}: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
        bad += [
            (file, test, outcome)
            for test, outcome in file.outcomes.items()
            if outcome not in ("passed", "skipped", "left out")
        ]
    for _, test, outcome in bad:
        print(f"{outcome}: {test}")
    if given.report:
        text = "".join(
            f"### {what}: {test}\n{file.words.get(test, '')}\n" for file, test, what in bad
        )
        given.report.write_text(text, encoding="utf-8")
    print(", ".join(f"{n} {what}" for what, n in sorted(sum_up(files).items())))
    return 1 if bad else 0


def sum_up(files: list[File]) -> Counter[str]:
    """How many tests had each outcome."""
    return sum((Counter(file.outcomes.values()) for file in files), Counter())


if __name__ == "__main__":
    sys.exit(main())
