"""A sample of `make test-dnn`: problems of each family, solved as oneDNN solves them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count, islice

import pytest

from tests.dnn.reference.client import Session
from tests.dnn.reference.contender import THERE
from tests.dnn.reference.families import FAMILIES
from tests.dnn.reference.judge import PASSED, WRONG, judge
from tests.dnn.reference.problem import Problem
from tests.dnn.reference.worker import Reference

pytestmark = pytest.mark.needs_compiler

SAMPLE = 4


def results(problems: Iterable[Problem], ours: Session, reference: Reference) -> list[str]:
    """What became of problems; none of them is wrong."""
    verdicts = [judge(FAMILIES[each.family], each, ours, reference) for each in problems]
    wrong = [(verdict.problem, verdict.reasons) for verdict in verdicts if verdict.result in WRONG]
    assert not wrong
    return [verdict.result for verdict in verdicts]


@pytest.mark.parametrize("family", THERE)
def test_problems_of_a_family(family: str, ours: Session, reference: Reference) -> None:
    problems = [FAMILIES[family].problem(1, number) for number in range(SAMPLE)]
    assert PASSED in results(problems, ours, reference)


def test_an_lstm_with_a_projection(ours: Session, reference: Reference) -> None:
    problems = (FAMILIES["lstm"].problem(1, number) for number in count())
    projected = (problem for problem in problems if "weights_3" in problem.tensors)
    assert results(islice(projected, 2), ours, reference) == [PASSED] * 2
