"""Figures as a table of speed-ups: a row for each case, a column for each number of threads.

Each figure of a case has what was measured with so many threads as ours, and what was measured with
one as the peer's. Its `peer` names the column.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.figures import LIMIT, Figure
from benchmarks.numbers import FAILED, number, pair, ratio_text
from benchmarks.wide import Row, peers_in, rows


def header(figures: Sequence[Figure]) -> list[str]:
    """The names of the columns."""
    return ["case", "unit", "1 thread", *peers_in(figures), "best"]


def table(figures: Sequence[Figure]) -> list[list[str]]:
    """All rows as text."""
    return [_cells(row, peers_in(figures)) for row in rows(figures)]


def _cells(row: Row, columns: Sequence[str]) -> list[str]:
    """The rate of one thread, how many times as fast more are, and the best rate of all."""
    first = row.figures[0]
    figures = [figure for figure in row.figures if figure.peer != LIMIT]
    measured = [figure.ours for figure in figures if figure.ours is not None]
    best = number(max(each.best for each in measured)) if measured else FAILED
    one = pair(first.theirs or first.ours)
    return [row.case, first.unit, one, *(_ratio(row, each) for each in columns), best]


def _ratio(row: Row, column: str) -> str:
    figure = row.of(column)
    return ratio_text(figure.best_ratio) if figure is not None else ""
