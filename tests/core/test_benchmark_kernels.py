"""The kernels of the benchmarks compute on the device what NumPy computes, at their small sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.kernels.cases import EMPTY, SCALING_CASES, SMALL_CASES, UNEVEN_CASES, Case
from benchmarks.kernels.irregular import SMALL_IRREGULAR_CASES
from benchmarks.kernels.large import LARGE
from benchmarks.kernels.runtimes import Groundstate


@pytest.fixture
def runtime() -> Iterator[Groundstate]:
    made = Groundstate()
    yield made
    made.close()


SMALLEST = next(iter(SCALING_CASES.values()))
ALL = {
    **SMALL_CASES,
    **SMALL_IRREGULAR_CASES,
    **UNEVEN_CASES,
    SMALLEST.name: SMALLEST,
    LARGE.name: LARGE,
    EMPTY.name: EMPTY,
}


@pytest.mark.parametrize("case", ALL.values(), ids=ALL.keys())
def test_results_are_right(runtime: Groundstate, case: Case) -> None:
    given: list[Any] = case.arguments()
    prepared = runtime.build(case, [runtime.upload(argument) for argument in given])
    prepared.launch()
    assert case.mistake(case.expected(given), prepared.result(given[case.result])) == ""
