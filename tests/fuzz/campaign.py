"""Looks for cases that go wrong for a while, shrinks them, and writes them down."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.targets.libfuzzer import Harness
from tests.fuzz.targets.target import Check, Generator, Target
from tests.fuzz.watching import Watched, signature

MOST_REDUCTIONS = 400
SHRINK_S = 120.0


@dataclass(frozen=True)
class Finding:
    """A case that goes wrong."""

    target: str
    seed: int
    case: bytes
    wrong: str
    path: Path

    @property
    def command(self) -> str:
        """What makes it happen again."""
        return f".venv/bin/python -m tests.fuzz --replay {self.path}"


@dataclass
class Tally:
    """What became of the cases of a target."""

    executions: int = 0
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)
    missing: str = ""
    """Why nothing was tried, if that is so."""


class Campaign:
    """Cases of one target, for some time."""

    def __init__(
        self,
        target: Target,
        seed: int,
        folder: Path,
        progress: Callable[[str, int, int], None] = lambda name, executions, findings: None,
        sanitize: bool = False,
    ) -> None:
        self.target = target
        self.seed = seed
        self.folder = folder
        self.tally = Tally(missing=target.missing())
        self._progress = progress
        self._watched = Watched(target, sanitize)
        self._known: set[str] = set()

    def run(self, seconds: float) -> Tally:
        """The cases in the repository first, then new ones."""
        began = time.monotonic()
        if self.tally.missing:
            return self.tally
        try:
            if isinstance(self.target, Harness):
                self._search(self.target, seconds)
            elif isinstance(self.target, Generator):
                for path in self.target.kept():
                    self._try(path.read_bytes(), self.seed)
                self._explore(self.target, began + seconds)
        finally:
            self.tally.executions += self._watched.executions
            self._watched.close()
        self.tally.seconds = time.monotonic() - began
        return self.tally

    def _explore(self, target: Generator, end: float) -> None:
        for seed, case in target.cases(self.seed):
            if time.monotonic() >= end:
                return
            self._try(case, seed)

    def _search(self, harness: Harness, seconds: float) -> None:
        """libFuzzer has its own way to find cases and to stop at the first that goes wrong."""
        folder = self.folder / harness.name
        executions, found = harness.search(seconds, self.seed, folder)
        self.tally.executions += executions
        for path, wrong in found:
            case = path.read_bytes()
            self.tally.findings.append(Finding(harness.name, self.seed, case, wrong, path))
        self._progress(harness.name, executions, len(found))

    def _try(self, case: bytes, seed: int) -> None:
        wrong = self._watched.check(case)
        self._progress(self.target.name, self._watched.executions, len(self.tally.findings))
        if wrong and signature(wrong) not in self._known:
            self._known.add(signature(wrong))
            case, wrong = shrunk(case, wrong, self._watched.check, self.target.reductions)
            self.tally.findings.append(self._write(case, wrong, seed))

    def _write(self, case: bytes, wrong: str, seed: int) -> Finding:
        folder = self.folder / self.target.name
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"seed-{seed}{self.target.suffix}"
        path.write_bytes(case)
        path.with_name(path.name + ".txt").write_text(wrong, encoding="utf-8", errors="replace")
        return Finding(self.target.name, seed, case, wrong, path)


def shrunk(
    case: bytes,
    wrong: str,
    check: Check,
    reductions: Callable[[bytes], Iterable[bytes]],
    seconds: float = SHRINK_S,
) -> tuple[bytes, str]:
    """The smallest case found that goes wrong in the same way."""
    wanted, end, tries = signature(wrong), time.monotonic() + seconds, 0
    smaller = True
    while smaller:
        smaller = False
        for candidate in reductions(case):
            tries += 1
            if tries > MOST_REDUCTIONS or time.monotonic() > end:
                return case, wrong
            found = check(candidate) if candidate != case else ""
            if found and signature(found) == wanted:
                case, wrong, smaller = candidate, found, True
                break
    return case, wrong
