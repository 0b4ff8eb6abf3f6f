"""Figures as a wide table: a row for each case, a column for each peer, the mean of all at the end.

A figure names one peer. Here the figures of one case become one row, which is compared with the
best of its peers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.figures import LIMIT, OURS, Figure, Measure
from benchmarks.numbers import number, pair, ratio_text

MEAN = "geometric mean"
OF_LIMIT = "of limit"


@dataclass(frozen=True)
class Row:
    """Everything that was measured for one case."""

    figures: tuple[Figure, ...]

    @property
    def case(self) -> str:
        """What was measured."""
        return self.figures[0].case

    def ratio(
        self, pick: Callable[[Measure], float] = lambda measure: measure.best
    ) -> float | None:
        """How many times as fast as the best peer; a limit is not a peer."""
        ratios = [figure.ratio(pick) for figure in self.figures if figure.peer != LIMIT]
        known = [ratio for ratio in ratios if ratio is not None]
        return min(known) if known else None

    def ratio_to_limit(self) -> float | None:
        """What part of the limit we reach, if there is one."""
        limit = self.of(LIMIT)
        return None if limit is None else limit.best_ratio

    @property
    def reached(self) -> bool | None:
        """True if we are as far ahead of the best peer as we want to be."""
        ratio, goal = self.ratio(), self.figures[0].goal
        return None if ratio is None or goal is None else ratio >= goal

    def of(self, peer: str) -> Figure | None:
        """The figure with this peer."""
        return next((figure for figure in self.figures if figure.peer == peer), None)


def rows(figures: Sequence[Figure]) -> list[Row]:
    """One row for each case, in the order in which the cases first appear."""
    grouped: dict[str, list[Figure]] = {}
    for figure in figures:
        grouped.setdefault(figure.case, []).append(figure)
    return [Row(tuple(group)) for group in grouped.values()]


def peers_in(figures: Sequence[Figure]) -> list[str]:
    """The columns: the peers, then the limit."""
    names = list(dict.fromkeys(each.peer for each in figures if each.peer not in ("", OURS)))
    return sorted(names, key=lambda name: name == LIMIT)


def mean_ratio(
    all_rows: Sequence[Row], ratio_of: Callable[[Row], float | None] = Row.ratio
) -> float | None:
    """The geometric mean, which treats twice as fast and half as fast alike."""
    ratios = [ratio for row in all_rows if (ratio := ratio_of(row)) is not None]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def header(figures: Sequence[Figure]) -> list[str]:
    """The names of the columns."""
    peers = peers_in(figures)
    of_limit = [OF_LIMIT] if LIMIT in peers else []
    return ["case", "unit", OURS, *peers, *of_limit, "ratio to best", "median", "goal"]


def cells(row: Row, peers: Sequence[str]) -> list[str]:
    """One row as text."""
    first = row.figures[0]
    goal = "" if first.goal is None else f"{first.goal:g}"
    theirs = [_peer_cell(row.of(peer), peer) for peer in peers]
    if LIMIT in peers:
        theirs.append(ratio_text(row.ratio_to_limit()))
    ratios = [ratio_text(row.ratio()), ratio_text(row.ratio(lambda measure: measure.median))]
    return [row.case, first.unit, pair(first.ours), *theirs, *ratios, goal]


def mean_cells(all_rows: Sequence[Row], peers: Sequence[str], goal: float | None) -> list[str]:
    """The last row."""
    ratio = ratio_text(mean_ratio(all_rows))
    before = ["" for _ in peers]
    if LIMIT in peers:
        before.append(ratio_text(mean_ratio(all_rows, Row.ratio_to_limit)))
    return [MEAN, "", "", *before, ratio, "", "" if goal is None else f"{goal:g}"]


def _peer_cell(figure: Figure | None, peer: str) -> str:
    if figure is None:
        return ""
    if figure.theirs is None:
        return "not measured"
    return number(figure.theirs.best) if peer == LIMIT else pair(figure.theirs)
