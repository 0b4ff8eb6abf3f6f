"""Masked accesses to local memory of which each lane has a row."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.target.x86 import AVX2, AVX512
from tests.compiler.runner import Local, program_of, run

WIDTHS = (1, 4, 8, 16, 32, None)
ROWS, COLUMNS, GROUPS = 32, 9, 3
SOURCE = """
#define BODY(type) \\
    int i = get_local_id(0), n = get_local_size(0), first = get_group_id(0) * n * 9; \\
    for (int k = 0; k < 9; k++) rows[i * 9 + k] = data[first + i * 9 + k]; \\
    barrier(CLK_LOCAL_MEM_FENCE); \\
    for (int k = 0; k < 8; k++) { \\
        if (i % 3 > k % 3) { \\
            rows[i * 9 + k] += 5; \\
            for (int j = k + 1; j < 9; j++) rows[i * 9 + j] += rows[i * 9 + k] * rows[j]; \\
        } \\
        barrier(CLK_LOCAL_MEM_FENCE); \\
    } \\
    for (int k = 0; k < 9; k++) data[first + i * 9 + k] = rows[i * 9 + k];

__kernel void variable(__global int *data) { __local int rows[32 * 9]; BODY(int) }
__kernel void given(__global int *data, __local int *rows) { BODY(int) }
__kernel void shorts(__global short *data, __local short *rows) { BODY(short) }
__kernel void doubles(__global double *data) { __local double rows[32 * 9]; BODY(double) }
__kernel void unsure(__global int *data) { volatile __local int rows[32 * 9]; BODY(int) }
__kernel void diagonal(__global int *data) {
    __local int rows[32 * 32];
    int i = get_local_id(0), n = get_local_size(0), first = get_group_id(0) * n;
    for (int k = 0; k < 32; k++) rows[i * 32 + k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 32; k++) {
        if (i == k) rows[i * 32 + k] += data[first + i];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    int sum = 0;
    for (int k = 0; k < 32; k++) sum += rows[k * 32 + i] * (k + 1);
    data[first + i] = sum;
}
__kernel void outside(__global const int *from, __global int *to, __local int *line, int far) {
    int i = get_local_id(0), n = get_local_size(0);
    line[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int low = 3 * i - far, high = far - 3 * i;
    if (low >= 0 && low < n) line[low] = from[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    int found = high >= 0 && high < n ? line[high] : -1;
    to[get_global_id(0)] = found + 1000 * line[i];
}
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def expected(data: np.ndarray) -> np.ndarray:
    """Rows of several groups, as the work-items of each compute them."""
    groups = data.reshape(GROUPS, ROWS, COLUMNS).copy()
    for rows in groups:
        for k in range(COLUMNS - 1):
            active = np.arange(ROWS) % 3 > k % 3
            rows[active, k] += 5
            for j in range(k + 1, COLUMNS):
                rows[active, j] += rows[active, k] * rows[0, j]
    return groups.reshape(data.shape)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["variable", "given", "shorts", "doubles", "unsure"])
def test_each_active_lane_has_its_row(program: Program, name: str, width: int | None) -> None:
    type_ = {"shorts": np.int16, "doubles": np.float64}.get(name, np.int32)
    data = np.random.default_rng(2).integers(-2, 3, GROUPS * ROWS * COLUMNS).astype(type_)
    wanted = expected(data)
    bytes_ = ROWS * COLUMNS * data.itemsize
    arguments = [Local(bytes_)] if name in ("given", "shorts") else []
    run(program, name, (GROUPS, 1, 1), (ROWS, 1, 1), data, *arguments, width=width)
    np.testing.assert_array_equal(data, wanted)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("far", [0, 1, 31, 60, 93, 200])
def test_inactive_lanes_may_be_outside(program: Program, far: int, width: int | None) -> None:
    given = np.arange(1, GROUPS * ROWS + 1, dtype=np.int32)
    found = np.zeros_like(given)
    memory = Local(4 * ROWS)
    run(
        program,
        "outside",
        (GROUPS, 1, 1),
        (ROWS, 1, 1),
        given,
        found,
        memory,
        np.int32(far),
        width=width,
    )
    item, line = np.arange(ROWS), np.zeros((GROUPS, ROWS), np.int32)
    low, high = 3 * item - far, far - 3 * item
    inside = (low >= 0) & (low < ROWS)
    line[:, low[inside]] = given.reshape(GROUPS, ROWS)[:, inside]
    read = np.where((high >= 0) & (high < ROWS), line[:, high.clip(0, ROWS - 1)], -1)
    np.testing.assert_array_equal(found.reshape(GROUPS, ROWS), read + 1000 * line)


@pytest.mark.parametrize("width", WIDTHS)
def test_one_lane_has_its_place(program: Program, width: int | None) -> None:
    data = np.arange(1, GROUPS * ROWS + 1, dtype=np.int32)
    wanted = data * np.tile(np.arange(1, ROWS + 1), GROUPS)
    run(program, "diagonal", (GROUPS, 1, 1), (ROWS, 1, 1), data, width=width)
    np.testing.assert_array_equal(data, wanted)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("target", [AVX2, AVX512])
def test_what_is_scattered(target: object) -> None:
    program = Program(compile_opencl(SOURCE), target=target)
    for name, scatters, looks in (
        ("variable", False, False),
        ("given", True, True),
        ("unsure", True, False),
        ("diagonal", True, False),
    ):
        text = program.write(name, (ROWS, 1, 1), 8).text
        assert ("scatter." in text) == scatters
        assert ("icmp ule ptr" in text) == looks
