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
NEIGHBOURS_SOURCE = r"""
#define NEIGHBOURS(T, N) \
__kernel void of_##T##N(__global const T *in, __global T *out, long n) { \
    long i = get_global_id(0); \
    if (i >= n) return; \
    T sum = 0, v[N]; \
    for (int k = 0; k < N; k++) { v[k] = in[N * i + k]; sum += v[k]; } \
    for (int k = 0; k < N; k++) out[N * i + k] = sum - v[k]; \
}
NEIGHBOURS(uchar, 2) NEIGHBOURS(uchar, 3) NEIGHBOURS(uchar, 4)
NEIGHBOURS(short, 2) NEIGHBOURS(short, 3) NEIGHBOURS(short, 4)
NEIGHBOURS(int, 2) NEIGHBOURS(int, 3) NEIGHBOURS(int, 4) NEIGHBOURS(int, 5)
NEIGHBOURS(double, 2) NEIGHBOURS(double, 3) NEIGHBOURS(double, 4)
__kernel void swap_bytes(__global const uchar4 *in, __global uchar4 *out, long n) {
    long i = get_global_id(0);
    if (i < n) out[i] = in[i].wzyx;
}
__kernel void swap_halves(__global const ushort4 *in, __global ushort4 *out, long n) {
    long i = get_global_id(0);
    if (i < n) out[i] = in[i].wzyx;
}
__kernel void three_of_four(__global const uchar3 *in, __global uchar3 *out, long n) {
    long i = get_global_id(0);
    if (i < n) out[i] = in[i].zyx;
}
"""
NEIGHBOURS = {
    f"{name}{count}": (kind, count)
    for name, kind, most in (("uchar", "u1", 4), ("short", "i2", 4), ("int", "i4", 5))
    for count in range(2, most + 1)
} | {f"double{count}": ("f8", count) for count in (2, 3, 4)}
WIDTHS = (1, 4, 8, 16, 32)
GROUPS: list[Size] = [(32, 1, 1), (24, 1, 1)]


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.fixture(scope="module")
def near_program() -> Program:
    return program_of(NEAR_SOURCE)


@pytest.fixture(scope="module")
def neighbours_program() -> Program:
    return program_of(NEIGHBOURS_SOURCE)


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


@pytest.mark.parametrize("width", [*WIDTHS, None])
@pytest.mark.parametrize("name", NEIGHBOURS)
@pytest.mark.parametrize("missing", [0, 5])
def test_neighbours_stay_in_bounds(
    neighbours_program: Program, last_page: np.ndarray, name: str, width: int | None, missing: int
) -> None:
    kind, count = NEIGHBOURS[name]
    numbers, items = last_page.view(kind), 64
    wanted = (items - missing) * count
    half = len(numbers) // 2
    for given, out in (
        (numbers[:wanted], numbers[-wanted:]),
        (numbers[half - wanted : half], numbers[half : half + wanted]),
    ):
        numbers[:] = np.arange(len(numbers)) % 23
        before, untouched = given.reshape(-1, count).copy(), numbers.copy()
        n = np.int64(items - missing)
        run(neighbours_program, f"of_{name}", (2, 1, 1), (32, 1, 1), given, out, n, width=width)
        expected = before.sum(axis=1, keepdims=True, dtype=kind) - before
        np.testing.assert_array_equal(out.reshape(-1, count), expected)
        start = (out.ctypes.data - numbers.ctypes.data) // numbers.itemsize
        untouched[start : start + wanted] = expected.ravel()
        np.testing.assert_array_equal(numbers, untouched)


@pytest.mark.parametrize("width", [*WIDTHS, None])
@pytest.mark.parametrize("missing", [0, 5])
@pytest.mark.parametrize(
    ("name", "kind", "picks"),
    [
        ("swap_bytes", "u1", [3, 2, 1, 0]),
        ("swap_halves", "u2", [3, 2, 1, 0]),
        ("three_of_four", "u1", [2, 1, 0]),
    ],
)
def test_small_vectors(
    neighbours_program: Program,
    name: str,
    kind: str,
    picks: list[int],
    width: int | None,
    missing: int,
) -> None:
    count = 64 - missing
    given = np.arange(4 * count).astype(kind).reshape(count, 4)
    out = np.full_like(given, 7)
    run(neighbours_program, name, (2, 1, 1), (32, 1, 1), given, out, np.int64(count), width=width)
    np.testing.assert_array_equal(out[:, : len(picks)], given[:, picks])


@pytest.mark.parametrize("name", ["int3", "double4"])
def test_neighbours_are_one_access(neighbours_program: Program, name: str) -> None:
    text = neighbours_program.write(f"of_{name}", (32, 1, 1), 8).text
    _, count = NEIGHBOURS[name]
    assert f"call void @llvm.masked.store.v{8 * count}" in text
    assert "gather" not in text
