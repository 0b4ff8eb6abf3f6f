"""What a survey has found out, for people and for programs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from groundstate.survey.files import Collection, Found
from groundstate.survey.trial import COMPILED, FAILED, INCOMPLETE, REFUSED, RESULTS, Outcome

SLOWEST = 10
NAME_CHARACTERS = 60
SENTENCE_CHARACTERS = 400

MEANINGS = {
    COMPILED: "compiled",
    INCOMPLETE: "use what a module of another file defines",
    REFUSED: "need something that the device does not have",
    FAILED: "failed",
}


@dataclass(slots=True)
class Group:
    """Modules that were not compiled for the same reason."""

    result: str
    sentence: str
    count: int = 0
    example: str = ""
    file: str = ""


@dataclass(slots=True)
class Report:
    """The figures of a survey."""

    collection: Collection
    chosen: Sequence[Found]
    outcomes: dict[str, Outcome]
    widths: Sequence[int]
    compiled_now: int = 0
    """Modules that this run has compiled, and in how many seconds."""
    wall_s: float = 0.0
    counts: Counter[str] = field(init=False)
    seconds: list[float] = field(init=False)
    """Of processor time, for each module that was compiled; shortest first."""

    def __post_init__(self) -> None:
        done = [self.outcomes[each.digest] for each in self.chosen]
        self.counts = Counter(each.result for each in done)
        self.seconds = sorted(each.seconds for each in done if each.result == COMPILED)

    @property
    def kernels(self) -> int:
        """How many kernels there are in what was compiled."""
        done = (self.outcomes[each.digest] for each in self.chosen)
        return sum(len(each.kernels) for each in done if each.result == COMPILED)

    def quantile(self, part: float) -> float:
        """The seconds within which that part of the compiled modules stays, interpolated."""
        if not self.seconds:
            return 0.0
        place = part * (len(self.seconds) - 1)
        below = int(place)
        above = min(below + 1, len(self.seconds) - 1)
        low, high = self.seconds[below], self.seconds[above]
        return low + (high - low) * (place - below)

    def slowest(self) -> list[tuple[Found, Outcome]]:
        """The modules that took longest."""
        both = [(each, self.outcomes[each.digest]) for each in self.chosen]
        return sorted(both, key=lambda pair: -pair[1].seconds)[:SLOWEST]

    def groups(self) -> list[Group]:
        """The reasons for which modules were not compiled, the most frequent first."""
        groups: dict[tuple[str, str], Group] = {}
        for found in self.chosen:
            outcome = self.outcomes[found.digest]
            if outcome.result == COMPILED:
                continue
            sentence = general(outcome.sentence)
            key = outcome.result, sentence
            group = groups.setdefault(key, Group(*key, example=found.digest, file=found.file))
            group.count += 1
        return sorted(groups.values(), key=lambda group: -group.count)

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "files": self.collection.files,
            "images": self.collection.images,
            "modules": len(self.chosen),
            "kernels": self.kernels,
            "widths": list(self.widths),
            "results": {result: self.counts[result] for result in RESULTS},
            "seconds": {
                "total": sum(self.seconds),
                "median": self.quantile(0.5),
                "p95": self.quantile(0.95),
                "longest": self.quantile(1.0),
            },
            "compiled_now": self.compiled_now,
            "wall_seconds": self.wall_s,
            "slowest": [
                {
                    "module": found.digest,
                    "file": found.file,
                    "kernels": list(outcome.kernels),
                    "seconds": outcome.seconds,
                    "llvm_lines": outcome.lines,
                }
                for found, outcome in self.slowest()
            ],
            "reasons": [
                {
                    "result": group.result,
                    "sentence": group.sentence,
                    "modules": group.count,
                    "example": group.example,
                    "file": group.file,
                }
                for group in self.groups()
            ],
            "problems": self.collection.problems,
        }

    def lines(self) -> Iterator[str]:
        """The report to read."""
        files, images = self.collection.files, self.collection.images
        yield f"{len(self.collection.modules)} different modules of {images} in {files} files"
        yield from (f"not read: {problem}" for problem in self.collection.problems)
        if not self.chosen:
            return
        yield f"{len(self.chosen)} tried, for {' and '.join(map(_lanes, self.widths))}"
        yield ""
        for result in RESULTS:
            if self.counts[result]:
                yield f"  {self.counts[result]:>7}  {MEANINGS[result]}"
        yield from self._time_lines()
        yield from self._reason_lines()

    def _time_lines(self) -> Iterator[str]:
        if not self.seconds:
            return
        yield ""
        yield (
            f"processor time of a module: median {self.quantile(0.5):.3f} s, "
            f"95th percentile {self.quantile(0.95):.3f} s, longest {self.quantile(1.0):.3f} s, "
            f"all together {sum(self.seconds):.1f} s"
        )
        if self.compiled_now and self.wall_s:
            rate = self.compiled_now / self.wall_s
            yield f"{self.compiled_now} modules in {self.wall_s:.0f} s: {rate:.1f} a second"
        yield "longest:"
        for found, outcome in self.slowest():
            name = short(outcome.kernels[0]) if outcome.kernels else ""
            yield (
                f"  {outcome.seconds:8.2f} s  {outcome.lines:>7} lines of LLVM IR  "
                f"{found.digest[:16]}  {name}"
            )

    def _reason_lines(self) -> Iterator[str]:
        for group in self.groups():
            yield ""
            yield f"{group.count} {group.result}: {group.sentence}"
            yield f"  such as {group.example[:16]} of {group.file}"


def general(sentence: str) -> str:
    """A sentence without the names and numbers that differ from kernel to kernel.

    >>> general("in function 'add', OpLoad at word 40: there is no %12")
    "in function '...', OpLoad at word N: there is no %N"
    """
    plain = re.sub(r"'[^'\n]*'", "'...'", sentence)
    plain = re.sub(r"\b_Z\w+", "...", plain)
    return re.sub(r"(?<![\w.])\d+", "N", plain)[:SENTENCE_CHARACTERS]


def short(name: str) -> str:
    """A name that fits into a line."""
    return name if len(name) <= NAME_CHARACTERS else name[: NAME_CHARACTERS - 3] + "..."


def _lanes(width: int) -> str:
    if not width:
        return "as many lanes as the device takes"
    return "one lane" if width == 1 else f"{width} lanes"
