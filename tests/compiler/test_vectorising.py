"""Kernels with one lane and with several give what NumPy gives, for groups of any shape."""

from __future__ import annotations

import random

import numpy as np
import pytest

from groundstate.compiler.errors import BuildError
from groundstate.compiler.program import Program, native_binary
from groundstate.compiler.target import Target
from tests.compiler.runner import Local, Size, program_of, run

WIDTHS = (1, 4, 8, 16)
SHAPES: list[Size] = [
    (1, 1, 1),
    (7, 1, 1),
    (8, 1, 1),
    (64, 1, 1),
    (100, 1, 1),
    (5, 3, 2),
    (16, 4, 1),
]

SOURCE = """
__kernel void ids(__global int *out) {
    size_t i = get_global_linear_id();
    __global int *mine = out + 8 * i;
    mine[0] = get_global_id(0); mine[1] = get_global_id(1); mine[2] = get_global_id(2);
    mine[3] = get_local_id(0); mine[4] = get_local_id(1); mine[5] = get_local_id(2);
    mine[6] = get_group_id(0); mine[7] = get_local_linear_id();
}

__kernel void steps(__global const int *in, __global int *out, int n) {
    int i = get_global_id(0);
    if (i >= n) return;
    int total = 0;
    for (int k = 0; k < in[i]; k++) {
        if (k % 3 == 1) continue;
        if (total > 500) break;
        switch ((i + k) & 3) {
        case 0: total += k; break;
        case 1: total ^= i; break;
        case 2: total -= 3;
        default: total *= 2;
        }
    }
    out[i] = total;
}

__kernel void last_round(__global const int *in, __global int *out) {
    int i = get_global_id(0);
    int k = 0;
    while (k < 100 && in[i] > k * k) k++;
    out[i] = k;
}

__kernel void private_array(__global int *out) {
    int i = get_global_id(0);
    int mine[16];
    for (int k = 0; k < 16; k++) mine[k] = i * k;
    int total = 0;
    for (int k = 0; k < 16; k++) total += mine[(k + i) & 15] * (k + 1);
    out[i] = total;
}

__kernel void group_sum(__global const float *in, __global float *out, __local float *shared) {
    int l = get_local_id(0), n = get_local_size(0);
    shared[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = n / 2; s > 0; s /= 2) {
        if (l < s) shared[l] += shared[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) out[get_group_id(0)] = shared[0];
}

float turned(__local float *tile, int l, int n) {
    barrier(CLK_LOCAL_MEM_FENCE);
    return tile[n - 1 - l];
}

__kernel void reversed(__global float *data, __local float *tile, int rounds) {
    int l = get_local_id(0), n = get_local_size(0), i = get_global_id(0);
    for (int k = 0; k < rounds; k++) {
        tile[l] = data[i] + k;
        data[i] = turned(tile, l, n);
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
}

__kernel void vectors(__global const float4 *in, __global float4 *out, __global float3 *three) {
    size_t i = get_global_id(0);
    float4 v = in[i];
    out[i] = v.wzyx * 2.0f + (float4)(v.x, 1.0f, dot(v, v), (float)i);
    three[i] = v.xyz;
}

__kernel void histogram(__global const uint *in, __global uint *bins) {
    atomic_inc(&bins[in[get_global_id(0)] & 63]);
}

__constant int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__kernel void table(__global int *out) {
    size_t i = get_global_id(0);
    out[i] = primes[i & 7] * (int)get_global_size(0);
}
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def numbers(count: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, 60, count).astype(np.int32)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_work_item_knows_who_it_is(program: Program, shape: Size, width: int) -> None:
    groups = (3, 2, 2)
    out = np.full(
        (*(g * s for g, s in zip(groups[::-1], shape[::-1], strict=True)), 8), -1, np.int32
    )
    run(program, "ids", groups, shape, out, width=width)
    z, y, x = np.indices(out.shape[:3])
    local = [x % shape[0], y % shape[1], z % shape[2]]
    linear = (local[2] * shape[1] + local[1]) * shape[0] + local[0]
    for place, expected in enumerate([x, y, z, *local, x // shape[0], linear]):
        assert np.array_equal(out[..., place], expected), place


def steps_of(i: int, count: int) -> int:
    total = 0
    for k in range(count):
        if k % 3 == 1:
            continue
        if total > 500:
            break
        case = (i + k) & 3
        if case == 0:
            total += k
        elif case == 1:
            total ^= i
        elif case == 2:
            total = (total - 3) * 2
        else:
            total *= 2
    return total


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("size", [1, 7, 32, 100])
def test_lanes_take_their_own_ways(program: Program, size: int, width: int) -> None:
    given = numbers(4 * size)
    out = np.full(4 * size, -1, np.int32)
    limit = 4 * size - 2
    run(program, "steps", (4, 1, 1), (size, 1, 1), given, out, np.int32(limit), width=width)
    expected = (
        [steps_of(i, int(count)) for i, count in enumerate(given[:limit])] if limit > 0 else []
    )
    assert list(out[: max(limit, 0)]) == expected
    assert (out[max(limit, 0) :] == -1).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_count_keeps_the_round_in_which_each_lane_left(program: Program, width: int) -> None:
    given = (numbers(256) ** 2).astype(np.int32)
    out = np.zeros(256, np.int32)
    run(program, "last_round", (4, 1, 1), (64, 1, 1), given, out, width=width)
    assert np.array_equal(out, np.ceil(np.sqrt(given)).astype(np.int32))


@pytest.mark.parametrize("width", WIDTHS)
def test_private_arrays_are_private(program: Program, width: int) -> None:
    out = np.zeros(96, np.int32)
    run(program, "private_array", (4, 1, 1), (24, 1, 1), out, width=width)
    expected = [sum(i * ((k + i) & 15) * (k + 1) for k in range(16)) for i in range(96)]
    assert list(out) == expected


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("size", [1, 2, 16, 64, 256])
def test_barriers_in_loops(program: Program, size: int, width: int) -> None:
    given = np.random.default_rng(1).random(5 * size, dtype=np.float32)
    out = np.zeros(5, np.float32)
    local = Local(4 * size)
    run(program, "group_sum", (5, 1, 1), (size, 1, 1), given, out, local, width=width)
    assert np.allclose(out, given.reshape(5, size).sum(1), rtol=1e-5)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("size", [8, 33])
def test_barriers_in_called_functions(program: Program, size: int, width: int) -> None:
    data = np.arange(2 * size, dtype=np.float32)
    expected = data.reshape(2, size).copy()
    for k in range(3):
        expected = (expected + k)[:, ::-1]
    run(
        program,
        "reversed",
        (2, 1, 1),
        (size, 1, 1),
        data,
        Local(4 * size),
        np.int32(3),
        width=width,
    )
    assert np.array_equal(data.reshape(2, size), expected)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("size", [16, 12])
def test_opencl_vectors(program: Program, size: int, width: int) -> None:
    given = np.random.default_rng(2).random((3 * size, 4), dtype=np.float32)
    out, three = np.zeros_like(given), np.full_like(given, -1)
    run(program, "vectors", (3, 1, 1), (size, 1, 1), given, out, three, width=width)
    expected = given[:, ::-1] * 2
    expected[:, 0] += given[:, 0]
    expected[:, 1] += 1
    expected[:, 2] += (given**2).sum(1)
    expected[:, 3] += np.arange(3 * size)
    assert np.allclose(out, expected, rtol=1e-5)
    assert np.array_equal(three[:, :3], given[:, :3])


@pytest.mark.parametrize("width", WIDTHS)
def test_atomics_count_every_lane(program: Program, width: int) -> None:
    given = np.random.default_rng(3).integers(0, 1 << 30, 1000, dtype=np.uint32)
    bins = np.zeros(64, np.uint32)
    run(program, "histogram", (10, 1, 1), (100, 1, 1), given, bins, width=width)
    assert np.array_equal(bins, np.bincount(given & 63, minlength=64))


@pytest.mark.parametrize("width", WIDTHS)
def test_tables_of_the_program(program: Program, width: int) -> None:
    out = np.zeros(32, np.int32)
    run(program, "table", (2, 1, 1), (16, 1, 1), out, width=width)
    assert list(out) == [32 * prime for prime in (2, 3, 5, 7, 11, 13, 17, 19)] * 4


def test_a_global_offset_moves_the_ids(program: Program) -> None:
    out = np.full((8, 8), -1, np.int32)
    run(program, "ids", (1, 1, 1), (8, 1, 1), out, width=8, offset=(100, 20, 3))
    assert list(out[:, 0]) == list(range(100, 108))
    assert (out[:, 1] == 20).all()
    assert (out[:, 2] == 3).all()


def test_a_width_that_does_not_exist_is_refused(program: Program) -> None:
    with pytest.raises(BuildError, match="sub-group of 5"):
        program.compile("ids", (8, 1, 1), 5)


def test_a_native_binary_needs_no_compiler(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = np.zeros(32, np.int32)
    run(program, "table", (2, 1, 1), (16, 1, 1), out)
    again = Program.from_native(program.native_binary())
    monkeypatch.setattr(
        "groundstate.compiler.llvm.service.object_code",
        lambda text, lanes, optimised: pytest.fail(text),
    )
    other = np.zeros(32, np.int32)
    run(again, "table", (2, 1, 1), (16, 1, 1), other)
    assert np.array_equal(out, other)


@pytest.mark.parametrize("damage", [b"", b"GSNATIVE", b"GSNATIVE\xff\xff\xff\xff{}", b"no binary"])
def test_a_damaged_native_binary_is_refused(damage: bytes) -> None:
    with pytest.raises(BuildError):
        Program.from_native(damage)


def test_a_native_binary_with_one_wrong_bit_is_refused(program: Program) -> None:
    binary = program.native_binary()
    chance = random.Random(1)
    for _ in range(200):
        damaged = bytearray(binary)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        with pytest.raises(BuildError):
            Program.from_native(bytes(damaged))
        with pytest.raises(BuildError):
            Program.from_native(binary[: chance.randrange(len(binary))])
    with pytest.raises(BuildError, match="damaged"):
        Program.from_native(binary + b"more")


def test_a_binary_for_another_cpu_is_refused(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(Target, "identity", "a strange machine")
        binary = program.native_binary()
    with pytest.raises(BuildError, match="another CPU"):
        Program.from_native(binary)


def test_a_binary_of_another_version_is_refused(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(native_binary, "VERSION", "an old version")
        binary = program.native_binary()
    with pytest.raises(BuildError, match="an old version; build it again"):
        Program.from_native(binary)


SHAPES = [
    (1, 32, 2),
    (1, 1, 64),
    (1, 16, 4),
    (16, 4, 1),
    (5, 3, 2),
    (1, 7, 3),
    (1, 1, 1),
    (8, 8, 1),
]
IDS = """
__kernel void ids(__global ulong *out) {
    size_t i = get_global_linear_id();
    for (uint axis = 0; axis < 3; axis++) {
        out[8 * i + axis] = get_global_id(axis);
        out[8 * i + 3 + axis] = get_local_id(axis);
    }
    out[8 * i + 6] = get_local_linear_id();
    out[8 * i + 7] = i;
}
"""


@pytest.mark.parametrize("width", [*WIDTHS, None])
@pytest.mark.parametrize("shape", SHAPES)
def test_ids_of_groups_of_any_shape(shape: tuple[int, int, int], width: int | None) -> None:
    groups, size = (2, 3, 2), shape[::-1]
    out = np.zeros(12 * shape[0] * shape[1] * shape[2] * 8, np.uint64)
    run(program_of(IDS), "ids", groups, shape, out, width=width)
    grid = [count * each for count, each in zip(groups[::-1], size, strict=True)]
    for i, row in enumerate(out.reshape(-1, 8)):
        place = np.unravel_index(i, grid)
        local = [each % length for each, length in zip(place, size, strict=True)]
        linear = int(np.ravel_multi_index(local, size))
        assert list(row) == [*place[::-1], *local[::-1], linear, i]
