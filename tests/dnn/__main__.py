"""`make test-dnn`: random problems for every family of primitives, judged by oneDNN.

Each problem is solved by ours and by the reference library, and compared with benchdnn's
thresholds. A problem is known by its family, seed and number: the same three give it again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tests.dnn.journal import Journal
from tests.dnn.reference.contender import APIS
from tests.dnn.reference.court import Court
from tests.dnn.reference.families import FAMILIES
from tests.dnn.reference.judge import (
    MISMATCHED,
    NO_REFERENCE,
    PASSED,
    REFUSED,
    REFUSED_ALIKE,
    UNIMPLEMENTED,
    WRONG,
    Verdict,
)

RESULTS = (PASSED, REFUSED_ALIKE, UNIMPLEMENTED, NO_REFERENCE, REFUSED, MISMATCHED)
SHOWN = 5  # wrong problems of a family that are printed


@dataclass
class Tally:
    """What became of the problems of a family."""

    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[int, Verdict]] = field(default_factory=list)
    by_numpy: int = 0
    seconds: float = 0.0

    def add(self, index: int, verdict: Verdict) -> None:
        self.counts[verdict.result] += 1
        self.by_numpy += verdict.by_numpy
        if verdict.result == UNIMPLEMENTED:
            self.reasons[verdict.reasons[0]] += 1
        elif verdict.result in WRONG:
            self.wrong.append((index, verdict))


def run(options: argparse.Namespace, console: Console) -> dict[str, Tally]:
    """Solves all problems that were asked for."""
    tallies: dict[str, Tally] = {}
    columns = (
        TextColumn("{task.description:20}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    one = options.number
    numbers = list(range(options.count)) if one is None else [one]
    journal = Journal(options.journal)
    with (
        closing(Court(options.api, options.jobs)) as court,
        Progress(*columns, console=console, disable=options.json) as progress,
    ):
        for name in options.families:
            tally, begin = tallies.setdefault(name, Tally()), time.perf_counter()
            key = (options.api, name, options.seed)
            for number, verdict in journal.verdicts(key, numbers):
                tally.add(number, verdict)
            left = journal.left(key, numbers)
            verdicts = court.verdicts(name, options.seed, left)
            counted = progress.track(verdicts, total=len(left), description=name)
            for number, verdict in zip(left, counted, strict=True):
                tally.add(number, verdict)
                journal.add(key, number, verdict)
            tally.seconds = time.perf_counter() - begin
    return tallies


def show(tallies: dict[str, Tally], seed: int, console: Console) -> None:
    """The report: a line for each family, why problems are unimplemented, and what is wrong."""
    table = Table(title="Primitives against oneDNN")
    table.add_column("family")
    for heading in ("problems", *RESULTS, "judged by NumPy", "time"):
        table.add_column(heading, justify="right")
    total = Tally()
    for name, tally in tallies.items():
        table.add_row(name, *cells(tally))
        total.counts += tally.counts
        total.by_numpy += tally.by_numpy
        total.seconds += tally.seconds
    table.add_section()
    table.add_row("all", *cells(total))
    console.print(table)
    for name, tally in tallies.items():
        for reason, count in tally.reasons.most_common():
            console.print(f"{name}: {count} unimplemented: {reason}", markup=False)
    for name, tally in tallies.items():
        for index, verdict in tally.wrong[:SHOWN]:
            console.print(f"{name} seed {seed} number {index}: {verdict.problem}", markup=False)
            for reason in verdict.reasons:
                console.print(f"    {reason}", markup=False)


def cells(tally: Tally) -> list[str]:
    """A row of the report, without its name."""
    numbers = [tally.counts.total(), *(tally.counts[result] for result in RESULTS), tally.by_numpy]
    return [*(str(number) for number in numbers), f"{tally.seconds:.0f} s"]


def as_json(tallies: dict[str, Tally]) -> str:
    """The report for scripts."""
    return json.dumps(
        {
            name: {
                "counts": dict(tally.counts),
                "by_numpy": tally.by_numpy,
                "seconds": round(tally.seconds, 1),
                "unimplemented": dict(tally.reasons),
                "wrong": [
                    {"number": index, "problem": verdict.problem, "reasons": verdict.reasons}
                    for index, verdict in tally.wrong
                ],
            }
            for name, tally in tallies.items()
        },
        indent=2,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.dnn",
        description="Random problems for every family of primitives, judged by oneDNN's library "
        "for CPUs with benchdnn's thresholds. The report counts results that passed, problems that "
        "both libraries refuse, and those that one of them does not have; NumPy judges where the "
        "library for CPUs is not exact enough. Exits with 1 if a result is wrong.",
        epilog="families: " + ", ".join(FAMILIES),
    )
    parser.add_argument(
        "families", nargs="*", metavar="FAMILY", help="families to judge (all of them)"
    )
    parser.add_argument("--count", type=int, default=500, help="problems of each family (500)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the problems (1)")
    parser.add_argument("--number", type=int, help="only the problem of this number")
    parser.add_argument(
        "--api",
        choices=(*APIS, "reference"),
        default="python",
        help="which library is judged: groundstate.dnnl, our C library, or the reference itself",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        help="processes that share the problems (as many as CPUs)",
    )
    parser.add_argument(
        "--journal",
        type=Path,
        metavar="FILE",
        help="keep verdicts in a file, and go on with what is not in it: for a run that was "
        "stopped; remove it when a kernel has changed",
    )
    parser.add_argument(
        "--json", action="store_true", help="print the report as JSON, with every wrong result"
    )
    options = parser.parse_args()
    unknown = set(options.families) - set(FAMILIES)
    if unknown:
        parser.error(
            f"no such family: {', '.join(sorted(unknown))}; there are {', '.join(FAMILIES)}"
        )
    options.families = options.families or list(FAMILIES)
    console = Console(stderr=options.json)
    tallies = run(options, console)
    if options.json:
        print(as_json(tallies))
    else:
        show(tallies, options.seed, console)
    return 1 if any(tally.wrong for tally in tallies.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
