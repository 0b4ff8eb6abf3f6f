"""From barrier to barrier: each has a loop over the sub-groups of a group behind it."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.program import Program
from tests.compiler.runner import Local, program_of, run

MANY = 40
SOURCE = f"""
__kernel void tree(__global const float *in, __global float *out, __local float *part) {{
    uint i = get_local_id(0);
    part[i] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_way = get_local_size(0) / 2; half_way > 0; half_way >>= 1) {{
        if (i < half_way) part[i] += part[i + half_way];
        barrier(CLK_LOCAL_MEM_FENCE);
    }}
    if (i == 0) out[get_group_id(0)] = part[0];
}}
__kernel void scan(__global const int *in, __global int *out, __local int *part) {{
    int i = get_local_id(0), sum = in[get_global_id(0)];
    part[i] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int distance = 1; distance < get_local_size(0); distance *= 2) {{
        int before = i >= distance ? part[i - distance] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += before;
        part[i] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }}
    out[get_global_id(0)] = sum;
}}
__kernel void sweep(__global const int *in, __global int *out, __local int *part) {{
    int i = get_local_id(0), n = get_local_size(0), first = get_group_id(0) * 2 * n, step = 1;
    part[2 * i] = in[first + 2 * i];
    part[2 * i + 1] = in[first + 2 * i + 1];
    for (int left = n; left > 0; left >>= 1, step *= 2) {{
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < left) part[step * (2 * i + 2) - 1] += part[step * (2 * i + 1) - 1];
    }}
    if (i == 0) part[2 * n - 1] = 0;
    for (int left = 1; left <= n; left *= 2) {{
        step >>= 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < left) {{
            int low = step * (2 * i + 1) - 1, high = step * (2 * i + 2) - 1, kept = part[low];
            part[low] = part[high];
            part[high] += kept;
        }}
    }}
    barrier(CLK_LOCAL_MEM_FENCE);
    out[first + 2 * i] = part[2 * i];
    out[first + 2 * i + 1] = part[2 * i + 1];
}}
__kernel void rotate_by(__global int *data, __local int *part, int times) {{
    int i = get_local_id(0), n = get_local_size(0), value = data[get_global_id(0)], seen = 0;
    for (int k = 0; k < times; k++) {{
        part[i] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
        value = part[(i + 1) % n];
        seen += value;
        barrier(CLK_LOCAL_MEM_FENCE);
    }}
    data[get_global_id(0)] = seen;
}}
__kernel void many(__global int *data, __local int *part) {{
    int i = get_local_id(0), n = get_local_size(0), value = data[get_global_id(0)];
    {"part[i] = value; barrier(1); value = part[(i + 1) % n]; barrier(1);" * MANY}
    data[get_global_id(0)] = value;
}}
__kernel void keeps_much(__global float16 *data, __global float16 *more, __local int *part) {{
    size_t i = get_global_id(0);
    float16 a = sqrt(data[i]), b = sqrt(data[i + 1024]), c = sqrt(data[i + 2048]);
    part[get_local_id(0)] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    more[i] = a + b * c + part[0];
}}
__kernel void some_wait(__global int *data, __local int *part) {{
    int i = get_local_id(0), before = data[i] * 3;
    part[i] = before;
    if (data[i] > 0) barrier(CLK_LOCAL_MEM_FENCE);
    data[get_global_id(0)] = before + part[i ^ 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[get_global_id(0)] += before;
}}
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.mark.parametrize("width", [None, 1, 4, 8])
@pytest.mark.parametrize("size", [1, 8, 64, 256])
def test_tree_over_local_memory(program: Program, size: int, width: int | None) -> None:
    given, out = np.arange(4 * size, dtype=np.float32), np.zeros(4, np.float32)
    local = Local(4 * size)
    run(program, "tree", (4, 1, 1), (size, 1, 1), given, out, local, width=width)
    assert np.array_equal(out, given.reshape(4, size).sum(axis=1))


@pytest.mark.parametrize("width", [None, 1, 4, 8])
@pytest.mark.parametrize("size", [1, 8, 60, 256])
def test_scan_over_local_memory(program: Program, size: int, width: int | None) -> None:
    given, out = np.arange(4 * size, dtype=np.int32) % 100, np.zeros(4 * size, np.int32)
    local = Local(4 * size)
    run(program, "scan", (4, 1, 1), (size, 1, 1), given, out, local, width=width)
    assert np.array_equal(out, given.reshape(4, size).cumsum(axis=1).ravel())


@pytest.mark.parametrize("width", [None, 1, 8])
@pytest.mark.parametrize("size", [8, 64, 256])
def test_sweeps_over_local_memory(program: Program, size: int, width: int | None) -> None:
    given, out = np.arange(4 * size, dtype=np.int32) % 100, np.zeros(4 * size, np.int32)
    run(program, "sweep", (2, 1, 1), (size, 1, 1), given, out, Local(8 * size), width=width)
    rows = given.reshape(2, 2 * size)
    assert np.array_equal(out, (rows.cumsum(axis=1) - rows).ravel())


@pytest.mark.parametrize("times", [0, 1, 5])
def test_values_cross_barriers_in_a_loop(program: Program, times: int) -> None:
    given = np.arange(128, dtype=np.int32) ** 2
    data = given.copy()
    run(program, "rotate_by", (2, 1, 1), (64, 1, 1), data, Local(256), np.int32(times))
    rows = given.reshape(2, 64)
    expected = sum((np.roll(rows, -k - 1, axis=1) for k in range(times)), 0 * rows)
    assert np.array_equal(data, expected.ravel())


def test_very_many_barriers_share_one_loop(program: Program) -> None:
    data = np.arange(64, dtype=np.int32)
    run(program, "many", (1, 1, 1), (64, 1, 1), data, Local(256))
    assert np.array_equal(data, np.roll(np.arange(64), -MANY))
    assert "%from = phi" in program.write("many", (64, 1, 1)).text
    assert "%from = phi" not in program.write("tree", (64, 1, 1)).text


def test_what_is_kept_lies_on_the_stack_if_small(program: Program) -> None:
    assert program.write("scan", (64, 1, 1)).saved_bytes == 0
    assert program.write("keeps_much", (256, 1, 1)).saved_bytes > 0


def test_much_is_kept_over_a_barrier(program: Program) -> None:
    data = (np.arange(3 * 16 * 1024, dtype=np.float32) % 16) ** 2
    more = np.zeros(16 * 1024, np.float32)
    run(program, "keeps_much", (4, 1, 1), (256, 1, 1), data, more, Local(1024))
    a, b, c = np.sqrt(data).reshape(3, -1)
    assert np.array_equal(more, a + b * c + 1)


def test_known_steps_are_unrolled(program: Program) -> None:
    assert "llvm.loop.unroll.full" in program.write("tree", (64, 1, 1)).text
    assert "llvm.loop.unroll.full" not in program.write("rotate_by", (64, 1, 1)).text


def test_large_groups_that_gather_much_are_not_unrolled(program: Program) -> None:
    for size, unrolled in ((32, True), (256, False)):
        text = program.write("sweep", (size, 1, 1), 8).text
        assert ("llvm.loop.unroll.full" in text) == unrolled


def test_subgroups_that_do_not_meet_end(program: Program) -> None:
    """A program must not do this; what it computes is its own affair, but it ends."""
    data = np.where(np.arange(64) < 32, 1, 0).astype(np.int32)
    run(program, "some_wait", (1, 1, 1), (64, 1, 1), data, Local(256), width=8)
