"""All checkers that are on by default, at once, on labelled kernels."""

from __future__ import annotations

import pytest

from tests.check.labelled.cases import Case
from tests.check.labelled.measure import Outcome, run_suite
from tests.check.labelled.suites import SUITES

SUITE = "memory,uninit,races,sync"


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    return {each.case.name: each for each in run_suite(SUITE)}


@pytest.mark.parametrize("case", SUITES[SUITE], ids=lambda case: case.name)
def test_kernel_has_the_findings_of_its_label(case: Case, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[case.name]
    assert outcome.is_right, (case.kind, outcome.findings)
