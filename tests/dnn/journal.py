"""What was judged already, on disk: a long run can be stopped and go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from tests.dnn.reference.judge import Verdict

Key = tuple[str, str, int]
"""The API, the family and the seed of problems."""


class Journal:
    """Verdicts, a line of JSON for each as soon as it is known; without a file, none are kept."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known: dict[Key, dict[int, Verdict]] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._remember(line)

    def _remember(self, line: str) -> None:
        try:
            said = json.loads(line)
        except ValueError:
            return  # the line at which a run was stopped
        key = (said.pop("api"), said.pop("family"), said.pop("seed"))
        number = said.pop("number")
        self.known.setdefault(key, {})[number] = Verdict(**said)

    def verdicts(self, key: Key, numbers: list[int]) -> Iterator[tuple[int, Verdict]]:
        """The verdicts that are known."""
        known = self.known.get(key, {})
        return ((number, known[number]) for number in numbers if number in known)

    def left(self, key: Key, numbers: list[int]) -> list[int]:
        """The problems that are still to be judged."""
        return [number for number in numbers if number not in self.known.get(key, {})]

    def add(self, key: Key, number: int, verdict: Verdict) -> None:
        """Keeps a verdict."""
        if self.path is None:
            return
        api, family, seed = key
        where = {"api": api, "family": family, "seed": seed, "number": number}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(where | asdict(verdict)) + "\n")
