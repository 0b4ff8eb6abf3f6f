"""How many work-items run side by side, for kernels that may choose."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler import pipeline
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.target import Target
from groundstate.compiler.target.host import host
from groundstate.compiler.target.x86 import AVX2, AVX512
from tests.compiler.runner import program_of, run

VALUES = 20
NAMES = [f"v{n}" for n in range(VALUES)]
DECLARED = ", ".join(f"{name} = in[i + {n}]" for n, name in enumerate(NAMES))
SUM = " + ".join(NAMES)
SOURCE = f"""
__kernel void search(__global const int *in, __global const int *table, __global int *out) {{
    int i = get_global_id(0), low = 0, high = 64, {DECLARED};
    while (low < high) {{
        int middle = (low + high) / 2;
        if (table[middle] < in[i]) low = middle + 1; else high = middle;
    }}
    out[i] = low ^ ({SUM});
}}
__kernel void count(__global const int *in, __global const int *table, __global int *out) {{
    int i = get_global_id(0), low = 0, {DECLARED};
    while (low * low < in[i]) low += table[0];
    out[i] = low ^ ({SUM});
}}

#define TILE(name, side) \
    __kernel void name(__global const int *in, __global int *out) {{ \
        __local int tile[side][side]; \
        int x = get_local_id(0) % side, y = get_local_id(0) / side; \
        tile[y][x] = in[get_global_id(0)]; \
        barrier(CLK_LOCAL_MEM_FENCE); \
        int sum = 0; \
        for (int k = 0; k < side; k++) sum += tile[y][k] * tile[k][x]; \
        out[get_global_id(0)] = sum; \
    }}
TILE(tile8, 8)
TILE(tile16, 16)
TILE(tile32, 32)
__kernel void rows(__global const int *starts, __global const int *in, __global int *out) {{
    __local int part[64];
    int i = get_local_id(0), lane = i & 15, row = get_group_id(0) * 4 + i / 16, sum = 0;
    for (int k = starts[row] + lane; k < starts[row + 1]; k += 16) sum += in[k];
    part[i] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_way = 8; half_way > 0; half_way /= 2) {{
        if (lane < half_way) part[i] += part[i + half_way];
        barrier(CLK_LOCAL_MEM_FENCE);
    }}
    if (lane == 0) out[row] = part[i];
}}
__kernel void bins(__global const uint *in, __global uint *out) {{
    __local uint counts[256];
    int i = get_local_id(0);
    counts[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&counts[(in[get_global_id(0)] & 15) * 16 + (i & 15)]);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = counts[i];
}}
"""
ITEMS = 128


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def test_search_lanes_use_two_registers_per_value(program: Program) -> None:
    natural = host().lanes
    assert pipeline.specialise(program, "search", (64, 1, 1)).width == 2 * natural
    assert pipeline.specialise(program, "count", (64, 1, 1)).width == natural


@pytest.mark.parametrize("width", [1, 8, None])
def test_results(program: Program, width: int | None) -> None:
    given = np.random.default_rng(1).integers(0, 200, ITEMS + VALUES).astype(np.int32)
    table = np.arange(64, dtype=np.int32) * 3 + 1
    sums = np.lib.stride_tricks.sliding_window_view(given, VALUES)[:ITEMS].sum(1)
    roots = np.ceil(np.sqrt(given[:ITEMS])).astype(np.int64)
    for name, found in (("search", np.searchsorted(table, given[:ITEMS])), ("count", roots)):
        out = np.zeros(ITEMS, np.int32)
        run(program, name, (2, 1, 1), (64, 1, 1), given, table, out, width=width)
        np.testing.assert_array_equal(out, found ^ sums)


@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    ("target", "name", "lanes"),
    [
        (AVX512, "tile8", 8),
        (AVX512, "tile16", 16),
        (AVX512, "tile32", 32),
        (AVX512, "rows", 16),
        (AVX512, "bins", 32),
        (AVX2, "tile8", 8),
        (AVX2, "tile16", 16),
        (AVX2, "tile32", 16),
    ],
)
def test_vectors_end_where_rows_of_a_tile_do(target: Target, name: str, lanes: int) -> None:
    side = int(name.removeprefix("tile")) if name.startswith("tile") else 16
    program = Program(compile_opencl(SOURCE), target=target)
    assert pipeline.specialise(program, name, (side * side, 1, 1)).width == lanes


@pytest.mark.parametrize("width", [1, 8, 32, None])
@pytest.mark.parametrize("side", [8, 16, 32])
def test_products_of_tiles(program: Program, side: int, width: int | None) -> None:
    given = np.random.default_rng(side).integers(-9, 10, (2, side, side)).astype(np.int32)
    out = np.zeros_like(given)
    run(program, f"tile{side}", (2, 1, 1), (side * side, 1, 1), given, out, width=width)
    np.testing.assert_array_equal(out, given @ given)


@pytest.mark.parametrize("width", [1, 8, 32, None])
def test_sums_of_rows_that_lanes_share(program: Program, width: int | None) -> None:
    lengths = np.random.default_rng(3).integers(1, 99, 12)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    given = np.arange(starts[-1], dtype=np.int32)
    out = np.zeros(12, np.int32)
    run(program, "rows", (3, 1, 1), (64, 1, 1), starts, given, out, width=width)
    np.testing.assert_array_equal(out, np.add.reduceat(given, starts[:-1]))
