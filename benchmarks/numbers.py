"""Numbers as the tables show them."""

from __future__ import annotations

from benchmarks.figures import Measure

FAILED = "failed"


def number(value: float) -> str:
    """Three digits that mean something."""
    if value >= 1000:
        return f"{value:,.0f}"
    if value < 0.01:
        return f"{value:.1g}"
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3}f}"


def pair(measure: Measure | None, unit: str = "") -> str:
    """The best sample and the middle one."""
    if measure is None:
        return FAILED
    return f"{number(measure.best)} ({number(measure.median)}) {unit}".rstrip()


def ratio_text(value: float | None) -> str:
    """A ratio, or nothing."""
    return "" if value is None else number(value)
