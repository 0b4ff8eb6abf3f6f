"""Kernels that one work-item runs, such as SYCL's single tasks: LLVM makes vectors of its loops."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.llvm import service
from groundstate.compiler.program import Program
from tests.compiler.runner import program_of, run

SOURCE = """
__kernel void scaled(__global float *y, __global const float *x, float a, int n) {
    for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}
__kernel void total(__global int *y, __global const int *x, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    y[0] = sum;
}
__kernel void positive(__global float *y, __global const float *x, int n) {
    for (int i = 0; i < n; i++) {
        if (x[i] > 0) y[i] = x[i]; else y[i] = -1;
    }
}
"""
ONE = (1, 1, 1)
COUNTS = [0, 1, 7, 8, 100, 1027]


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def numbers(count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(-99, 99, count + 1).astype(np.float32)


@pytest.mark.parametrize("name", ["scaled", "total", "positive"])
def test_loops_become_vectors(program: Program, name: str) -> None:
    code = program.write(name, ONE)
    assert code.lanes == 1
    assert " x float>" not in code.text
    optimised = str(service.optimise(code.text, code.lanes))
    assert "vector.body" in optimised


@pytest.mark.parametrize("count", COUNTS)
def test_results(program: Program, count: int) -> None:
    x, y = numbers(count), numbers(count)[::-1].copy()
    expected = np.float32(2) * x + y
    expected[count] = y[count]
    run(program, "scaled", ONE, ONE, y, x, np.float32(2), np.int32(count))
    np.testing.assert_array_equal(y, expected)
    out = np.full(count + 1, 5, np.float32)
    run(program, "positive", ONE, ONE, out, x, np.int32(count))
    np.testing.assert_array_equal(out[:count], np.where(x > 0, x, -1)[:count])
    assert out[count] == 5
    sums, whole = np.zeros(1, np.int32), x.astype(np.int32)
    run(program, "total", ONE, ONE, sums, whole, np.int32(count))
    assert sums[0] == whole[:count].sum()


@pytest.mark.parametrize("distance", [-3, -1, 0, 1, 5, 8])
def test_memory_that_overlaps(program: Program, distance: int) -> None:
    """What one round writes, a later one may read."""
    memory = numbers(64)
    first, second = 16, 16 + distance
    expected = memory.copy()
    for i in range(32):
        expected[second + i] = np.float32(2) * expected[first + i] + expected[second + i]
    run(program, "scaled", ONE, ONE, memory[second:], memory[first:], np.float32(2), np.int32(32))
    np.testing.assert_array_equal(memory, expected)
