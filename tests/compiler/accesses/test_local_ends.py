"""Masked stores to local memory, whose inactive lanes may lie behind it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.target.host import host
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
__kernel void ends(__global const int *from, __global int *to, __local int *line) {
    int i = get_local_id(0), at = get_global_id(0), far = from[0] % 2 ? 5000 : 4000;
    line[i] = from[at];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = -far; step <= far; step += far) {
        int mine = line[i];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i + step >= 0 && i + step < 96) line[i + step] = mine * 3;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i >= 7) line[i - 7] = mine + i;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    to[at] = line[i];
}
"""
LOCAL_ARGUMENTS = ("shifted", "ends")
START = re.compile(r"icmp uge ptr %\w+, %local\n")
CHOICE = re.compile(r"getelementptr i8, ptr %local\.end, i64 -")


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
def test_end_is_looked_at_only_where_a_lane_may_lie_behind(name: str, looks: int) -> None:
    text = Program(compile_opencl(SOURCE), target=AVX512).write(name, (GROUP, 1, 1), 16).text
    assert len(CHOICE.findall(text)) == looks


@pytest.mark.parametrize(("name", "looks"), [("shifted", 1), ("sorted", 2), ("inside", 1)])
def test_blend_without_mask_registers_looks_at_both_ends(name: str, looks: int) -> None:
    text = Program(compile_opencl(SOURCE), target=AVX2).write(name, (GROUP, 1, 1), 16).text
    assert "call void @llvm.masked.store" not in text
    assert len(CHOICE.findall(text)) == len(START.findall(text)) == looks


def avx2_program() -> Program:
    if host().lanes < AVX2.lanes:
        pytest.skip("shorter registers")
    return Program(compile_opencl(SOURCE), target=AVX2)


@pytest.mark.parametrize("name", ["shifted", "sorted", "inside", "ends"])
def test_blends_write_active_lanes_alone(name: str) -> None:
    start = given()
    found, expected = np.zeros_like(start), np.zeros_like(start)
    local = (Local(4 * GROUP),) if name in LOCAL_ARGUMENTS else ()
    size = ((GROUPS, 1, 1), (GROUP, 1, 1))
    run(avx2_program(), name, *size, start, found, *local, width=16)
    run(program_of(SOURCE), name, *size, start, expected, *local, width=4)
    assert (found == expected).all()
    assert expected.any()
