"""Accesses at fixed steps: numbers, vectors of four and others, with all lanes and with some."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator

import numpy as np
import pytest

from groundstate.compiler.program import Program
from tests.compiler.runner import Size, program_of, run

STEP = 12
SOURCE = """
#define STEP 12
__kernel void one(__global const float *in, __global float *out, long n) {
    long i = get_global_id(0);
    if (i < n) out[i] = in[i * STEP + 1];
}
__kernel void bytes(__global const uchar *in, __global uchar *out, long n) {
    long i = get_global_id(0);
    if (i < n) out[i] = in[i * STEP + 1];
}
__kernel void four(__global const float *in, __global float *out, long n) {
    long i = get_global_id(0);
    if (i >= n) return;
    float4 v = vload4(0, in + i * STEP + 1);
    out[i] = v.x; out[i + n] = v.y; out[i + 2 * n] = v.z; out[i + 3 * n] = v.w;
}
__kernel void eight(__global const float *in, __global float *out, long n) {
    long i = get_global_id(0);
    if (i >= n) return;
    float8 v = vload8(0, in + i * STEP + 1);
    out[i] = v.s0; out[i + n] = v.s3; out[i + 2 * n] = v.s5; out[i + 3 * n] = v.s7;
}
__kernel void backwards(__global const int *in, __global int *out, long n) {
    long i = get_global_id(0);
    if (i >= n) return;
    int4 v = vload4(0, in + (n - 1 - i) * STEP);
    out[i] = v.x; out[i + n] = v.y; out[i + 2 * n] = v.z; out[i + 3 * n] = v.w;
}
"""
NEAR_SOURCE = """
__kernel void seconds(__global const float *in, __global float *out) {
    long i = get_global_id(0);
    out[i] = in[2 * i];
}
__kernel void pairs(__global const float *in, __global float *out, int n) {
    long i = get_global_id(0);
    if (i < n) {
        out[2 * i + 1] = in[i];
        out[2 * i] = -in[i];
    }
}
__kernel void backwards_pairs(__global const short *in, __global short *out, int n) {
    long i = get_global_id(0);
    if (i < n) vstore2((short2)(in[i], 2 * in[i]), 0, out + 3 * (n - 1 - i));
}
__kernel void fourths(__global const int *in, __global int *out) {
    long i = get_global_id(0);
    out[i] = in[4 * i];
}
"""
WIDTHS = (1, 4, 8, 16, 32)
GROUPS: list[Size] = [(32, 1, 1), (24, 1, 1)]


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.fixture(scope="module")
def near_program() -> Program:
    return program_of(NEAR_SOURCE)


@pytest.fixture
def last_page() -> Iterator[np.ndarray]:
    """Bytes behind which, and before which, nothing can be read."""
    page = mmap.PAGESIZE
    room = mmap.mmap(-1, 3 * page)
    memory = np.frombuffer(room, np.uint8)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    for start in (0, 2 * page):
        address = ctypes.c_void_p(memory.ctypes.data + start)
        assert protect(address, ctypes.c_size_t(page), 0) == 0
    yield memory[page : 2 * page]
    for start in (0, 2 * page):
        address = ctypes.c_void_p(memory.ctypes.data + start)
        assert protect(address, ctypes.c_size_t(page), mmap.PROT_READ | mmap.PROT_WRITE) == 0


@pytest.mark.parametrize("width", [*WIDTHS, None])
@pytest.mark.parametrize(("name", "kind", "step"), [("seconds", "f4", 2), ("fourths", "i4", 4)])
def test_strided_load_reads_nothing_out_of_bounds(
    near_program: Program,
    last_page: np.ndarray,
    name: str,
    kind: str,
    step: int,
    width: int | None,
) -> None:
    numbers = last_page.view(kind)
    numbers[:] = np.arange(len(numbers))
    items = 64
    extent = (items - 1) * step + 1
    for given in (numbers[:extent], numbers[-extent:]):
        out = np.zeros(items, kind)
        run(near_program, name, (1, 1, 1), (items, 1, 1), given, out, width=width)
        np.testing.assert_array_equal(out, given[::step])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("missing", [0, 5])
def test_single_numbers(program: Program, group: Size, width: int, missing: int) -> None:
    count = 3 * group[0] - missing
    for name, kind in (("one", np.float32), ("bytes", np.uint8)):
        given = np.arange(count * STEP + STEP).astype(kind)
        out = np.zeros(count, kind)
        run(program, name, (3, 1, 1), group, given, out, np.int64(count), width=width)
        np.testing.assert_array_equal(out, given[1::STEP][:count])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("missing", [0, 5])
def test_vectors(program: Program, group: Size, width: int, missing: int) -> None:
    count = 3 * group[0] - missing
    cases = (
        ("four", np.float32, 1, (0, 1, 2, 3), 1),
        ("eight", np.float32, 1, (0, 3, 5, 7), 1),
        ("backwards", np.int32, 0, (0, 1, 2, 3), -1),
    )
    for name, kind, first, parts, direction in cases:
        given = np.arange(count * STEP + STEP).astype(kind)
        out = np.zeros((4, count), kind)
        run(program, name, (3, 1, 1), group, given, out, np.int64(count), width=width)
        rows = given[: count * STEP + first][first:].reshape(count, STEP)[::direction]
        np.testing.assert_array_equal(out, rows[:, list(parts)].T, err_msg=name)


@pytest.mark.parametrize("width", [*WIDTHS, None])
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("missing", [0, 5])
def test_stores(near_program: Program, group: Size, width: int | None, missing: int) -> None:
    count = 3 * group[0] - missing
    floats = np.arange(1, 1 + 3 * group[0], dtype=np.float32)
    out = np.zeros((3 * group[0], 2), np.float32)
    run(near_program, "pairs", (3, 1, 1), group, floats, out, np.int32(count), width=width)
    np.testing.assert_array_equal(out[:count], np.stack((-floats, floats), 1)[:count])
    assert not out[count:].any()
    shorts = np.arange(1, 1 + 3 * group[0], dtype=np.int16)
    found = np.zeros((count, 3), np.int16)
    run(
        near_program,
        "backwards_pairs",
        (3, 1, 1),
        group,
        shorts,
        found,
        np.int32(count),
        width=width,
    )
    wanted = np.stack((shorts, 2 * shorts, 0 * shorts), 1)[:count][::-1]
    np.testing.assert_array_equal(found, wanted)
