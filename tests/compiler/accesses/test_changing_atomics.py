"""Atomic operations that read first, and lanes that take turns."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.program import Program
from tests.compiler.runner import program_of, run

BITS = 9
WIDTHS = (1, 4, 8, 16, 32, None)
ITEMS, GROUP = 240, 48
KINDS = {"min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or}
TYPES = {"int": np.int32, "uint": np.uint32}

SOURCE = """
__kernel void build(__global const uint *keys, volatile __global uint *table, int bits) {
    uint key = keys[get_global_id(0)], mask = (1u << bits) - 1;
    uint slot = (key * 2654435761u) >> (32 - bits);
    while (1) {
        uint before = atomic_cmpxchg(&table[slot], 0u, key);
        if (before == 0 || before == key) break;
        slot = (slot + 1) & mask;
    }
}
__kernel void exchanged(__global const uint *at, volatile __global uint *places, uint expected,
                        __global uint *found) {
    size_t i = get_global_id(0);
    if (i % 3 != 1) found[i] = atomic_cmpxchg(&places[at[i]], expected, (uint)i);
}
__kernel void exchanged_one(volatile __global uint *place, uint expected, __global uint *found) {
    size_t i = get_global_id(0);
    found[i] = atomic_cmpxchg(place, expected, (uint)i + 100);
}
__kernel void float_sum(__global const uint *at, __global const float *by,
                        volatile __global uint *sums) {
    size_t i = get_global_id(0);
    volatile __global uint *place = &sums[at[i]];
    uint old = *place, seen;
    while ((seen = atomic_cmpxchg(place, old, as_uint(as_float(old) + by[i]))) != old) old = seen;
}
__kernel void in_order(__global const uint *at, volatile __global atomic_uint *places) {
    uint expected = 0;
    atomic_compare_exchange_strong(&places[at[get_global_id(0)]], &expected, 7u);
}
""" + "".join(
    f"""
__kernel void {kind}_{type_}(__global const uint *at, __global const {type_} *by,
                             volatile __global {type_} *out, __global {type_} *found) {{
    size_t i = get_global_id(0);
    if (i % 5 != 3) found[i] = atomic_{kind}(&out[at[i]], by[i]);
}}
"""
    for kind in KINDS
    for type_ in TYPES
)


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def launch(program: Program, name: str, width: int | None, *arguments: object) -> None:
    run(program, name, (ITEMS // GROUP, 1, 1), (GROUP, 1, 1), *arguments, width=width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("different", [ITEMS, 30])
def test_hash_table_has_each_key_once(program: Program, width: int | None, different: int) -> None:
    keys = np.random.default_rng(different).permutation(1 << 20)[:different].astype(np.uint32) + 1
    given = np.resize(keys, ITEMS).astype(np.uint32)
    table = np.zeros(1 << BITS, np.uint32)
    launch(program, "build", width, given, table, np.int32(BITS))
    assert sorted(table[table != 0].tolist()) == sorted(keys.tolist())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["exchanged", "exchanged_one"])
def test_exchange_finds_what_lanes_before_left(
    program: Program, name: str, width: int | None
) -> None:
    """Work-items run in order here, so each result is known."""
    chance = np.random.default_rng(4)
    at = chance.integers(0, 60, ITEMS).astype(np.uint32)
    places = chance.choice([5, 9], 60).astype(np.uint32)
    found, expected, after = np.full(ITEMS, 77, np.uint32), np.full(ITEMS, 77), places.copy()
    for i in range(ITEMS):
        if name == "exchanged" and i % 3 == 1:
            continue
        place, new = (at[i], i) if name == "exchanged" else (0, i + 100)
        expected[i] = after[place]
        after[place] = new if after[place] == 5 else after[place]
    arguments = [at] if name == "exchanged" else []
    launch(program, name, width, *arguments, places, np.uint32(5), found)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(places, after)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("places", [1, 7, 1000])
def test_float_sums_by_exchange(program: Program, width: int | None, places: int) -> None:
    chance = np.random.default_rng(places)
    at = chance.integers(0, places, ITEMS).astype(np.uint32)
    by = chance.integers(0, 100, ITEMS).astype(np.float32)
    sums = np.zeros(places, np.float32)
    launch(program, "float_sum", width, at, by, sums.view(np.uint32))
    np.testing.assert_array_equal(sums, np.bincount(at, by, places).astype(np.float32))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_results_of_operations_that_may_change_nothing(
    program: Program, kind: str, type_: str, width: int | None
) -> None:
    chance = np.random.default_rng(9)
    info = np.iinfo(TYPES[type_])
    at = chance.integers(0, 40, ITEMS).astype(np.uint32)
    by = chance.integers(info.min, info.max, ITEMS, dtype=TYPES[type_])
    out = chance.integers(info.min, info.max, 40, dtype=TYPES[type_])
    found, start = np.zeros_like(by), out.copy()
    launch(program, f"{kind}_{type_}", width, at, by, out, found)
    active = np.arange(ITEMS) % 5 != 3
    assert not found[~active].any()
    for place in range(40):
        mine = active & (at == place)
        turns = list(zip(found[mine].tolist(), by[mine].tolist(), strict=True))
        assert _in_some_order(KINDS[kind], start[place], turns) == out[place]


def _in_some_order(combine: np.ufunc, value: np.integer, turns: list[tuple[int, int]]) -> int:
    """What is left after operations that found some values, if there is an order for them."""
    now, number = int(value), value.dtype.type
    while turns:
        here = [turn for turn in turns if turn[0] == now]
        assert here, "nobody found what was there"
        results = [int(combine(number(now), number(by))) for _, by in here]
        changing = [result for result in results if result != now]
        assert len(changing) <= 1, "two changed the same"
        turns = [turn for turn in turns if turn[0] != now]
        assert changing or not turns, "nobody went on"
        now = (changing or [now])[0]
    return now


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("build", True),
        ("min_int", True),
        ("float_sum", False),  # it compares with what it has just read
        ("in_order", False),  # others rely on its order
    ],
)
def test_which_operations_read_first(program: Program, name: str, reads: bool) -> None:
    text = program.write(name, (GROUP, 1, 1), 1).text
    assert ("load atomic" in text) == reads
