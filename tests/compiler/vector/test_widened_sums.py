"""Sums of 32 bits that compilers widen by shifting them up and down again."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.program import Program
from tests.compiler.runner import program_of, run

SOURCE = """
__kernel void neighbours(__global const float *in, __global float *out) {
    int i = get_global_id(0);
    out[i + 1] = in[i] + 2 * in[i + 1] + 3 * in[i + 2];
}
__kernel void backwards(__global const short *in, __global short *out) {
    int i = get_global_id(0);
    out[i] = in[i + 3] - in[i + 5];
}
"""
ITEMS = 256


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.mark.parametrize("name", ["neighbours", "backwards"])
def test_neighbours_are_read_as_vectors(program: Program, name: str) -> None:
    text = program.write(name, (64, 1, 1)).text
    assert "gather" not in text
    assert "scatter" not in text


@pytest.mark.parametrize("width", [1, 8, None])
def test_results(program: Program, width: int | None) -> None:
    floats = np.arange(ITEMS + 2, dtype=np.float32)
    out = np.zeros(ITEMS + 1, np.float32)
    run(program, "neighbours", (4, 1, 1), (64, 1, 1), floats, out, width=width)
    assert np.array_equal(out[1:], floats[:-2] + 2 * floats[1:-1] + 3 * floats[2:])
    shorts = (np.arange(ITEMS + 5) ** 2).astype(np.int16)
    found = np.zeros(ITEMS, np.int16)
    run(program, "backwards", (4, 1, 1), (64, 1, 1), shorts, found, width=width)
    assert np.array_equal(found, shorts[3:-2] - shorts[5:])
