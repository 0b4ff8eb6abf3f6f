"""Loads at 32-bit indices: what lies next to each other is read together unless an index wraps."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.pipeline import specialise
from groundstate.compiler.program import Program
from groundstate.compiler.spirv.types import Vector
from tests.compiler.runner import program_of, run

ITEMS, ROW = 32, 100
SOURCE = """
#define FOUR(j) in[j] + 2 * in[j + 1] + 3 * in[j + 2] + 4 * in[j + 3]
__kernel void rows(__global const float *in, __global float *out) {
    int i = get_local_id(0);
    float sum = 0;
    for (int k = 0; k < 96; k += 4) sum = sum / 2 + FOUR(i * 100 + k);
    out[i] = sum;
}
__kernel void chosen(__global const float *in, __global float *out, uint n) {
    uint i = get_local_id(0) * 100;
    uint first = n & 15, second = n % 7;
    out[get_local_id(0)] = FOUR(i + first) - (FOUR(second + i));
}
#define WRAPPING(c) in[(ushort)(i + c)] * (c + 1)
__kernel void wraps(__global const float *in, __global float *out, uint n) {
    uint i = get_local_id(0) * 100 + 65530 - 1600;
    out[get_local_id(0)] = WRAPPING(0) + WRAPPING(1) + WRAPPING(2) + WRAPPING(3);
}
__kernel void wraps_by_far(__global const float *in, __global float *out, uint n) {
    uint i = get_local_id(0) * 100 + n;
    out[get_local_id(0)] = FOUR(i);
}
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def four(numbers: np.ndarray, indices: np.ndarray, mask: int = 0xFFFFFFFF) -> np.ndarray:
    read = [numbers[(indices + each) & mask] for each in range(4)]
    total: np.ndarray = read[0] + 2 * read[1] + 3 * read[2] + 4 * read[3]
    return total


def results(program: Program, name: str, width: int | None, *arguments: object) -> np.ndarray:
    found = np.zeros(ITEMS, np.float32)
    first, *others = arguments
    run(program, name, (1, 1, 1), (ITEMS, 1, 1), first, found, *others, width=width)
    return found


WIDTHS = (1, 4, 8, 16, 32)
STARTS = np.arange(ITEMS, dtype=np.int64) * ROW
NUMBERS = np.random.default_rng(3).integers(-9, 9, 1 << 16).astype(np.float32)


@pytest.mark.parametrize("width", WIDTHS)
def test_rows(program: Program, width: int) -> None:
    expected = np.zeros(ITEMS, np.float32)
    for k in range(0, 96, 4):
        expected = expected / 2 + four(NUMBERS, STARTS + k)
    np.testing.assert_allclose(results(program, "rows", width, NUMBERS), expected, rtol=1e-5)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n", [0, 13, 0xFFFFFFFF])
def test_constants_bound_what_nobody_knows(program: Program, n: int, width: int) -> None:
    expected = four(NUMBERS, STARTS + (n & 15)) - four(NUMBERS, STARTS + n % 7)
    np.testing.assert_array_equal(
        results(program, "chosen", width, NUMBERS, np.uint32(n)), expected
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_indices_of_16_bits_wrap(program: Program, width: int) -> None:
    expected = four(NUMBERS, STARTS + 65530 - 1600, 0xFFFF)
    np.testing.assert_array_equal(results(program, "wraps", width, NUMBERS, np.uint32(0)), expected)


@pytest.mark.parametrize("name", ["rows", "chosen"])
def test_neighbours_are_read_together(program: Program, name: str) -> None:
    assert quads(program, name) > 0


@pytest.mark.parametrize("name", ["wraps", "wraps_by_far"])
def test_what_may_wrap_is_read_by_itself(program: Program, name: str) -> None:
    assert quads(program, name) == 0


def quads(program: Program, name: str) -> int:
    """How many loads of a kernel are of four numbers."""
    nodes = specialise(program, name, (ITEMS, 1, 1), 16).kernel.nodes()
    types = [node.type for node in nodes if node.op == "Load"]
    return sum(isinstance(each, Vector) and each.count == 4 for each in types)
