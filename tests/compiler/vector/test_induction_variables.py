"""Indices times an increment that is only known when the program runs, as in linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.program import Program
from tests.compiler.runner import program_of, run

SOURCE = """
__kernel void scaled(__global const float *x, long incx, __global float *y, long incy, long n) {
    long i = get_global_id(0);
    if (i < n) y[i * incy] = 2 * x[i * incx];
}
__kernel void in_fours(__global const float *x, long incx, __global float *y, long n) {
    long i = get_global_id(0), first = 4 * i, count = min(n - first, 4L);
    float sum = 0;
    for (int k = 0; k < count; k++) sum += x[(first + k) * incx] * (k + 1);
    y[i] = sum;
}
__kernel void twice_over(__global const int *x, long a, long b, __global int *y) {
    long i = get_global_id(0);
    y[i] = x[i * a] + 10 * (x + i * a)[i * b];
}
__kernel void across(__global const int *x, long a, long last, __global int *y, __global int *z) {
    long i = get_global_id(0);
    y[i] = (x + i * a)[last - i];
    (z + i * a)[last - i] = i;
}
"""
WIDTHS = [1, 8, 16, None]
ITEMS = 96


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("increments", [(1, 1), (1, 3), (2, 1), (-1, 1), (1, -2), (0, 1)])
def test_loads_and_stores(program: Program, increments: tuple[int, int], width: int | None) -> None:
    incx, incy = increments
    x = np.arange(6 * ITEMS, dtype=np.float32)
    y = np.zeros(6 * ITEMS, np.float32)
    wanted = y.copy()
    middle = 2 * ITEMS  # negative increments go down from there
    count = ITEMS - 5
    steps = np.arange(count)
    wanted[middle + steps * incy] = 2 * x[middle + steps * incx]
    given = (x[middle:], np.int64(incx), y[middle:], np.int64(incy), np.int64(count))
    run(program, "scaled", (3, 1, 1), (32, 1, 1), *given, width=width)
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("missing", [0, 1, 7, 70, 383])
@pytest.mark.parametrize("incx", [1, 2])
def test_several_for_each_item(
    program: Program, incx: int, missing: int, width: int | None
) -> None:
    count = 4 * ITEMS - missing
    x = np.zeros(8 * ITEMS, np.float32)
    x[: count * incx : incx] = np.arange(count) % 13
    x[count * incx :] = np.nan
    y = np.zeros(ITEMS, np.float32)
    run(
        program,
        "in_fours",
        (3, 1, 1),
        (32, 1, 1),
        x,
        np.int64(incx),
        y,
        np.int64(count),
        width=width,
    )
    used = np.zeros((ITEMS, 4), np.float32)
    used.reshape(-1)[:count] = np.arange(count) % 13
    np.testing.assert_array_equal(y, used @ np.arange(1, 5, dtype=np.float32))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("factors", [(1, 1), (1, 2), (3, 1), (2, 2)])
def test_two_guesses_for_one_address(
    program: Program, factors: tuple[int, int], width: int | None
) -> None:
    x = np.arange(6 * ITEMS, dtype=np.int32)
    y = np.zeros(ITEMS, np.int32)
    run(program, "twice_over", (3, 1, 1), (32, 1, 1), x, *map(np.int64, factors), y, width=width)
    i = np.arange(ITEMS)
    np.testing.assert_array_equal(y, x[i * factors[0]] + 10 * x[i * sum(factors)])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("factor", [1, 2, 5])
def test_what_goes_up_as_the_rest_goes_down(
    program: Program, factor: int, width: int | None
) -> None:
    """With an increment of one all lanes are at the same address."""
    x, z = np.arange(6 * ITEMS, dtype=np.int32), np.full(6 * ITEMS, -1, np.int32)
    y = np.zeros(ITEMS, np.int32)
    given = (x, np.int64(factor), np.int64(ITEMS), y, z)
    run(program, "across", (3, 1, 1), (32, 1, 1), *given, width=width)
    i = np.arange(ITEMS)
    places = ITEMS + i * (factor - 1)
    np.testing.assert_array_equal(y, x[places])
    assert set(np.flatnonzero(z >= 0)) == set(places)
    if factor > 1:
        np.testing.assert_array_equal(z[places], i)


def test_unit_increment_reads_adjacent_as_vector(program: Program) -> None:
    text = program.write("scaled", (32, 1, 1)).text
    assert "near." in text
    assert "far." in text
