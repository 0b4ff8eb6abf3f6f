"""Inactive lanes touch no memory of their own: not when they load, store, copy or clear."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import DTypeLike, NDArray

from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.target import Target
from groundstate.compiler.target.x86 import AVX2, AVX512
from tests.compiler.runner import program_of, run

ITEMS, GROUP = 128, 64
WIDTHS = (1, 4, 8, 16)
WILD = 1 << 45
"""An index that leads nowhere: who uses it crashes."""
DICE = np.random.default_rng(11)
ACTIVE = DICE.random(ITEMS) < 0.6
PLACES = DICE.permutation(ITEMS).astype(np.int64)
INDICES = np.where(ACTIVE, PLACES, WILD)
TYPES = {
    "char": np.int8,
    "short": np.int16,
    "int": np.int32,
    "float": np.float32,
    "long": np.int64,
    "double": np.float64,
}


def numbers(dtype: DTypeLike, count: int = ITEMS) -> NDArray[np.generic]:
    return DICE.integers(1, 100, count).astype(dtype)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", TYPES)
def test_numbers_at_addresses_of_their_own(kind: str, width: int) -> None:
    program = program_of(
        f"""kernel void move(global {kind} *out, global const {kind} *in, global const long *at,
                             global const uchar *active) {{
            size_t i = get_global_id(0);
            if (active[i]) out[at[i]] = in[at[i]];
        }}"""
    )
    given, out = numbers(TYPES[kind]), np.zeros(ITEMS, TYPES[kind])
    run(
        program,
        "move",
        (ITEMS // GROUP, 1, 1),
        (GROUP, 1, 1),
        out,
        given,
        INDICES,
        ACTIVE.astype(np.uint8),
        width=width,
    )
    expected = np.zeros_like(out)
    expected[PLACES[ACTIVE]] = given[PLACES[ACTIVE]]
    np.testing.assert_array_equal(out, expected)


VECTORS = {
    "char4": (np.int8, 4),
    "uchar8": (np.uint8, 8),
    "short2": (np.int16, 2),
    "ushort4": (np.uint16, 4),
    "int2": (np.int32, 2),
    "float3": (np.float32, 3),
    "float4": (np.float32, 4),
    "long2": (np.int64, 2),
    "double4": (np.float64, 4),
    "float8": (np.float32, 8),
    "int16": (np.int32, 16),
    "double8": (np.float64, 8),
    "ulong16": (np.uint64, 16),
}


@pytest.mark.parametrize("width", [*WIDTHS, 32])
@pytest.mark.parametrize("kind", VECTORS)
def test_vectors_at_addresses_of_their_own(kind: str, width: int) -> None:
    program = program_of(
        f"""kernel void move(global {kind} *out, global const {kind} *in, global const long *at,
                             global const uchar *active) {{
            size_t i = get_global_id(0);
            if (active[i]) out[at[i]] = in[at[i]] + ({kind})(1);
        }}
        kernel void all(global {kind} *out, global const {kind} *in, global const long *at) {{
            size_t i = get_global_id(0);
            out[at[i]] = in[at[i]] + ({kind})(1);
        }}"""
    )
    dtype, count = VECTORS[kind]
    room = 4 if count == 3 else count
    given = numbers(dtype, ITEMS * room).reshape(ITEMS, room)
    out, groups, size = np.zeros_like(given), (ITEMS // GROUP, 1, 1), (GROUP, 1, 1)
    run(program, "move", groups, size, out, given, INDICES, ACTIVE.astype(np.uint8), width=width)
    expected = np.zeros_like(given)
    expected[PLACES[ACTIVE]] = given[PLACES[ACTIVE]] + np.ones(1, dtype)
    np.testing.assert_array_equal(out[:, :count], expected[:, :count])
    run(program, "all", groups, size, out, given, PLACES, width=width)
    np.testing.assert_array_equal(out[:, :count], (given + np.ones(1, dtype))[:, :count])


@pytest.mark.parametrize("target", [AVX2, AVX512])
@pytest.mark.parametrize(("count", "loads"), [(4, 16), (8, 32), (16, 64)])
def test_long_vectors_are_read_four_numbers_at_a_time(
    count: int, loads: int, target: Target
) -> None:
    source = f"""kernel void add(global float *out, global const float{count} *in,
                                 global const int *at) {{
        size_t i = get_global_id(0);
        float{count} all = in[at[i]];
        out[i] = all.s0 + all.s{count - 1:x};
    }}"""
    text = Program(compile_opencl(source), target=target).write("add", (GROUP, 1, 1), 16).text
    assert text.count("load <4 x float>") == loads


@pytest.mark.parametrize("width", [*WIDTHS, 32])
@pytest.mark.parametrize(("kind", "count"), [("uchar", 4), ("short", 3), ("int", 3), ("float", 5)])
def test_neighbours_at_addresses_of_their_own(kind: str, count: int, width: int) -> None:
    sum_ = " + ".join(f"{part + 1} * in[{count} * at[i] + {part}]" for part in range(count))
    program = program_of(
        f"""kernel void sum(global {kind} *out, global const {kind} *in, global const long *at,
                            global const uchar *active) {{
            size_t i = get_global_id(0);
            if (active[i]) out[i] = {sum_};
        }}"""
    )
    dtype = {"uchar": np.uint8, "short": np.int16, "int": np.int32, "float": np.float32}[kind]
    given = numbers(dtype, ITEMS * count).reshape(ITEMS, count)
    out, groups, size = np.zeros(ITEMS, dtype), (ITEMS // GROUP, 1, 1), (GROUP, 1, 1)
    run(program, "sum", groups, size, out, given, INDICES, ACTIVE.astype(np.uint8), width=width)
    sums = (given.astype(np.int64) @ np.arange(1, count + 1)).astype(dtype)[PLACES]
    np.testing.assert_array_equal(out, np.where(ACTIVE, sums, 0))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("floats", [3, 20])
def test_structures_are_copied_by_active_lanes(floats: int, width: int) -> None:
    """Of 12 bytes, and of so many that each lane branches."""
    program = program_of(
        f"""typedef struct {{ float v[{floats}]; }} S;
        kernel void move(global S *out, global const S *in, global const long *at,
                         global const uchar *active) {{
            size_t i = get_global_id(0);
            if (active[i]) out[at[i]] = in[at[i]];
        }}
        kernel void all(global S *out, global const S *in) {{
            S own = in[get_global_id(0)];
            own.v[1] += 1;
            out[get_global_id(0)] = own;
        }}"""
    )
    given = numbers(np.float32, ITEMS * floats).reshape(ITEMS, floats)
    out, groups, size = np.zeros_like(given), (ITEMS // GROUP, 1, 1), (GROUP, 1, 1)
    run(program, "move", groups, size, out, given, INDICES, ACTIVE.astype(np.uint8), width=width)
    expected = np.zeros_like(given)
    expected[PLACES[ACTIVE]] = given[PLACES[ACTIVE]]
    np.testing.assert_array_equal(out, expected)

    run(program, "all", groups, size, out, given, width=width)
    expected = given.copy()
    expected[:, 1] += 1
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("width", WIDTHS)
def test_zero_fill_is_complete_and_spares_others(width: int) -> None:
    """Of private memory, of neighbours in memory, at other steps, and of active lanes only."""
    program = program_of(
        """typedef struct { char v[13]; } S;
        typedef struct { S used; char kept[3]; } Wide;
        constant S zero = {0};
        kernel void clear(global S *out, global Wide *wide, global S *some, global const long *at,
                          global const uchar *active, global int *sums) {
            size_t i = get_global_id(0);
            S own = {0};
            own.v[i % 13] = 5;
            int sum = 0;
            for (int n = 0; n < 13; n++) sum += own.v[n] * (n + 1);
            sums[i] = sum;
            out[i] = zero;
            wide[i].used = zero;
            if (active[i]) some[at[i]] = zero;
        }"""
    )
    out, some = np.full((2, ITEMS, 13), 7, np.int8)
    wide, sums = np.full((ITEMS, 16), 7, np.int8), np.zeros(ITEMS, np.int32)
    run(
        program,
        "clear",
        (ITEMS // GROUP, 1, 1),
        (GROUP, 1, 1),
        out,
        wide,
        some,
        INDICES,
        ACTIVE.astype(np.uint8),
        sums,
        width=width,
    )
    np.testing.assert_array_equal(sums, 5 * (np.arange(ITEMS) % 13 + 1))
    assert not out.any()
    np.testing.assert_array_equal(wide, np.tile([0] * 13 + [7] * 3, (ITEMS, 1)))
    expected = np.full_like(some, 7)
    expected[PLACES[ACTIVE]] = 0
    np.testing.assert_array_equal(some, expected)
