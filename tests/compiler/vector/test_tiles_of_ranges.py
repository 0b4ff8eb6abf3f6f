"""Ranges of one dimension that are matrices: run in tiles, they give the same results."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

import numpy as np
import pytest
from numpy.typing import NDArray

from groundstate.compiler import pipeline
from groundstate.compiler.analysis.index_digits import Digit
from groundstate.compiler.codegen import tile_loop
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.program.dispatch import Dispatch, Memory, RunGroups
from groundstate.compiler.target.range_tiles import Tiles, tiles_of
from groundstate.compiler.target.x86 import AVX2
from tests.compiler.runner import program_of, run

Floats = NDArray[np.float32]
GROUP = 128
DEPTH = 7
ROWS = 29
PLACES, CHANNELS, IMAGES = 35, 32, 243
"""Of images with channels before rows: a work-item has every other place of one."""

SOURCE = f"""
#define ITEM ((uint)get_group_id(0) * {GROUP} + (uint)get_local_id(0))
#define PRODUCT(name, N, last)                                                               \\
__kernel void name(__global const float *a, __global const float *b, __global float *c) {{   \\
    uint i = ITEM;                                                                           \\
    if (i >= last) return;                                                                   \\
    float sum = 0;                                                                           \\
    for (uint k = 0; k < {DEPTH}; k++) sum += a[i / N * {DEPTH} + k] * b[k * N + i % N];     \\
    c[i] += sum;                                                                             \\
}}
PRODUCT(of_512, 512u, {ROWS} * 512)
PRODUCT(of_300, 300u, {ROWS} * 300)
PRODUCT(of_100, 100u, {ROWS} * 100)
PRODUCT(of_45, 45u, {ROWS} * 45)
PRODUCT(of_6, 6u, {ROWS} * 6)

__kernel void padded(__global const float *a, __global const float *b, __global float *c) {{
    uint i = ITEM, row = i / 64, column = i % 64;
    if (i >= {ROWS} * 64) return;
    float sum = 0;
    for (uint k = 0; k < {DEPTH}; k++)
        if (row % 5 + k >= 2 && row % 5 + k < 6) sum += a[row * {DEPTH} + k] * b[k * 64 + column];
    c[i] += sum;
}}
__kernel void by_global_id(__global const float *a, __global const float *b, __global float *c) {{
    uint i = get_global_id(0);
    float sum = 0;
    for (uint k = 0; k < {DEPTH}; k++) sum += a[i / 64 * {DEPTH} + k] * b[k * 64 + i % 64];
    c[i] += sum;
}}
__kernel void counting(__global const float *a, __global const float *b, __global int *c) {{
    uint i = ITEM;
    for (uint k = 0; k < {DEPTH}; k++)
        if (a[i / 64] < b[k * 64 + i % 64]) atomic_inc(c);
}}
__kernel void meeting(__global const float *a, __global const float *b, __global float *c) {{
    __local float part[{GROUP}];
    uint i = ITEM;
    part[get_local_id(0)] = b[i % 64];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
    for (uint k = 0; k < {DEPTH}; k++) sum += a[i / 64 * {DEPTH} + k] * part[k];
    c[i] = sum;
}}
__kernel void watching(__global const volatile float *a, __global const float *b,
                       __global float *c) {{
    uint i = ITEM;
    float sum = 0;
    for (uint k = 0; k < {DEPTH}; k++) sum += a[i / 64 * {DEPTH} + k] * b[k * 64 + i % 64];
    c[i] = sum;
}}
__kernel void of_images(__global const float *a, __global const float *b, __global float *c) {{
    uint i = ITEM, row = i / 16 % 6, image = i / (16 * 6);
    float sum = 0;
    for (uint k = 0; k < {DEPTH}; k++)
        if (row + k >= 3 && row + k < 8)
            sum += a[(image * 6 + row) * {DEPTH} + k] * b[k * 16 + i % 16];
    c[i] += sum;
}}
#define OF_CHANNELS(name, last)                                                              \\
__kernel void name(__global const float *a, __global const float *b, __global float *c) {{   \\
    uint i = ITEM, column = i * 2 % 7, row = i * 2 / 7 % 10;                                 \\
    uint channel = i / {PLACES} % {CHANNELS}, image = i / ({PLACES} * {CHANNELS});           \\
    if (last && i >= last) return;                                                           \\
    float sum = 0;                                                                           \\
    for (uint k = 0; k < {DEPTH}; k++)                                                       \\
        if (row + k >= 3 && row + k < 12)                                                    \\
            sum += a[(image * 10 + row) * 7 + column + k] * b[channel * {DEPTH} + k];        \\
    c[i] += sum;                                                                             \\
}}
OF_CHANNELS(of_channels, 0)
OF_CHANNELS(of_whole_images, 240 * {PLACES * CHANNELS})
OF_CHANNELS(of_parts_of_images, 240 * {PLACES * CHANNELS} + 77)
__kernel void elsewhere(__global const float *a, __global const float *b, __global float *c) {{
    uint i = ITEM;
    float sum = get_num_groups(0);
    for (uint k = 0; k < {DEPTH}; k++) sum += a[i / 64 * {DEPTH} + k] * b[k * 64 + i % 64];
    c[i] = sum;
}}
"""
OTHER = f"PRODUCT(of_320, 320u, {ROWS} * 320)"
COLUMNS = {"of_512": 512, "of_300": 300, "of_100": 100, "of_45": 45, "of_6": 6, "padded": 64}


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.fixture(scope="module")
def avx2() -> Program:
    """The same for a machine of which it is known what is best there."""
    return Program(compile_opencl(SOURCE), target=AVX2)


def tiles(program: Program, name: str) -> Tiles | None:
    """How a kernel's range is run, if it is run in tiles."""
    sized = pipeline._sized(program, name, (GROUP, 1, 1))
    return tiles_of(pipeline._plan(program, name, sized, (GROUP, 1, 1), None))


