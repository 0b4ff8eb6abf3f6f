"""Lanes that store to one place: what the last active one stores stays."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.program import Program
from tests.compiler.runner import program_of, run

GROUP = 64
SOURCE = """
__kernel void some_lanes(__global const int *chosen, __global int *to, __global uchar *bytes) {
    __local int last;
    uint i = get_local_id(0);
    last = -1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (chosen[get_global_id(0)]) {
        last = i;
        to[get_group_id(0) * 2] = 1000 * get_group_id(0) + i;
        bytes[get_group_id(0)] = i;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i == 0) to[get_group_id(0) * 2 + 1] = last;
}
__kernel void all_lanes(__global float2 *to) {
    uint i = get_local_id(0);
    to[get_group_id(0)] = (float2)(i, i * i);
}
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.mark.parametrize("width", [1, 4, 16, None])
@pytest.mark.parametrize("lanes", [[0], [15], [16], [3, 5], [40, 2], [63], list(range(64)), []])
def test_last_active_lane_that_stores_to_a_place_stays(
    program: Program, width: int | None, lanes: list[int]
) -> None:
    chosen, to = np.zeros((3, GROUP), np.int32), np.full((3, 2), -7, np.int32)
    chosen[:, lanes] = 1
    chosen[1] = 0
    written = np.full(3, 255, np.uint8)
    groups, size = (3, 1, 1), (GROUP, 1, 1)
    run(program, "some_lanes", groups, size, chosen, to, written, width=width)
    last = max(lanes, default=-1)
    assert to[:, 1].tolist() == [last, -1, last]
    assert to[:, 0].tolist() == ([last, -7, 2000 + last] if lanes else [-7, -7, -7])
    assert written.tolist() == ([last, 255, last] if lanes else [255, 255, 255])


@pytest.mark.parametrize("width", [1, 8, None])
def test_last_of_all_lanes_stays(program: Program, width: int | None) -> None:
    to = np.zeros((3, 2), np.float32)
    run(program, "all_lanes", (2, 1, 1), (GROUP, 1, 1), to, width=width)
    assert to.tolist() == [[63, 63 * 63], [63, 63 * 63], [0, 0]]
