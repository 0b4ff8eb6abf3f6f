"""Lanes that add the same number to one place: one instruction, and a turn for each lane."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.program import Program
from tests.compiler.runner import program_of, run

SOURCE = """
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
__kernel void all(__global uint *counter, __global uint *found) {
    found[get_global_id(0)] = atomic_add(counter, 3u);
}
__kernel void some(__global uint *counter, __global uint *found, __global const uchar *active) {
    size_t i = get_global_id(0);
    if (active[i]) found[i] = atomic_inc(counter);
}
__kernel void down(__global uint *counter, __global uint *found, __global const uchar *active) {
    size_t i = get_global_id(0);
    if (active[i]) found[i] = atomic_sub(counter, 5u);
}
__kernel void longs(__global ulong *counter, __global ulong *found, __global const uchar *active) {
    size_t i = get_global_id(0);
    if (active[i]) found[i] = atom_add(counter, 1ul << 40);
}
__kernel void compact(__global uint *counter, __global uint *found, __global const uchar *active) {
    size_t i = get_global_id(0);
    if (active[i]) found[atomic_inc(counter)] = i;
}
__kernel void own(__global uint *counters, __global uint *found, __global const uchar *active) {
    size_t i = get_global_id(0);
    found[i] = atomic_add(counters + (active[i] & 1), 2u);
}
"""
ITEMS, GROUP = 96, 48
WIDTHS = (1, 4, 8, 16, 32, None)
PATTERNS = {
    "none": np.zeros(ITEMS),
    "all": np.ones(ITEMS),
    "first": np.arange(ITEMS) == 0,
    "last": np.arange(ITEMS) == ITEMS - 1,
    "odd": np.arange(ITEMS) % 2,
    "random": np.random.default_rng(3).random(ITEMS) < 0.4,
}


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def launch(program: Program, name: str, width: int | None, *arguments: object) -> None:
    run(program, name, (ITEMS // GROUP, 1, 1), (GROUP, 1, 1), *arguments, width=width)


@pytest.mark.parametrize("width", WIDTHS)
def test_all_lanes_add(program: Program, width: int | None) -> None:
    counter, found = np.full(1, 7, np.uint32), np.zeros(ITEMS, np.uint32)
    launch(program, "all", width, counter, found)
    assert counter[0] == 7 + 3 * ITEMS
    np.testing.assert_array_equal(found, 7 + 3 * np.arange(ITEMS))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(
    ("name", "kind", "step"), [("some", "u4", 1), ("down", "u4", -5), ("longs", "u8", 1 << 40)]
)
def test_active_lanes_take_turns(
    program: Program, name: str, kind: str, step: int, pattern: str, width: int | None
) -> None:
    active = PATTERNS[pattern].astype(np.uint8)
    counter, found = np.full(1, 3, kind), np.zeros(ITEMS, kind)
    launch(program, name, width, counter, found, active)
    turns = 3 + step * (np.cumsum(active, dtype=np.int64) - active)
    assert counter[0] == np.int64(3 + step * int(active.sum())).astype(kind)
    np.testing.assert_array_equal(found, np.where(active, turns.astype(kind), 0))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_stream_compaction(program: Program, pattern: str, width: int | None) -> None:
    active = PATTERNS[pattern].astype(np.uint8)
    counter, found = np.zeros(1, np.uint32), np.zeros(ITEMS, np.uint32)
    launch(program, "compact", width, counter, found, active)
    (expected,) = np.nonzero(active)
    np.testing.assert_array_equal(found[: counter[0]], expected)


@pytest.mark.parametrize("width", WIDTHS)
def test_other_addresses_stay_apart(program: Program, width: int | None) -> None:
    active = PATTERNS["random"].astype(np.uint8)
    counters, found = np.zeros(2, np.uint32), np.zeros(ITEMS, np.uint32)
    launch(program, "own", width, counters, found, active)
    np.testing.assert_array_equal(counters, 2 * np.bincount(active, minlength=2))


def test_counter_takes_one_instruction(program: Program) -> None:
    text = program.write("some", (GROUP, 1, 1), 16).text
    assert text.count("atomicrmw") in (1, 2)  # 2: all lanes also have a path of their own
