"""Dot products of floats: multiplied and added in one step, alike in every shape."""

from __future__ import annotations

import re

import numpy as np
import pytest

from groundstate.compiler.program import Program
from tests.compiler.runner import program_of, run

SOURCE = """
__kernel void products(__global const float4 *a, __global const float4 *b, __global float *out) {
    int i = get_global_id(0);
    out[i] = dot(a[i].xyz, b[i].xyz) + dot(a[i], b[0]);
}
"""
GROUP = 32


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def test_all_widths_give_the_same_bits(program: Program) -> None:
    random = np.random.default_rng(8)
    a, b = random.standard_normal((2, GROUP, 4)).astype(np.float32)
    results = []
    for width in (1, 4, 8, 16):
        out = np.zeros(GROUP, np.float32)
        run(program, "products", (1, 1, 1), (GROUP, 1, 1), a, b, out, width=width)
        results.append(out)
    exact = (a.astype(np.float64)[:, :3] * b[:, :3]).sum(axis=1) + a.astype(np.float64) @ b[0]
    np.testing.assert_allclose(results[0], exact, atol=1e-5)
    for each in results[1:]:
        np.testing.assert_array_equal(each, results[0])


@pytest.mark.parametrize("width", [1, 8])
def test_products_are_added_in_one_step(program: Program, width: int) -> None:
    text = program.write("products", (GROUP, 1, 1), width).text
    assert len(re.findall(r"call .*@llvm\.fmuladd\.", text)) == 5
    assert len(re.findall(r" = fmul ", text)) == 2
