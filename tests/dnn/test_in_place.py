"""Where oneDNN lets a result take the memory of a source, ours comes out right, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.dnn.reference.client import Session
from tests.dnn.reference.families import FAMILIES
from tests.dnn.reference.judge import PASSED, judge
from tests.dnn.reference.problem import Problem
from tests.dnn.reference.worker import Reference

SAMPLE = 2
SOURCES = {
    "eltwise": "src",
    "binary": "src",
    "softmax": "src",
    "layer_normalization": "src",
    "batch_normalization": "src",
    "group_normalization": "src",
    "sum": "multiple_0",
}
ONLY_FORWARD = ("binary", "sum")
BOTH_WAYS = [(name, False) for name in SOURCES] + [
    (name, True) for name in SOURCES if name not in ONLY_FORWARD
]


def problems_in_place(family: str, backward: bool) -> Iterator[Problem]:
    """Problems whose result lies just as the source, and then in its memory."""
    for number in range(100):
        problem = FAMILIES[family].problem(21, number)
        is_wanted = bool(problem.traits.get("backward")) == backward
        adds = any(post_op.kind == "sum" for post_op in problem.attributes.post_ops)
        if is_wanted and not adds and not problem.attributes.scales:
            yield in_place(problem, SOURCES[family], backward)


def in_place(problem: Problem, source: str, backward: bool) -> Problem:
    """The problem with the result of its last step in the memory of a source."""
    output, source = ("diff_src", "diff_dst") if backward else ("dst", source)
    last = problem.steps[-1]
    given = problem.tensors[last.inputs[source]]
    alike = replace(problem.tensors[output], dtype=given.dtype, layout=given.layout)
    return replace(
        problem,
        tensors=problem.tensors | {output: alike},
        steps=(*problem.steps[:-1], replace(last, in_place={output: source})),
    )


@pytest.mark.parametrize(("family", "backward"), BOTH_WAYS)
def test_in_place(family: str, backward: bool, ours: Session, reference: Reference) -> None:
    passed = 0
    for problem in problems_in_place(family, backward):
        verdict = judge(FAMILIES[family], problem, ours, reference)
        assert not verdict.reasons, verdict.problem
        passed += verdict.result == PASSED
        if passed == SAMPLE:
            break
    assert passed == SAMPLE
