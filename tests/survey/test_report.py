"""The figures of a survey's report."""

from __future__ import annotations

import numpy
import pytest

from groundstate.survey.files import Collection, Found
from groundstate.survey.report import Report
from groundstate.survey.trial import COMPILED, Outcome


def report_of(seconds: list[float]) -> Report:
    collection = Collection()
    chosen = [Found(str(n), b"", "a.so") for n in range(len(seconds))]
    outcomes = {str(n): Outcome(COMPILED, "", seconds=each) for n, each in enumerate(seconds)}
    return Report(collection, chosen, outcomes, (0,))


@pytest.mark.parametrize("count", [1, 2, 3, 19, 20, 21, 100])
@pytest.mark.parametrize("part", [0.0, 0.5, 0.95, 1.0])
def test_quantiles_are_those_of_numpy(count: int, part: float) -> None:
    seconds = [((7 * n) % 23) / 10 for n in range(count)]
    assert report_of(seconds).quantile(part) == pytest.approx(numpy.quantile(seconds, part))


def test_nothing_compiled_has_no_times() -> None:
    report = report_of([])
    assert report.quantile(0.95) == 0.0
    assert not [line for line in report.lines() if "percentile" in line]


def test_percentiles_are_printed_in_one_precision() -> None:
    (line,) = [line for line in report_of([0.001, 0.002, 0.004]).lines() if "percentile" in line]
    assert "median 0.002 s, 95th percentile 0.004 s, longest 0.004 s" in line
