"""A sample of `make test-dnn`: problems of each family, solved as oneDNN solves them."""

from __future__ import annotations

import pytest

from tests.dnn.reference.client import Session
from tests.dnn.reference.contender import THERE
from tests.dnn.reference.families import FAMILIES
from tests.dnn.reference.judge import PASSED, WRONG, judge
from tests.dnn.reference.worker import Reference

SAMPLE = 4


@pytest.mark.parametrize("family", THERE)
def test_problems_of_a_family(family: str, ours: Session, reference: Reference) -> None:
    verdicts = [
        judge(FAMILIES[family], FAMILIES[family].problem(1, index), ours, reference)
        for index in range(SAMPLE)
    ]
    wrong = [(verdict.problem, verdict.reasons) for verdict in verdicts if verdict.result in WRONG]
    assert not wrong
    assert any(verdict.result == PASSED for verdict in verdicts)
