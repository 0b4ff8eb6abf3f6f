"""Atomic operations on local memory: plain accesses, in the order of the work-items."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from groundstate.compiler.program import Program
from tests.compiler.runner import program_of, run

WIDTHS = (1, 4, 8, 16, 32, None)
ITEMS, GROUP, PLACES = 192, 48, 20
KINDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda old, by: old + by,
    "sub": lambda old, by: old - by,
    "xchg": lambda old, by: by,
    "min": min,
    "max": max,
    "and": lambda old, by: old & by,
    "or": lambda old, by: old | by,
    "xor": lambda old, by: old ^ by,
}
SOURCE = """
__kernel void exchanged(__global const uint *at, __global const int *by, __global int *left,
                        __global int *found) {
    __local int places[20];
    size_t i = get_global_id(0), mine = get_local_id(0);
    if (mine < 20) places[mine] = (int)mine % 3;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i % 5 != 3) found[i] = atomic_cmpxchg(&places[at[i]], 1, by[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (mine < 20) left[get_group_id(0) * 20 + mine] = places[mine];
}
__kernel void histogram(__global const uint *at, __global uint *counts) {
    __local uint places[20];
    size_t mine = get_local_id(0);
    if (mine < 20) places[mine] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&places[at[get_global_id(0)]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (mine < 20) counts[get_group_id(0) * 20 + mine] = places[mine];
}
__kernel void own_place(__global uint *counts) {
    __local uint places[256];
    places[get_local_id(0)] = 5;
    atomic_inc(&places[get_local_id(0)]);
    counts[get_global_id(0)] = places[get_local_id(0)];
}
__kernel void listed(__global const int *by, __global int *list, __global int *counts) {
    __local int count, sum;
    size_t i = get_global_id(0), first = get_group_id(0) * get_local_size(0);
    count = sum = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (by[i] > 0) list[first + atomic_inc(&count)] = by[i];
    atomic_add(&sum, by[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    counts[2 * get_group_id(0)] = count;
    counts[2 * get_group_id(0) + 1] = sum;
}
__kernel void ordered(__global const int *by, __global int *sums) {
    __local atomic_int sum;
    if (get_local_id(0) == 0) atomic_init(&sum, 0);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_fetch_add(&sum, by[get_global_id(0)] * (int)(get_local_id(0) & 1));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) sums[get_group_id(0)] = atomic_load(&sum);
}
__kernel void float_sum(__global const uint *at, __global const float *by, __global float *left) {
    __local uint places[20];
    size_t i = get_global_id(0), mine = get_local_id(0);
    if (mine < 20) places[mine] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint old = places[at[i]], seen;
    while ((seen = atomic_cmpxchg(&places[at[i]], old, as_uint(as_float(old) + by[i]))) != old)
        old = seen;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (mine < 20) left[get_group_id(0) * 20 + mine] = as_float(places[mine]);
}
""" + "".join(
    f"""
__kernel void {kind}(__global const uint *at, __global const int *by, __global int *left,
                     __global int *found) {{
    __local int places[20];
    size_t i = get_global_id(0), mine = get_local_id(0);
    if (mine < 20) places[mine] = 5 * (int)mine - 31;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i % 5 != 3) found[i] = atomic_{kind}(&places[at[i]], by[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (mine < 20) left[get_group_id(0) * 20 + mine] = places[mine];
}}
"""
    for kind in KINDS
)


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def launch(program: Program, name: str, width: int | None, *arguments: object) -> None:
    run(program, name, (ITEMS // GROUP, 1, 1), (GROUP, 1, 1), *arguments, width=width)


def given() -> tuple[np.ndarray, np.ndarray]:
    """Places, many of them several times in a vector, and numbers."""
    chance = np.random.default_rng(6)
    at = (chance.random(ITEMS) ** 2 * PLACES).astype(np.uint32)
    return at, chance.integers(-100, 100, ITEMS).astype(np.int32)


def in_turn(
    start: Callable[[int], int], change: Callable[[int, int], int]
) -> tuple[np.ndarray, np.ndarray]:
    """What is left in the places of each group, and what each work-item found, one by one."""
    at, by = given()
    left = np.array([[start(place) for place in range(PLACES)]] * (ITEMS // GROUP), np.int32)
    found = np.full(ITEMS, 77, np.int32)
    for i in range(ITEMS):
        if i % 5 != 3:
            found[i] = left[i // GROUP, at[i]]
            left[i // GROUP, at[i]] = change(int(found[i]), int(by[i]))
    return left, found


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", [*KINDS, "exchanged"])
def test_work_items_find_what_others_left(program: Program, kind: str, width: int | None) -> None:
    if kind == "exchanged":
        wanted = in_turn(lambda place: place % 3, lambda old, by: by if old == 1 else old)
    else:
        wanted = in_turn(lambda place: 5 * place - 31, KINDS[kind])
    left, found = np.zeros_like(wanted[0]), np.full(ITEMS, 77, np.int32)
    launch(program, kind, width, *given(), left, found)
    np.testing.assert_array_equal(left, wanted[0])
    np.testing.assert_array_equal(found, wanted[1])


@pytest.mark.parametrize("width", WIDTHS)
def test_histogram_counts_each_once(program: Program, width: int | None) -> None:
    at, _ = given()
    counts = np.zeros((ITEMS // GROUP, PLACES), np.uint32)
    launch(program, "histogram", width, at, counts)
    wanted = [np.bincount(part, minlength=PLACES) for part in at.reshape(-1, GROUP)]
    np.testing.assert_array_equal(counts, wanted)


@pytest.mark.parametrize("width", WIDTHS)
def test_counter_gives_each_a_place(program: Program, width: int | None) -> None:
    _, by = given()
    listed, counts = np.zeros(ITEMS, np.int32), np.zeros((ITEMS // GROUP, 2), np.int32)
    launch(program, "listed", width, by, listed, counts)
    for group, part in enumerate(by.reshape(-1, GROUP)):
        kept = part[part > 0]
        assert counts[group].tolist() == [len(kept), part.sum()]
        np.testing.assert_array_equal(listed[group * GROUP :][: len(kept)], kept)


@pytest.mark.parametrize("width", WIDTHS)
def test_sequentially_consistent_sum(program: Program, width: int | None) -> None:
    _, by = given()
    sums = np.zeros(ITEMS // GROUP, np.int32)
    launch(program, "ordered", width, by, sums)
    np.testing.assert_array_equal(sums, by.reshape(-1, GROUP)[:, 1::2].sum(axis=1))


@pytest.mark.parametrize("width", WIDTHS)
def test_float_sum_by_exchange(program: Program, width: int | None) -> None:
    at, by = given()
    left = np.zeros((ITEMS // GROUP, PLACES), np.float32)
    launch(program, "float_sum", width, at, by.astype(np.float32), left)
    parts = zip(at.reshape(-1, GROUP), by.reshape(-1, GROUP), strict=True)
    wanted = [np.bincount(places, numbers, PLACES) for places, numbers in parts]
    np.testing.assert_array_equal(left, wanted)


@pytest.mark.parametrize("name", ["add", "histogram", "exchanged", "listed", "ordered"])
@pytest.mark.parametrize("width", [1, 8])
def test_no_locked_instruction(program: Program, name: str, width: int) -> None:
    text = program.write(name, (GROUP, 1, 1), width).text
    assert "atomicrmw" not in text
    assert "cmpxchg" not in text


@pytest.mark.parametrize("width", [None, 8])
def test_each_counts_in_its_own_place(program: Program, width: int | None) -> None:
    counts = np.zeros(ITEMS, np.uint32)
    launch(program, "own_place", width, counts)
    assert np.all(counts == 6)


@pytest.mark.parametrize(("name", "kept"), [("histogram", True), ("own_place", False)])
def test_addresses_that_differ_at_will_go_through_memory(
    program: Program, name: str, kept: bool
) -> None:
    text = program.write(name, (GROUP, 1, 1), 8).text
    assert ("load volatile ptr" in text) == kept
