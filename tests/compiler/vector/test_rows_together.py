"""Vectors of a group that run in lockstep, so that what they share is loaded once."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.analysis.rows import Lockstep, rows_together
from groundstate.compiler.pipeline import specialise
from groundstate.compiler.program import Program
from tests.compiler.runner import program_of, run

SOURCE = """
__kernel void product(__global const float *a, __global const float *b, __global float *c, int n) {
    int column = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}
__kernel void two_loops(__global const float *a, __global float *b, int n) {
    int column = get_global_id(0), row = get_global_id(1);
    int first = get_local_id(1) + 100 * get_local_id(0), last = get_local_linear_id();
    float low = 0, high = row, old = 1;
    if (n > 8)
        for (int k = 0; k < n; k++) {
            float now = low + a[k * 64 + column];
            low = high;
            high = now;
        }
    else
        low = 2 * row;
    for (int k = 0; k < 3; k++) old = old * low + a[k * 64 + column];
    b[row * 64 + column] = old + high + first + 10000 * last;
}
__kernel void own_rows(__global const float *a, __global float *b, int n) {
    int at = get_global_id(1) * n + get_global_id(0);
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[at + k];
    b[at] = sum;
}
__kernel void as_long_as_row(__global const float *a, __global float *b) {
    float sum = 0;
    for (int k = 0; k < get_global_id(1); k++) sum += a[k * 64 + get_global_id(0)];
    b[get_global_id(1) * 64 + get_global_id(0)] = sum;
}
__kernel void inside(__global const float *a, __global float *b, int n) {
    if (get_global_id(0) >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[k * 64 + get_global_id(0)];
    b[get_global_id(1) * 64 + get_global_id(0)] = sum;
}
__kernel void counts(__global const float *a, __global int *b, int n) {
    for (int k = 0; k < n; k++)
        if (a[k * 64 + get_global_id(0)] > 0) atomic_inc(b);
}
__kernel void meets(__global const float *a, __global float *b, __local float *part) {
    float sum = 0;
    for (int k = 0; k < 100; k++) sum += a[k * 64 + get_global_id(0)];
    part[get_local_id(1) * 32 + get_local_id(0)] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    b[get_global_id(1) * 64 + get_global_id(0)] = part[get_local_id(0)];
}
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def together(program: Program, name: str, group: tuple[int, int, int], width: int = 8) -> Lockstep:
    return rows_together(specialise(program, name, group, width))


@pytest.mark.parametrize("width", [None, 1, 4, 8])
@pytest.mark.parametrize(
    "group", [(32, 8, 1), (16, 16, 1), (8, 2, 4), (64, 1, 1), (1, 32, 2), (32, 1, 2)]
)
def test_product_is_right(program: Program, group: tuple[int, int, int], width: int | None) -> None:
    n = 64
    a, b = np.random.default_rng(1).integers(0, 9, (2, n, n)).astype(np.float32)
    c = np.zeros((n, n), np.float32)
    x, y, _ = group
    run(program, "product", (n // x, n // y, 1), (x, y, 1), a, b, c, np.int32(n), width=width)
    assert np.array_equal(c, a @ b)


@pytest.mark.parametrize("n", [0, 4, 20])
@pytest.mark.parametrize("group", [(32, 8, 1), (16, 4, 1), (16, 3, 1), (64, 1, 1)])
def test_values_of_rows_stay_apart(program: Program, group: tuple[int, int, int], n: int) -> None:
    a = (np.arange(64 * 64, dtype=np.float32) % 3).reshape(64, 64)
    results = []
    for width in (1, None, 8):
        b = np.zeros((64, 64), np.float32)
        groups = (64 // group[0], 48 // group[1], 1)
        run(program, "two_loops", groups, group, a, b, np.int32(n), width=width)
        results.append(b)
    assert results[0].any()
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ((32, 8, 1), Lockstep(4)),
        ((8, 6, 1), Lockstep(2)),
        ((8, 3, 1), Lockstep()),
        ((64, 1, 1), Lockstep(4, along_row=True)),
        ((16, 3, 1), Lockstep(2, along_row=True)),
        ((24, 1, 1), Lockstep()),
    ],
)
def test_rows_that_share_loads_run_together(
    program: Program, group: tuple[int, int, int], expected: Lockstep
) -> None:
    assert together(program, "product", group) == expected


@pytest.mark.parametrize("name", ["own_rows", "as_long_as_row", "inside", "counts", "meets"])
def test_other_rows_run_one_by_one(program: Program, name: str) -> None:
    assert together(program, name, (32, 8, 1)) == Lockstep()