def arguments(columns: int, room: int = 0) -> tuple[Floats, Floats, Floats]:
    chance = np.random.default_rng(columns)
    items = -(-ROWS * columns // GROUP) * GROUP + room
    sizes = (items // columns + 1) * DEPTH, DEPTH * columns, items
    left, right, sums = (chance.standard_normal(each).astype(np.float32) for each in sizes)
    return left, right, sums


def run_in_ranges(program: Program, name: str, ends: Iterable[int], *values: Floats) -> None:
    """Runs a kernel for ranges of groups that follow each other, as the driver does."""
    *_, groups = ends = list(ends)
    signature, code = program.signature(name), program.compile(name, (GROUP, 1, 1))
    block = ctypes.create_string_buffer(signature.block_bytes + 16)
    for argument, value in zip(signature.arguments, values, strict=True):
        ctypes.c_uint64.from_buffer(block, argument.offset).value = value.ctypes.data
    memory = Memory(code.local_bytes, code.private_bytes, code.saved_bytes)
    place, zero = ctypes.addressof(block), (0, 0, 0)
    launch = Dispatch(place, zero, (groups, 1, 1), (GROUP, 1, 1), 1, None, None, 0, 0)
    first = 0
    for end in ends:
        RunGroups(code.address)(ctypes.addressof(launch), first, end - first, memory.address)
        first = end


@pytest.mark.parametrize("name", COLUMNS)
def test_results_are_those_of_items_one_by_one(program: Program, name: str) -> None:
    left, right, before = arguments(COLUMNS[name])
    results = []
    for width in (1, None):
        sums = before.copy()
        run(
            program, name, (len(sums) // GROUP, 1, 1), (GROUP, 1, 1), left, right, sums, width=width
        )
        results.append(sums)
    assert np.array_equal(results[0], results[1])
    assert not np.array_equal(results[0], before)
    assert np.array_equal(results[1][ROWS * COLUMNS[name] :], before[ROWS * COLUMNS[name] :])


@pytest.mark.parametrize("step", [1, 2, 5, 1000])
@pytest.mark.parametrize("name", ["of_512", "of_45"])
def test_every_tile_is_run_once_in_whatever_ranges(program: Program, name: str, step: int) -> None:
    left, right, sums = arguments(COLUMNS[name])
    expected, groups = sums.copy(), len(sums) // GROUP
    run(program, name, (groups, 1, 1), (GROUP, 1, 1), left, right, expected, width=1)
    run_in_ranges(program, name, [*range(step, groups, step), groups], left, right, sums)
    assert np.array_equal(sums, expected)


@pytest.mark.parametrize("groups", [(3, 1, 1), (3, 2, 1), (1, 1, 2)])
def test_work_items_behind_the_last_row_do_nothing(
    program: Program, groups: tuple[int, int, int]
) -> None:
    """A launch ends inside of a row, or has several lines of groups, which all do the same."""
    left, right, sums = arguments(300)
    expected, lines = sums.copy(), groups[1] * groups[2]
    for _ in range(lines):
        run(program, "of_300", (groups[0], 1, 1), (GROUP, 1, 1), left, right, expected, width=1)
    run(program, "of_300", groups, (GROUP, 1, 1), left, right, sums)
    assert np.array_equal(sums, expected)


def test_launch_with_an_offset_is_run_item_by_item(program: Program) -> None:
    assert tiles(program, "by_global_id") is not None
    left, right, before = arguments(64, room=GROUP)
    results = []
    for width in (1, None):
        sums = before.copy()
        group, offset = (GROUP, 1, 1), (77, 0, 0)
        run(
            program, "by_global_id", (8, 1, 1), group, left, right, sums, width=width, offset=offset
        )
        results.append(sums)
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0][:77], before[:77])
    assert not np.array_equal(results[0], before)


def test_launch_with_too_many_items_is_run_item_by_item(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile_loop, "MOST_ITEMS", 1000)
    program = program_of(SOURCE + OTHER)  # not one that the cache has other code of
    left, right, sums = arguments(320)
    expected, groups = sums.copy(), (len(sums) // GROUP, 1, 1)
    run(program, "of_320", groups, (GROUP, 1, 1), left, right, expected, width=1)
    run(program, "of_320", groups, (GROUP, 1, 1), left, right, sums)
    assert np.array_equal(sums, expected)


def test_rows_of_a_product_run_together(avx2: Program) -> None:
    found = tiles(avx2, "of_512")
    assert found is not None
    assert (found.range.columns, found.range.limit) == (512, ROWS * 512)
    assert (found.lanes, found.rows, found.vectors) == (16, 8, 1)


def test_vectors_of_a_row_run_together_where_rows_branch(avx2: Program) -> None:
    found = tiles(avx2, "padded")
    assert found is not None
    assert (found.lanes, found.rows, found.vectors) == (16, 1, 4)


def test_rows_of_several_images_run_together(program: Program) -> None:
    """Those of one image differ in where they branch."""
    found = tiles(program, "of_images")
    assert found is not None
    assert (found.range.columns, found.distance) == (16, 96)
    assert found.rows > 1
    left, right, before = arguments(16, room=4 * 1024 + GROUP)
    results = []
    for width in (1, None):
        sums = before.copy()
        groups = len(sums) // GROUP, 1, 1
        run(program, "of_images", groups, (GROUP, 1, 1), left, right, sums, width=width)
        results.append(sums)
    assert np.array_equal(results[0], results[1])


@pytest.mark.parametrize("step", [1, 3, 1000])
@pytest.mark.parametrize("name", ["of_channels", "of_whole_images", "of_parts_of_images"])
def test_lanes_lie_along_channels_where_they_come_before_rows(
    program: Program, name: str, step: int
) -> None:
    """Channels share the places where they branch. The last image is only partly there."""
    found = tiles(program, name)
    assert found is not None
    assert found.range.first == Digit(PLACES, CHANNELS)
    assert found.rows > 1
    items = -(-IMAGES * PLACES * CHANNELS // GROUP) * GROUP
    chance = np.random.default_rng(items)
    sizes = (IMAGES + 2) * 70, CHANNELS * DEPTH, items
    images, filters, sums = (chance.standard_normal(each).astype(np.float32) for each in sizes)
    expected, groups = sums.copy(), items // GROUP
    given = images, filters
    run(program, name, (groups, 1, 1), (GROUP, 1, 1), *given, expected, width=1)
    run_in_ranges(program, name, [*range(step, groups, step), groups], *given, sums)
    assert np.array_equal(sums, expected)


@pytest.mark.parametrize("name", ["counting", "meeting", "watching", "elsewhere"])
def test_other_kernels_run_as_they_are(program: Program, name: str) -> None:
    assert tiles(program, name) is None
