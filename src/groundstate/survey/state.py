"""The outcomes so far, in a file, so that a survey that was stopped goes on where it was.

One line of JSON for each module. Lines of another version of the compiler, of other widths, or cut
short by whatever stopped the survey are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from groundstate.closing import Closing
from groundstate.compiler.cache.kernel_cache import compiler_state
from groundstate.survey.trial import Outcome


class State(Closing):
    """Outcomes by module, on disk if a file is named."""

    def __init__(self, path: Path | None, widths: Sequence[int]) -> None:
        self.key = f"{compiler_state()[:16]} {','.join(map(str, widths))}"
        self.outcomes: dict[str, Outcome] = {}
        self.file: TextIO | None = None
        if path is not None:
            self._read(path)
            self.file = path.open("a", encoding="utf-8")

    def _read(self, path: Path) -> None:
        if not path.exists():
            return
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    entry = json.loads(line)
                    if entry["key"] == self.key:
                        self.outcomes[entry["module"]] = Outcome.from_json(entry["outcome"])
                except (ValueError, TypeError, KeyError):
                    continue

    @property
    def made(self) -> dict[str, float]:
        """All code that LLVM has compiled, and the seconds that it took."""
        return {key: s for each in self.outcomes.values() for key, s in each.made.items()}

    def note(self, digest: str, outcome: Outcome) -> None:
        """Keeps an outcome; a later one for the same module takes its place."""
        self.outcomes[digest] = outcome
        if self.file is not None:
            entry = {"key": self.key, "module": digest, "outcome": outcome.as_json()}
            self.file.write(json.dumps(entry) + "\n")
            self.file.flush()

    def close(self) -> None:
        """Closes the file."""
        if self.file is not None:
            self.file.close()
