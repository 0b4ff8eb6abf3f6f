"""Recall and false alarms of checkers: `python -m tests.check [checker or program ...]`.

Without names, all labelled kernels (tests/check/labelled) and programs (tests/check/host) are run,
and a table tells for each kind of mistake how many there are and how many were found.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tests.check.host.programs import RIGHT, WRONG, cases_of, found_by, kinds
from tests.check.labelled.measure import run_suite
from tests.check.labelled.suites import SUITES

PROGRAMS = WRONG + RIGHT


@dataclass(frozen=True)
class Judged:
    """A case, what is wrong in it, and what was found."""

    name: str
    wrong: Counter[str]
    found: Counter[str]


def judged(name: str) -> Iterator[Judged]:
    """All cases of a checker's kernels, or of a program."""
    if name in SUITES:
        for each in run_suite(name):
            wanted = [each.case.kind] if each.case.kind else []
            yield Judged(f"{name}: {each.case.name}", Counter(wanted), Counter(each.kinds))
        return
    expected = cases_of(name).expected
    for case, findings in found_by(name).items():
        wanted = expected.get(case, [])
        yield Judged(f"{name}: {case}", Counter(wanted), Counter(kinds(findings)))


def table(cases: list[Judged]) -> Iterator[str]:
    """A line for each kind, a summary, and what is not as it is labelled."""
    wrong, hits, false = Counter[str](), Counter[str](), Counter[str]()
    for each in cases:
        wrong += each.wrong
        hits += each.wrong & each.found
        false += each.found - each.wrong
    yield f"{'kind':28} {'wrong':>5} {'found':>5} {'recall':>7} {'false alarms':>13}"
    for kind in sorted(wrong | false):
        share = f"{hits[kind] / wrong[kind]:7.0%}" if wrong[kind] else f"{'-':>7}"
        yield f"{kind:28} {wrong[kind]:5} {hits[kind]:5} {share} {false[kind]:13}"
    share = f"{hits.total() / max(1, wrong.total()):7.0%}"
    yield f"{'all':28} {wrong.total():5} {hits.total():5} {share} {false.total():13}"
    right = sum(not each.wrong for each in cases)
    yield f"{len(cases)} labelled cases: {len(cases) - right} are wrong, {right} are right"
    for each in cases:
        if each.wrong != each.found:
            wanted, found = (
                ", ".join(sorted(of.elements())) or "nothing" for of in (each.wrong, each.found)
            )
            yield f"  {each.name}: expected {wanted}, found {found}"


def main() -> int:
    """Prints the table; 1 if anything is not as it is labelled."""
    names = sys.argv[1:] or [*SUITES, *PROGRAMS]
    if unknown := [name for name in names if name not in (*SUITES, *PROGRAMS)]:
        print(f"unknown: {', '.join(unknown)}; there are {', '.join((*SUITES, *PROGRAMS))}")
        return 2
    cases = [each for name in names for each in judged(name)]
    print(*table(cases), sep="\n")
    return int(any(each.wrong != each.found for each in cases))


if __name__ == "__main__":
    sys.exit(main())
