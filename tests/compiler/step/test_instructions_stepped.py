"""Each instruction of SPIR-V, stepped: the first group of each case of compiled code."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.program import Program
from tests.compiler.instructions.instruction_support import (
    Batch,
    Shape,
    assert_near,
    assert_same,
    dtype_of,
    padded,
)
from tests.compiler.instructions.test_instructions import BATCHES
from tests.compiler.step.step_support import Stepped


def shape_of(batch: Batch) -> Shape:
    """Several lanes, if the cases allow them."""
    return max(batch.cases[0].shapes, key=lambda each: (each.width == 8, each.width))


EVERY = 3
"""Of the batches, one in so many is stepped: compiling single operations takes a while."""


@pytest.mark.parametrize("batch", BATCHES[::EVERY], ids=lambda batch: batch.name)
def test_stepped_instruction_computes_what_it_should(batch: Batch) -> None:
    shape = shape_of(batch)
    given = [padded(kind, data) for kind, data in batch.cases[0].inputs]
    groups = len(given[0]) // shape.group if given else 4
    found = [
        np.zeros(groups * shape.group, dtype_of(case.output.replace("bool", "u8")))
        for case in batch.cases
    ]
    sizes = (groups, 1, 1), (shape.group, 1, 1)
    program = Program(batch.spirv)
    Stepped(program, "kernel", *sizes, *given, *found, width=shape.width).run(groups=1)
    for case, result in zip(batch.cases, found, strict=True):
        result = result[: shape.group]
        with np.errstate(all="ignore"):
            wanted = padded(case.output, case.wanted(shape))[: shape.group]
        if case.output.startswith("v3"):
            result, wanted = result[..., :3], wanted[..., :3]
        if case.ulp:
            assert_near(case.name, result, case.wanted(shape)[: shape.group], case.ulp, shape)
        else:
            assert_same(case.name, result, wanted, shape)
