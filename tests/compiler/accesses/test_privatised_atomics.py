"""Atomic operations that are put together before they go to memory, and those that must not be."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.codegen.memory.privatised_atomics import (
    privatised_atomics,
    unwanted_results,
)
from groundstate.compiler.program import Program
from groundstate.compiler.target import ANY_CPU
from tests.compiler.runner import program_of, run

GROUP = 100
"""Not a whole number of sub-groups, so that some lanes are not there."""
FEW, MANY = 300, 20_000
"""Work-items of a launch that has no table, and of one that has."""
LINE = ANY_CPU.cache_line_bytes // 4
CELLS = LINE * (MANY // ANY_CPU.privatised_items_per_line)
"""About as many as the table of such a launch has room for."""

OPERATIONS = {
    "add": np.add,
    "sub": np.subtract,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
TYPES = {"int": np.int32, "uint": np.uint32, "long": np.int64, "ulong": np.uint64}


def _spread(operation: str, type_: str) -> str:
    prefix = "atomic_fetch_"
    return f"""
__kernel void {operation}_{type_}(__global const int *at, __global const {type_} *by,
                                  __global atomic_{type_} *out) {{
    size_t i = get_global_id(0);
    {prefix}{operation}_explicit(&out[at[i]], by[i], memory_order_relaxed, memory_scope_device);
}}
__kernel void one_{operation}_{type_}(__global const {type_} *by, __global atomic_{type_} *out) {{
    {type_} mine = by[get_global_id(0)];
    if (mine & 4)
        {prefix}{operation}_explicit(out, mine, memory_order_relaxed, memory_scope_device);
}}
"""


SOURCE = "".join(_spread(operation, type_) for operation in OPERATIONS for type_ in TYPES)


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    ("items", "cells"),
    [
        (FEW, 40),
        (MANY, 40),
        (MANY, CELLS),  # some lines are replaced
        (MANY, 8 * CELLS),  # so many that a worker does without the table
    ],
)
def test_each_cell_gets_all_that_is_meant_for_it(
    program: Program, operation: str, type_: str, items: int, cells: int
) -> None:
    numbers = np.random.default_rng(items + cells)
    at = numbers.integers(0, cells, items, dtype=np.int32)
    info = np.iinfo(TYPES[type_])
    by = numbers.integers(info.min, info.max, items, dtype=TYPES[type_])
    out = numbers.integers(info.min, info.max, cells, dtype=TYPES[type_])
    expected = out.copy()
    OPERATIONS[operation].at(expected, at, by)
    run(program, f"{operation}_{type_}", (items // GROUP, 1, 1), (GROUP, 1, 1), at, by, out)
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_lanes_that_mean_one_address(program: Program, operation: str, type_: str) -> None:
    numbers = np.random.default_rng(5)
    info = np.iinfo(TYPES[type_])
    by = numbers.integers(info.min, info.max, MANY, dtype=TYPES[type_])
    out = numbers.integers(info.min, info.max, 1, dtype=TYPES[type_])
    expected = reduce(OPERATIONS[operation], by[by & TYPES[type_](4) != 0], out[0])
    run(program, f"one_{operation}_{type_}", (MANY // GROUP, 1, 1), (GROUP, 1, 1), by, out)
    assert out[0] == expected


RULES = """
#define ADD(p, v) atomic_fetch_add_explicit(p, v, memory_order_relaxed, memory_scope_device)
#define I get_global_id(0)
typedef __global atomic_int *counters;

__kernel void last(counters c, __global int *n) { ADD(&c[n[I]], 1); }
__kernel void twice(counters c, __global int *n) { ADD(&c[n[I]], 1); ADD(&c[n[I] + 1], -1); }
__kernel void chosen(counters c, __global int *n) { if (n[I] > 3) ADD(&c[n[I]], 1); }
__kernel void both_ways(counters c, __global int *n) {
    int k = n[I];
    if (k > 3) ADD(&c[k], 1);
    else atomic_fetch_sub_explicit(&c[k + 8], k, memory_order_relaxed, memory_scope_device);
}
__kernel void counted(counters c, __global int *n) {
    int k = n[I];
    for (int i = 0; i < k; i++) ADD(&c[i], i);
}
__kernel void in_order(counters c, __global int *n) { atomic_fetch_add(&c[n[I]], 1); }
__kernel void behind_a_barrier(counters c, __global int *n, __local int *room) {
    room[get_local_id(0)] = n[I];
    barrier(CLK_LOCAL_MEM_FENCE);
    ADD(&c[room[get_local_size(0) - 1 - get_local_id(0)]], 1);
}

__kernel void wanted(counters c, __global int *n) { n[I] = ADD(&c[n[I]], 1); }
__kernel void read_later(counters c, __global int *n) {
    int k = n[I];
    ADD(&c[k], 1);
    n[I] = k + 1;
}
__kernel void ordered_and_more(counters c, __global int *n) {
    int k = n[I];
    atomic_fetch_add(&c[k], 1);
    atomic_fetch_add(&c[k + 1], 1);
}
__kernel void two_kinds(counters c, __global int *n) {
    int k = n[I];
    ADD(&c[k], 1);
    atomic_fetch_max_explicit(&c[k], 100, memory_order_relaxed, memory_scope_device);
}
__kernel void before_a_barrier(counters c, __global int *n) {
    ADD(&c[n[I]], 1);
    barrier(CLK_GLOBAL_MEM_FENCE);
}
__kernel void before_a_fence(counters c, __global int *n) {
    ADD(&c[n[I]], 1);
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_release, memory_scope_device);
}
__kernel void read_in_a_loop(counters c, __global int *n, int rounds) {
    for (int i = 0; i < rounds; i++) ADD(&c[n[I + i]], 1);
}
__kernel void in_local_memory(__local atomic_int *c, __global int *n) { ADD(&c[n[I]], 1); }
"""

WAITING = {
    "last": 1,
    "twice": 0,  # reads n again behind the first
    "chosen": 1,
    "both_ways": 2,
    "counted": 1,
    "in_order": 1,
    "behind_a_barrier": 1,
    "wanted": 0,
    "read_later": 0,
    "ordered_and_more": 0,
    "two_kinds": 0,
    "before_a_barrier": 0,
    "before_a_fence": 0,
    "read_in_a_loop": 0,
    "in_local_memory": 0,
}


@pytest.fixture(scope="module")
def rules() -> Program:
    return program_of(RULES)


@pytest.mark.parametrize("name", WAITING)
def test_what_may_wait(rules: Program, name: str) -> None:
    kernel = rules.kernel(name)
    found = privatised_atomics(kernel, CFG(kernel), unwanted_results(kernel))
    assert len(found) == WAITING[name]


@pytest.mark.parametrize("lanes", [1, None])
@pytest.mark.parametrize("name", ["last", "chosen", "both_ways", "counted"])
def test_results_are_those_of_one_lane(rules: Program, name: str, lanes: int | None) -> None:
    n = (np.arange(MANY) * 7 % 30).astype(np.int32)
    out = np.zeros(64, np.int32)
    expected = np.zeros(64, np.int32)
    for k in n.tolist():
        if name == "counted":
            expected[:k] += np.arange(k, dtype=np.int32)
        elif name == "last" or k > 3:
            expected[k] += 1
        elif name == "both_ways":
            expected[k + 8] -= k
    run(rules, name, (MANY // GROUP, 1, 1), (GROUP, 1, 1), out, n, width=lanes)
    assert np.array_equal(out, expected)
