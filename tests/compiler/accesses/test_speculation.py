"""Indices that are consecutive but for borders: one vector where they are, a gather where not."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.typing import NDArray

from groundstate.compiler.program import Program
from tests.compiler.runner import program_of, run

SOURCE = """
__kernel void clamped(__global const float *in, __global float *out, int w, int dx) {
    int x = get_global_id(0);
    out[x] = in[clamp(x + dx, 0, w - 1)];
}
__kernel void min_max(__global const short *in, __global short *out, int w, int dx) {
    int x = get_global_id(0);
    out[x] = in[min(w - 1, max(0, x + dx))];
}
__kernel void chosen(__global const float *in, __global float *out, int w, int dx) {
    int x = get_global_id(0);
    int right = x + dx > w - 1 ? 0 : x + dx;
    out[x] = in[right < 0 ? w - 1 : right];
}
__kernel void remainder_of_ints(__global const uchar *in, __global uchar *out, int w, int dx) {
    int x = get_global_id(0);
    int at = (x + dx) % w;
    out[x] = in[at < 0 ? at + w : at];
}
__kernel void remainder_of_longs(__global const double *in, __global double *out, int w, int dx) {
    ulong x = get_global_id(0);
    out[x] = in[(x + (ulong)(dx + 64 * w)) % (uint)w];
}
__kernel void pixels(__global const uchar4 *in, __global uchar4 *out, int w, int dx) {
    int x = get_global_id(0);
    out[x] = in[clamp(x + dx, 0, w - 1)];
}
__kernel void some_lanes(__global const float *in, __global float *out, int w, int dx) {
    int x = get_global_id(0);
    if (x < w && (x & 4)) out[x] = in[clamp(x + dx, 0, w - 1)];
}
__kernel void stored(__global const float *in, __global float *out, int w, int dx) {
    int x = get_global_id(0);
    if (x + dx >= 0 && x + dx < w) out[clamp(x + dx, 0, w - 1)] = in[x];
}
__kernel void in_loop(__global const float *in, __global float *out, int w, int r) {
    int x = get_global_id(0);
    float sum = 0;
    for (int dx = -r; dx <= r; dx++) sum += in[clamp(x + dx, 0, w - 1)];
    out[x] = sum;
}
__kernel void in_rows(__global const float *in, __global float *out, int w, int h, int dx) {
    int x = get_global_id(0);
    float sum = 0;
    for (int y = -1; y <= h; y++)
        sum += in[clamp(y, 0, h - 1) * w + clamp(x + dx, 0, w - 1)];
    if (x & 2) sum += in[clamp(x - dx, 0, w - 1) + w * (h - 1)];
    out[x] = sum;
}
__kernel void unsigned_wrap(__global const float *in, __global float *out, uint from, uint most) {
    uint x = get_global_id(0);
    out[x] = in[min(x + from, most)];
}
"""
ITEMS, GROUP = 128, 64
WIDTHS = (1, 4, 8, 16, None)
IMAGE_WIDTHS = (1, 5, 31, 64, 100, 128, 200)
SHIFTS = (-150, -64, -3, -1, 0, 1, 7, 64, 150)
COLUMNS = np.arange(ITEMS)


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def numbers(kind: object, count: int) -> NDArray[np.generic]:
    shape = (count, 4) if kind == "u4" else (count,)
    dtype = np.uint8 if kind == "u4" else np.dtype(str(kind))
    return np.random.default_rng(7).integers(1, 100, shape).astype(dtype)


def launch(program: Program, name: str, width: int | None, *arguments: object) -> None:
    run(program, name, (ITEMS // GROUP, 1, 1), (GROUP, 1, 1), *arguments, width=width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("name", "kind"), [("clamped", "f4"), ("min_max", "i2"), ("pixels", "u4")])
def test_bounded_columns(program: Program, name: str, kind: str, width: int | None) -> None:
    for w in IMAGE_WIDTHS:
        given = numbers(kind, w)
        for dx in SHIFTS:
            out = numbers(kind, ITEMS)
            launch(program, name, width, given, out, np.int32(w), np.int32(dx))
            np.testing.assert_array_equal(out, given[np.clip(COLUMNS + dx, 0, w - 1)])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("name", "kind"), [("remainder_of_ints", "u1"), ("remainder_of_longs", "f8")]
)
def test_remainders(program: Program, name: str, kind: str, width: int | None) -> None:
    for w in IMAGE_WIDTHS:
        given = numbers(kind, w)
        for dx in (each for each in SHIFTS if each > -64 * w):
            out = numbers(kind, ITEMS)
            launch(program, name, width, given, out, np.int32(w), np.int32(dx))
            np.testing.assert_array_equal(out, given[(COLUMNS + dx) % w])


@pytest.mark.parametrize("width", WIDTHS)
def test_chosen_columns(program: Program, width: int | None) -> None:
    for w in IMAGE_WIDTHS:
        given = numbers("f4", w)
        for dx in SHIFTS:
            out = numbers("f4", ITEMS)
            launch(program, "chosen", width, given, out, np.int32(w), np.int32(dx))
            column = COLUMNS + dx
            column = np.where(column > w - 1, 0, np.where(column < 0, w - 1, column))
            np.testing.assert_array_equal(out, given[column])


@pytest.mark.parametrize("width", WIDTHS)
def test_inactive_lanes_are_left_alone(program: Program, width: int | None) -> None:
    for w in IMAGE_WIDTHS:
        given = numbers("f4", max(w, ITEMS))
        for dx in SHIFTS:
            out, expected = np.zeros((2, max(w, ITEMS)), np.float32)
            launch(program, "some_lanes", width, given, out, np.int32(w), np.int32(dx))
            active = COLUMNS[(w > COLUMNS) & (COLUMNS & 4 != 0)]
            expected[active] = given[np.clip(active + dx, 0, w - 1)]
            np.testing.assert_array_equal(out, expected)
            out[:], expected[:] = 0, 0
            launch(program, "stored", width, given, out, np.int32(w), np.int32(dx))
            active = COLUMNS[(COLUMNS + dx >= 0) & (COLUMNS + dx < w)]
            expected[active + dx] = given[active]
            np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("width", WIDTHS)
def test_clamp_in_a_loop(program: Program, width: int | None) -> None:
    for w in IMAGE_WIDTHS:
        given, out = numbers("f4", w), np.zeros(ITEMS, np.float32)
        launch(program, "in_loop", width, given, out, np.int32(w), np.int32(3))
        columns = np.clip(COLUMNS[:, None] + np.arange(-3, 4), 0, w - 1)
        np.testing.assert_array_equal(out, given[columns].sum(axis=1))


@pytest.mark.parametrize("width", WIDTHS)
def test_clamped_columns_of_rows(program: Program, width: int | None) -> None:
    height = 3
    rows = np.clip(np.arange(-1, height + 1), 0, height - 1)
    for w in IMAGE_WIDTHS:
        given = numbers("f4", height * w)
        for dx in SHIFTS:
            out = np.zeros(ITEMS, np.float32)
            shape = (np.int32(w), np.int32(height), np.int32(dx))
            launch(program, "in_rows", width, given, out, *shape)
            image = given.reshape(height, w)
            expected = image[rows][:, np.clip(COLUMNS + dx, 0, w - 1)].sum(axis=0)
            mirrored = image[height - 1, np.clip(COLUMNS - dx, 0, w - 1)]
            expected += np.where(COLUMNS & 2, mirrored, 0)
            np.testing.assert_array_equal(out, expected)


def test_sums_that_do_not_wrap_are_not_looked_at(program: Program) -> None:
    """In the others the first and the last of 16 lanes have to be 15 apart after widening."""
    look = re.compile(r"icmp eq i64 %t\d+, 15$", re.MULTILINE)
    text = program.write("in_rows", (GROUP, 1, 1), 16).text
    assert "load <16 x float>" in text
    assert not look.search(text)
    assert look.search(program.write("unsigned_wrap", (GROUP, 1, 1), 16).text)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("start", [0, 50, 2**32 - 70, 2**32 - 8, 2**31 - 5])
def test_unsigned_index_that_wraps(program: Program, start: int, width: int | None) -> None:
    given, out = numbers("f4", 100), np.zeros(ITEMS, np.float32)
    launch(program, "unsigned_wrap", width, given, out, np.uint32(start), np.uint32(99))
    column = np.minimum((COLUMNS + start) % 2**32, 99)
    np.testing.assert_array_equal(out, given[column])


@pytest.mark.parametrize(
    ("name", "element"),
    [("clamped", "float"), ("min_max", "i16"), ("chosen", "float"), ("remainder_of_ints", "i8")],
)
def test_consecutive_lanes_are_one_load(program: Program, name: str, element: str) -> None:
    text = program.write(name, (GROUP, 1, 1), 8).text
    assert re.search(rf"near\.\d+:\n(  .*\n)*?  %t\d+ = load <8 x {element}>, ptr", text)
