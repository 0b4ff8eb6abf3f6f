"""Counters that each lane has for itself, up to the largest words."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.program import Program
from groundstate.compiler.target.shapes import REFILLED
from tests.compiler.runner import program_of, run

SOURCE = """
kernel void between(global const int *first, global const int *end, global long *sums) {
    int i = get_global_id(0);
    long sum = 0;
    for (int k = first[i]; k < end[i]; k++) sum = 3 * sum + k;
    sums[i] = sum;
}
kernel void up_to(global const int *first, global const int *last, global long *sums) {
    int i = get_global_id(0);
    long sum = 0;
    for (long k = first[i]; k <= last[i]; k += 5) sum = 3 * sum + k;
    sums[i] = sum;
}
kernel void without_sign(global const uint *first, global const uint *end, global long *sums) {
    int i = get_global_id(0);
    long sum = 0;
    for (ulong k = first[i]; k < end[i]; k += 2) sum = 3 * sum + k;
    sums[i] = sum;
}
"""
LARGEST = {np.int32: 2**31 - 1, np.uint32: 2**32 - 1}
SHAPES = [1, 8, 16, REFILLED + 16, None]


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("kernel", "step", "is_last", "word"),
    [
        ("between", 1, False, np.int32),
        ("up_to", 5, True, np.int32),
        ("without_sign", 2, False, np.uint32),
    ],
)
def test_counters_reach_the_largest_words(
    program: Program, kernel: str, step: int, is_last: bool, word: type, shape: int | None
) -> None:
    largest, items = LARGEST[word], np.arange(64)
    first = np.where(items % 3 == 0, largest - items % 7, items - 40 * (word is np.int32))
    end = np.minimum(first + items % 11 - 2, largest)
    end[items % 9 == 0] = largest
    first = np.maximum(first, end - 50)
    sums = np.zeros(64, np.int64)
    run(
        program,
        kernel,
        (2, 1, 1),
        (32, 1, 1),
        first.astype(word),
        end.astype(word),
        sums,
        width=shape,
    )
    expected = np.zeros(64, np.int64)
    for item in items:
        for k in range(int(first[item]), int(end[item]) + is_last, step):
            expected[item] = 3 * expected[item] + k
    assert np.array_equal(sums, expected)
