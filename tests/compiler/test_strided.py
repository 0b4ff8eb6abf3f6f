"""Loads at fixed steps: numbers, vectors of four and others, with all lanes and with some."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.program import Program
from tests.compiler.runner import Size, program_of, run

STEP = 12
SOURCE = """
#define STEP 12
__kernel void one(__global const float *in, __global float *out, long n) {
    long i = get_global_id(0);
    if (i < n) out[i] = in[i * STEP + 1];
}
__kernel void bytes(__global const uchar *in, __global uchar *out, long n) {
    long i = get_global_id(0);
    if (i < n) out[i] = in[i * STEP + 1];
}
__kernel void four(__global const float *in, __global float *out, long n) {
    long i = get_global_id(0);
    if (i >= n) return;
    float4 v = vload4(0, in + i * STEP + 1);
    out[i] = v.x; out[i + n] = v.y; out[i + 2 * n] = v.z; out[i + 3 * n] = v.w;
}
__kernel void eight(__global const float *in, __global float *out, long n) {
    long i = get_global_id(0);
    if (i >= n) return;
    float8 v = vload8(0, in + i * STEP + 1);
    out[i] = v.s0; out[i + n] = v.s3; out[i + 2 * n] = v.s5; out[i + 3 * n] = v.s7;
}
__kernel void backwards(__global const int *in, __global int *out, long n) {
    long i = get_global_id(0);
    if (i >= n) return;
    int4 v = vload4(0, in + (n - 1 - i) * STEP);
    out[i] = v.x; out[i + n] = v.y; out[i + 2 * n] = v.z; out[i + 3 * n] = v.w;
}
"""
WIDTHS = (1, 4, 8, 16, 32)
GROUPS: list[Size] = [(32, 1, 1), (24, 1, 1)]


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("missing", [0, 5])
def test_single_numbers(program: Program, group: Size, width: int, missing: int) -> None:
    count = 3 * group[0] - missing
    for name, kind in (("one", np.float32), ("bytes", np.uint8)):
        given = np.arange(count * STEP + STEP).astype(kind)
        out = np.zeros(count, kind)
        run(program, name, (3, 1, 1), group, given, out, np.int64(count), width=width)
        np.testing.assert_array_equal(out, given[1::STEP][:count])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("missing", [0, 5])
def test_vectors(program: Program, group: Size, width: int, missing: int) -> None:
    count = 3 * group[0] - missing
    cases = (
        ("four", np.float32, 1, (0, 1, 2, 3), 1),
        ("eight", np.float32, 1, (0, 3, 5, 7), 1),
        ("backwards", np.int32, 0, (0, 1, 2, 3), -1),
    )
    for name, kind, first, parts, direction in cases:
        given = np.arange(count * STEP + STEP).astype(kind)
        out = np.zeros((4, count), kind)
        run(program, name, (3, 1, 1), group, given, out, np.int64(count), width=width)
        rows = given[: count * STEP + first][first:].reshape(count, STEP)[::direction]
        np.testing.assert_array_equal(out, rows[:, list(parts)].T, err_msg=name)
