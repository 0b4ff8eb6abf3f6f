"""Masked stores to local memory, whose inactive lanes may lie behind it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.target.x86 import AVX2, AVX512
from tests.compiler.runner import Local, program_of, run

WIDTHS = (1, 4, 8, 16, 32, None)
GROUP, GROUPS = 96, 3
SOURCE = """
__kernel void shifted(__global const int *from, __global int *to, __local int *line) {
    int i = get_local_id(0), n = get_local_size(0), at = get_global_id(0);
    line[i] = from[at];
    barrier(CLK_LOCAL_MEM_FENCE);
    int mine = line[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i + 1 < n && mine % 3) line[i + 1] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    to[at] = line[i];
}
__kernel void sorted(__global const int *from, __global int *to) {
    __local int line[96];
    int i = get_local_id(0), at = get_global_id(0);
    line[i] = from[at];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 0; step < 96; step++) {
        if ((i & 1) == (step & 1) && i + 1 < 96) {
            int mine = line[i], next = line[i + 1];
            if (mine > next) { line[i] = next; line[i + 1] = mine; }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    to[at] = line[i];
}
__kernel void inside(__global const int *from, __global int *to) {
    __local int line[96];
    int i = get_local_id(0), at = get_global_id(0);
    line[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (from[at] % 3) line[i] = from[at];
    barrier(CLK_LOCAL_MEM_FENCE);
    to[at] = line[95 - i];
}
__kernel void halved(__global const int *from, __global int *to, __local int *line) {
    int i = get_local_id(0), at = get_global_id(0);
    line[i] = from[at];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < 48) line[i] += line[i + 48];
    barrier(CLK_LOCAL_MEM_FENCE);
    to[at] = line[i];
}
"""
CHOICE = re.compile(r"icmp ule ptr %\w+, %local\.end")


def given() -> np.ndarray:
    return np.random.default_rng(5).integers(0, 1000, (GROUPS, GROUP)).astype(np.int32)


@pytest.mark.parametrize("width", WIDTHS)
def test_last_lane_behind_local_memory_leaves_it_alone(width: int | None) -> None:
    start = given()
    found, expected = np.zeros_like(start), start.copy()
    expected[:, 1:] = np.where(start[:, :-1] % 3 != 0, start[:, :-1], start[:, 1:])
    arguments = (start, found, Local(4 * GROUP))
    run(program_of(SOURCE), "shifted", (GROUPS, 1, 1), (GROUP, 1, 1), *arguments, width=width)
    assert (found == expected).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_neighbours_are_exchanged(width: int | None) -> None:
    start = given()
    found = np.zeros_like(start)
    run(program_of(SOURCE), "sorted", (GROUPS, 1, 1), (GROUP, 1, 1), start, found, width=width)
    assert (found == np.sort(start, axis=1)).all()


@pytest.mark.parametrize(
    ("name", "looks"), [("shifted", 1), ("sorted", 1), ("inside", 0), ("halved", 0)]
)
@pytest.mark.parametrize("target", [AVX2, AVX512])
def test_end_is_looked_at_only_where_a_lane_may_lie_behind(
    name: str, looks: int, target: object
) -> None:
    program = Program(compile_opencl(SOURCE), target=target)  # type: ignore[arg-type]
    text = program.write(name, (GROUP, 1, 1), 16).text
    assert len(CHOICE.findall(text)) == looks
