"""Sizes that are known only at execution: products and reorders, judged by oneDNN."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from groundstate import dnn
from groundstate.dnn import Arg, Descriptor
from groundstate.dnn.descriptor import RUNTIME_DIM
from tests.dnn.reference.client import Session
from tests.dnn.reference.families import FAMILIES
from tests.dnn.reference.judge import PASSED, WRONG, judge
from tests.dnn.reference.problem import PLAIN, Problem
from tests.dnn.reference.worker import Reference

SAMPLE = 3


def with_open_sizes(problem: Problem) -> Problem:
    """The problem with the sizes of all its tensors open."""
    tensors = {
        name: replace(
            tensor,
            layout=PLAIN if tensor.layout.kind in ("any", "tag") else tensor.layout,
            open=frozenset(range(len(tensor.dims))),
        )
        for name, tensor in problem.tensors.items()
    }
    return replace(problem, tensors=tensors)


def usable(family: str) -> Iterator[Problem]:
    """Problems whose attributes have no tensor with sizes of its own."""
    for number in range(200):
        problem = FAMILIES[family].problem(31, number)
        quantized = (*problem.attributes.scales, *problem.attributes.zero_points)
        sized = any(each.tensor is not None for each in problem.attributes.post_ops)
        broadcast = family == "matmul" and "bias" in problem.tensors
        if not sized and not broadcast and all(each.mask == 0 for each in quantized):
            yield with_open_sizes(problem)


@pytest.mark.parametrize("family", ["matmul", "reorder"])
def test_open_sizes(family: str, ours: Session, reference: Reference) -> None:
    passed = 0
    for problem in usable(family):
        verdict = judge(FAMILIES[family], problem, ours, reference)
        assert verdict.result not in WRONG, verdict
        passed += verdict.result == PASSED
        if passed == SAMPLE:
            break
    assert passed == SAMPLE


def test_one_primitive_for_many_sizes() -> None:
    stream = dnn.Stream(dnn.Engine.create())
    rows = Descriptor.plain((RUNTIME_DIM, 7))
    weights = Descriptor.plain((7, 5))
    result = Descriptor.plain((RUNTIME_DIM, 5))
    product = dnn.Primitive(dnn.create("matmul", stream.engine, rows, weights, None, result))
    random = np.random.default_rng(1)
    right = random.standard_normal((7, 5)).astype(np.float32)
    for count in (3, 1, 3, 40):
        left = random.standard_normal((count, 7)).astype(np.float32)
        memories = {
            Arg.SRC: dnn.memory_of(stream, left),
            Arg.WEIGHTS: dnn.memory_of(stream, right),
            Arg.DST: dnn.Memory(stream.engine, Descriptor.plain((count, 5))),
        }
        product.execute(stream, memories)
        found = dnn.array_of(stream, memories[Arg.DST])
        np.testing.assert_allclose(found, left @ right, rtol=1e-5, atol=1e-5)
    wrong = memories | {Arg.WEIGHTS: memories[Arg.SRC]}
    with pytest.raises(dnn.DnnError, match="not one that the primitive was made for"):
        product.execute(stream, wrong)
    with pytest.raises(dnn.DnnError, match="argument 33 is missing"):
        product.execute(stream, {Arg.SRC: memories[Arg.SRC], Arg.DST: memories[Arg.DST]})
    other = memories | {Arg.DST: dnn.Memory(stream.engine, Descriptor.plain((2, 5)))}
    with pytest.raises(dnn.DnnError, match="as many rows"):
        product.execute(stream, other)
    product.close()
