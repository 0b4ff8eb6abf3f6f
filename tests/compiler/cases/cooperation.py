"""Kernels whose work-items work together: barriers, atomics, sub-groups, work-groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compiler.cases.case import FLOAT, INT, LONG, UINT, N, case
from tests.compiler.kernels import (
    Argument,
    Array,
    Local,
    given,
    int_,
    random,
    zeros,
)

# --- barriers.cl ----------------------------------------------------------------------------------

for group in (1, 7, 64, 100):
    case("barriers", "reverse_group", [random("i4", group * 9), Local(4)], group * 9, group)
case(
    "barriers",
    "tree_reduce",
    [random("i4", N, -1000, 1000), zeros("i4", N // 128), Local(4)],
    N,
    128,
    expect=lambda a, out, shared: {1: a.reshape(-1, 128).sum(axis=1, dtype="i4")},
)
case("barriers", "scan_group", [random("i4", 960), zeros("i4", 960), Local(4), Local(4)], 960, 96)
case(
    "barriers",
    "transpose_tile",
    [FLOAT, zeros("f4", N), int_(64), int_(16)],
    (64, 16),
    (8, 8),
)
case("barriers", "matrix_tiles", [FLOAT, FLOAT, zeros("f4", N), int_(32)], (32, 32), (8, 8))
case("barriers", "blur_halo", [FLOAT, zeros("f4", N)], N, 64, ulp=1)
for mode in (0, 1):
    case("barriers", "barrier_in_branch", [INT, int_(mode)], 960, 48)
case("barriers", "barrier_in_function", [INT, Local(4)], N, 32)
case("barriers", "barrier_with_live_values", [INT, zeros("i4", N), Local(4)], 990, 33)
case(
    "barriers",
    "bitonic_sort",
    [INT, Local(4)],
    N,
    128,
    expect=lambda a, shared: {0: np.sort(a.reshape(-1, 128), axis=1).ravel()},
)
case("barriers", "local_histogram", [random("u1", N), zeros("u4", N // 4)], N, 64)
case("barriers", "async_copies", [FLOAT, zeros("f4", N), Local(4), Local(4)], N, 64)
case("barriers", "choose_local", [INT, int_(7)], N, 64)
case("barriers", "global_barrier", [INT, zeros("i4", N)], N, 64)

# --- atomics.cl, atomics2.cl ----------------------------------------------------------------------

case("atomics", "count", [INT, zeros("i4", 4)], N, 64)
case(
    "atomics",
    "histogram",
    [UINT, zeros("u4", 32)],
    N,
    64,
    expect=lambda a, out: {1: np.bincount(a % 32, minlength=32).astype("u4")},
)
case(
    "atomics",
    "extremes",
    [INT, given("i4", [2**31 - 1, -(2**31)]), given("u4", [2**32 - 1, 0])],
    N,
    64,
    expect=lambda a, s, u: {
        1: np.array([a.min(), a.max()]),
        2: np.array([a.view("u4").min(), a.view("u4").max()]),
    },
)
case("atomics", "masks", [UINT, given("u4", [0, 2**32 - 1, 0])], 64, 16)
case("atomics", "compare_exchange_add", [INT, zeros("i4", 1)], N, 64)
case("atomics", "exchange", [INT, random("f4", N), zeros("i4", 2 * N)], N, 64)
case("atomics", "tickets", [zeros("i4", 1), zeros("i4", N)], N, 64)
case("atomics", "local_counters", [INT, zeros("i4", 2 * N // 64)], N, 64)
case(
    "atomics",
    "wide",
    [LONG, given("i8", [0, 2**63 - 1, -(2**63), 0])],
    N,
    64,
    needs="int64_atomics",
)
case(
    "atomics2",
    "fetch",
    [INT, given("i4", [0, 0, 2**31 - 1, -(2**31)]), given("u4", [0, 0, 2**32 - 1])],
    N,
    64,
    needs="cl2",
)
case("atomics2", "compare_exchange", [INT, zeros("i4", 1)], N, 64, needs="cl2")
case("atomics2", "hand_over", [INT, zeros("i4", N)], N, 64, needs="cl2")
case(
    "atomics2",
    "flags",
    [zeros("i4", 1), zeros("i4", 1)],
    N,
    64,
    needs="cl2",
    expect=lambda flag, winners: {1: np.array([1], "i4")},
)
case(
    "atomics2",
    "float_sum",
    [INT, given("f4", [0, -1, 100])],
    N,
    64,
    needs="cl2 float_atomics",
    expect=lambda a, out: {1: np.array([(a & 15).sum(), 15, 0], "f4")},
)

# --- subgroups.cl, workgroups.cl ------------------------------------------------------------------


def all_equal(place: int, number: int, dtype: str = "i4", count: int = N) -> Any:
    """An expectation: the buffer at `place` holds `number` everywhere."""
    return lambda *arguments: {place: np.full(count, number, dtype)}


case(
    "subgroups",
    "subgroup_sum",
    [random("i4", N, 0, 100), zeros("i4", N // 64)],
    N,
    64,
    needs="subgroups",
    expect=lambda a, out: {1: a.reshape(-1, 64).sum(axis=1, dtype="i4")},
)
case(
    "subgroups",
    "subgroup_extremes",
    [INT, given("i4", [2**31 - 1, -(2**31)])],
    N,
    64,
    needs="subgroups",
    expect=lambda a, out: {1: np.array([a.min(), a.max()])},
)
for name, expected in (("subgroup_scan", 0), ("subgroup_votes", 7), ("subgroup_ids", 7)):
    data: list[Argument] = [zeros("i4", N)] if name == "subgroup_ids" else [INT, zeros("i4", N)]
    case(
        "subgroups",
        name,
        data,
        N,
        64,
        needs="subgroups",
        expect=all_equal(len(data) - 1, expected),
    )
case(
    "subgroups",
    "subgroup_shuffle",
    [random("i4", N, 0, 1000), zeros("i4", N)],
    N,
    64,
    needs="subgroups subgroup_extensions",
    expect=lambda a, out: {1: 2 * a},
)
case(
    "subgroups",
    "subgroup_neighbours",
    [INT, zeros("i4", N)],
    N,
    64,
    needs="subgroups subgroup_extensions",
    expect=all_equal(1, 3),
)
case(
    "subgroups",
    "subgroup_ballot",
    [INT, zeros("i4", N)],
    N,
    64,
    needs="subgroups subgroup_extensions",
    expect=all_equal(1, 15),
)


def odd_and_even(a: Array, out: Array) -> dict[int, Array]:
    """What `subgroup_divergent` counts."""
    odd = a[(a & 1) != 0]
    return {1: np.array([len(odd), np.bitwise_xor.reduce(odd), len(a) - len(odd)], "i4")}


case(
    "subgroups",
    "subgroup_divergent",
    [INT, zeros("i4", 3)],
    N,
    64,
    needs="subgroups subgroup_extensions",
    expect=odd_and_even,
)
case(
    "subgroups",
    "subgroup_clusters",
    [INT, zeros("i4", N)],
    N,
    64,
    needs="subgroups subgroup_extensions",
    expect=lambda a, out: {1: np.repeat(a.reshape(-1, 4).max(axis=1), 4)},
)
case(
    "subgroups",
    "subgroup_float_sum",
    [INT, zeros("f4", N)],
    N,
    64,
    needs="subgroups",
    expect=lambda a, out: {1: (a & 63).astype("f4")},
)
case(
    "workgroups",
    "group_reduce",
    [random("i4", N, -1000, 1000), zeros("i4", 3 * N // 64)],
    N,
    64,
    needs="cl2 collectives",
)
case("workgroups", "group_scan", [INT, zeros("i4", 3 * N)], 1000, 40, needs="cl2 collectives")
case("workgroups", "group_broadcast", [FLOAT, zeros("f4", N)], N, 64, needs="cl2 collectives")
case("workgroups", "group_votes", [INT, zeros("i4", N)], N, 16, needs="cl2 collectives")
case(
    "workgroups",
    "group_scan_in_loop",
    [INT, zeros("i4", N), int_(5)],
    N,
    64,
    needs="cl2 collectives",
)
