"""What playing a recording has shown: calls that answered otherwise, memory that differs, notes."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import Any

from groundstate import _raw

KEPT = 1000
"""How many differences are kept; all are counted."""


@dataclass(frozen=True)
class Difference:
    """Something that was not as recorded."""

    number: int
    function: str
    kind: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.number:>7} {self.function}: {self.sentence}"


@dataclass
class Report:
    """What was played and what was found."""

    stream: str = ""
    library: str = ""
    records: int = 0
    calls: int = 0
    left_out: int = 0
    writes: int = 0
    compared: int = 0
    not_compared: int = 0
    seconds: float = 0.0
    damage: str | None = None
    differences: list[Difference] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    count: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False)

    def differ(self, number: int, function: str, kind: str, sentence: str) -> None:
        """Adds something that was not as recorded."""
        with self._lock:
            self.count += 1
            if len(self.differences) < KEPT:
                self.differences.append(Difference(number, function, kind, sentence))

    def note(self, sentence: str) -> None:
        """Adds something worth knowing that is no difference; the same note counts up."""
        self.notes[sentence] += 1

    @property
    def same(self) -> bool:
        """Whether all was as recorded."""
        return self.count == 0

    def as_json(self) -> dict[str, Any]:
        """The report for programs."""
        return {
            "stream": self.stream,
            "library": self.library,
            "records": self.records,
            "calls": self.calls,
            "left_out": self.left_out,
            "writes": self.writes,
            "memory_compared": self.compared,
            "memory_not_compared": self.not_compared,
            "seconds": round(self.seconds, 6),
            "damage": self.damage,
            "same": self.same,
            "difference_count": self.count,
            "differences": [asdict(each) for each in self.differences],
            "notes": [{"note": note, "times": times} for note, times in self.notes.items()],
        }


def result_name(result: int) -> str:
    """A result by its name, or its number if it has none.

    >>> result_name(1)
    'ZE_RESULT_NOT_READY'
    """
    name = _raw._symbol("ze_result_t", result)
    return hex(result) if name.isdigit() else name
