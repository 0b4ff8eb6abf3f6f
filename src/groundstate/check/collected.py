"""What the processes of a program have found, read from the file that they append to."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from groundstate import findings, knobs
from groundstate.check.suppressions import Suppression, is_suppressed
from groundstate.closing import Closing
from groundstate.compiler.light_dataclass import replace
from groundstate.findings import Finding


class Collected(Closing):
    """A file for findings, and what has been read from it so far."""

    def __init__(self, suppressions: Sequence[Suppression] = ()) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="groundstate-check-")
        self.path = Path(self._folder.name, "findings.jsonl")
        self.suppressions = suppressions
        self.checkers: tuple[str, ...] = ()
        """Those that were on in some process; none if no process used the driver."""
        self._generation = 0
        self._rest = b""
        self._counts: dict[tuple[Any, ...], dict[int, Finding]] = {}
        self._file = self._start()

    def close(self) -> None:
        """Removes the file. What a process finds later goes to its stderr."""
        self._file.close()
        self._folder.cleanup()

    def environment(self) -> dict[str, str]:
        """What a program needs to write into the file."""
        return {knobs.CHECK_OUTPUT.name: str(self.path)}

    def read(self) -> list[Finding]:
        """Reads on. Returns those that are new and not suppressed."""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        new = []
        for line in lines:
            finding = self._take(line)
            if finding is not None and not is_suppressed(finding, self.suppressions):
                new.append(finding)
        return new

    def empty(self) -> None:
        """Forgets everything; processes that go on tell what they find as if it were new."""
        old, self._file = self._file, self._start()
        old.close()
        self._rest, self._counts = b"", {}

    def _start(self) -> BinaryIO:
        """Puts a new file in the place of the old one, if any, and opens it."""
        self._generation += 1
        new = self.path.with_suffix(".new")
        new.write_bytes(findings.GENERATION + f'{self._generation:08}"}}\n'.encode())
        new.replace(self.path)
        return self.path.open("rb")

    @property
    def findings(self) -> list[Finding]:
        """All that are not suppressed, with the counts of all processes together."""
        return [each for each in self._all() if not is_suppressed(each, self.suppressions)]

    @property
    def suppressed(self) -> list[Finding]:
        """Those that somebody knows of."""
        return [each for each in self._all() if is_suppressed(each, self.suppressions)]

    def _all(self) -> list[Finding]:
        found = []
        for processes in self._counts.values():
            first = next(iter(processes.values()))
            found.append(replace(first, count=sum(each.count for each in processes.values())))
        return found

    def _take(self, line: bytes) -> Finding | None:
        """The finding of a line, if it is the first of its kind and places.

        A program may write into its files whatever it likes, so nothing is taken for granted.
        """
        try:
            values = json.loads(line)
            process = int(values["process"])
            if "checkers" in values:
                self.checkers = tuple(
                    dict.fromkeys([*self.checkers, *map(str, values["checkers"])])
                )
                return None
            finding = Finding.from_json(values)
            processes = self._counts.setdefault(finding.key(), {})
        except (ValueError, TypeError, KeyError, AttributeError):
            return None
        is_new = not processes
        processes[process] = finding
        return finding if is_new else None
