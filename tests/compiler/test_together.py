"""Loops and checks that lanes go through together, part in, and find together again in."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.program import Program
from groundstate.compiler.target.host import host
from tests.compiler.runner import program_of, run

SOURCE = """
__kernel void strides(__global const int *in, __global int *out, long n) {
    long all = get_global_size(0);
    int sum = 0;
    for (long i = get_global_id(0); i < n; i += all) sum = sum * 3 + in[i];
    out[get_global_id(0)] = sum;
}
__kernel void rounds(__global const int *count, __global int *out) {
    int i = get_global_id(0), n = count[i], sum = 0, k = 0;
    for (; k < n; k++) sum += k ^ i;
    out[i] = sum * 64 + k;
}
__kernel void down(__global const uint *count, __global uint *out, uint stop) {
    uint i = get_global_id(0), k = count[i];
    while (k > stop) k -= 3;
    out[i] = k;
}
__kernel void within(__global const int *count, __global const int *data, __global int *out,
                     int n) {
    int i = get_global_id(0), sum = 0;
    for (int row = 0; row < n; row++) {
        if (data[row] & 1) sum += row;
        else if ((data[row] >> (i & 3)) & 1) continue;
        int last = 0;
        for (int k = 0; k < count[i]; k++) {
            if (((k + i + row) & data[row]) == 3) break;
            sum += k * row;
            last = k;
        }
        sum ^= last;
        if (sum > 9000) return;
        out[i] = sum;
    }
}
__kernel void wrapping(__global int *out, uint start, uint bound) {
    uint i = get_global_id(0);
    int rounds = 0;
    for (uint k = start + i; k < bound; k += 7) rounds++;
    out[i] = rounds;
}
__kernel void capped(__global int *out, uint start, int low) {
    uint i = get_global_id(0), n = start + i;
    int m = 2 * (int)i - low;
    n = n < 9u ? n : 9u;
    m = m > 3 ? m : 3;
    int rounds = 0;
    for (uint k = 0; k < n; k++) rounds++;
    for (int k = m; k > 1; k--) rounds += 100;
    out[i] = rounds;
}
__kernel void decided_early(__global const int *in, __global int *out, int n, int m) {
    int i = get_global_id(0), x = 0, y = 0;
    bool inside = i < n, low = in[i] < m;
    int last = min(2 * i, m);
    for (int k = 0; k < in[i]; k++) {
        x += k;
        if (inside) x += 3;
    }
    for (int k = 0; k < last; k++) y += low ? k : 1;
    if (inside) out[i] = x * 1000 + y;
}
__kernel void columns(__global int *out) {
    int x = get_global_id(0), y = get_global_id(1), rounds = 0;
    for (int k = 0; k < x + 1; k++) rounds += y;
    for (int k = 0; k < y; k++) rounds += 100;
    out[get_global_linear_id()] = rounds;
}
__kernel void long_steps(__global int *out, int bound) {
    int i = get_global_id(0), rounds = 0;
    for (int k = i * 536870911; k < bound && rounds < 5; k += 3) rounds++;
    out[i] = rounds;
}
__kernel void checked(__global const int *in, __global int *out, int n, int m) {
    int i = get_global_id(0);
    if (i >= n) return;
    int x = in[i];
    if (i >= m) x = x & 1 ? 3 * x : x - 5;
    out[i] = x;
    for (int k = 0; k < m; k++)
        if (i + k < n) x += in[i + k];
    out[i] ^= x;
}
__kernel void one_of_all(__global int *out, int which, int n) {
    int i = get_global_id(0), x = 1;
    if (i == which) x += 10;
    if (3 * i != which) x += 100;
    if (-i == -which && n > 2) x += 1000;
    if (i == which || n > 4) x += 10000;
    out[i] = x;
}
__kernel void choices(__global const int *kind, __global int *out, int n) {
    int i = get_global_id(0), x = i;
    for (int k = 0; k < n; k++) {
        switch (kind[i] + (k & 1)) {
        case 0: x += k; break;
        case 1: x = x * 5 + 1; break;
        case 2: x ^= 77;
        default: x -= k;
        }
    }
    out[i] = x;
}
"""
WIDTHS = [1, 8, 16, None]
ITEMS = 96
GROUPS = [((3, 1, 1), (32, 1, 1)), ((4, 1, 1), (24, 1, 1))]
COUNTS = {
    "the same": np.full(ITEMS, 9),
    "none": np.zeros(ITEMS),
    "one differs": np.where(np.arange(ITEMS) == 37, 12, 9),
    "rising": np.arange(ITEMS) // 3,
    "any": np.random.default_rng(4).integers(0, 20, ITEMS),
}


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.fixture(params=COUNTS)
def counts(request: pytest.FixtureRequest) -> np.ndarray:
    return COUNTS[request.param].astype(np.int32)


def results(program: Program, name: str, *arguments: object) -> list[np.ndarray]:
    """What a kernel gives for every number of lanes; None stands for its output."""
    found = []
    for groups, size in GROUPS:
        for width in WIDTHS:
            out = np.zeros(ITEMS, np.int32)
            given = [out if each is None else each for each in arguments]
            run(program, name, groups, size, *given, width=width)
            found.append(out)
    return found


@pytest.mark.parametrize("n", [0, 1, 95, 96, 97, 300, 480, 1000])
def test_strides_of_the_whole_range(program: Program, n: int) -> None:
    data = (np.arange(n + 1) * 7 % 11).astype(np.int32)
    wanted = np.zeros(ITEMS, np.int32)
    for i in range(n):
        wanted[i % ITEMS] = wanted[i % ITEMS] * 3 + data[i]
    for out in results(program, "strides", data, None, np.int64(n)):
        np.testing.assert_array_equal(out, wanted)


def test_numbers_of_rounds(program: Program, counts: np.ndarray) -> None:
    sums = [sum(k ^ i for k in range(n)) * 64 + n for i, n in enumerate(counts.tolist())]
    for out in results(program, "rounds", counts, None):
        np.testing.assert_array_equal(out, sums)


@pytest.mark.parametrize("stop", [2, 5, 40])
def test_unsigned_bounds(program: Program, counts: np.ndarray, stop: int) -> None:
    wanted = [n if n <= stop else n - 3 * -(-(n - stop) // 3) for n in counts.tolist()]
    for out in results(program, "down", counts, None, np.uint32(stop)):
        np.testing.assert_array_equal(out, wanted)


def reference_within(counts: np.ndarray, data: np.ndarray) -> list[int]:
    result = [0] * ITEMS
    for i, rounds in enumerate(counts.tolist()):
        total = 0
        for row, number in enumerate(data.tolist()):
            if number & 1:
                total += row
            elif (number >> (i & 3)) & 1:
                continue
            last = 0
            for k in range(rounds):
                if ((k + i + row) & number) == 3:
                    break
                total += k * row
                last = k
            total ^= last
            if total > 9000:
                break
            result[i] = total
    return result


@pytest.mark.parametrize("kind", ["odd", "even", "mixed"])
def test_loops_in_loops(program: Program, counts: np.ndarray, kind: str) -> None:
    data = np.random.default_rng(9).integers(0, 64, 20).astype(np.int32)
    data = {"odd": data | 1, "even": data & ~1, "mixed": data}[kind]
    wanted = reference_within(counts, data)
    for out in results(program, "within", counts, data, None, np.int32(len(data))):
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("which", [-1, 0, 1, 31, 32, 45, 95, 96, 2**31 - 1, -(2**31)])
def test_one_lane_of_all(program: Program, which: int, n: int) -> None:
    i = np.arange(ITEMS)
    wanted = 1 + 10 * (i == which) + 100 * (3 * i != which)
    wanted += 1000 * ((i == which) & (n > 2)) + 10000 * ((i == which) | (n > 4))
    for out in results(program, "one_of_all", None, np.int32(which), np.int32(n)):
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("start", [0, 150, 2**32 - 97, 2**32 - 50, 2**32 - 1])
def test_numbers_that_wrap_between_lanes(program: Program, start: int) -> None:
    bound = 200
    firsts = ((start + i) % 2**32 for i in range(ITEMS))
    wanted = [max(0, -(-(bound - first) // 7)) for first in firsts]
    for out in results(program, "wrapping", None, np.uint32(start), np.uint32(bound)):
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("start", [0, 5, 40, 2**32 - 97, 2**32 - 50, 2**32 - 1])
@pytest.mark.parametrize("low", [-200, 40, 500])
def test_bounds_that_are_capped(program: Program, start: int, low: int) -> None:
    capped = [min((start + i) % 2**32, 9) for i in range(ITEMS)]
    raised = [max(2 * i - low, 3) for i in range(ITEMS)]
    wanted = [n + 100 * (m - 1) for n, m in zip(capped, raised, strict=True)]
    for out in results(program, "capped", None, np.uint32(start), np.int32(low)):
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("m", [0, 4, 15])
@pytest.mark.parametrize("n", [50, 96])
def test_conditions_of_earlier_blocks(program: Program, counts: np.ndarray, n: int, m: int) -> None:
    wanted = []
    for i, rounds in enumerate(counts.tolist()):
        x = sum(range(rounds)) + (3 * rounds if i < n else 0)
        last = min(2 * i, m)
        y = sum(range(last)) if rounds < m else max(last, 0)
        wanted.append(x * 1000 + y if i < n else 0)
    for out in results(program, "decided_early", counts, None, np.int32(n), np.int32(m)):
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_that_are_shorter_than_the_lanes(program: Program, width: int | None) -> None:
    out = np.zeros((16, 12), np.int32)
    run(program, "columns", (2, 1, 1), (6, 16, 1), out, width=width)
    x, y = np.arange(12), np.arange(16)[:, None]
    np.testing.assert_array_equal(out, (x + 1) * y + 100 * y)


@pytest.mark.parametrize("bound", [0, 1000, -(2**30), 2**30])
def test_steps_that_wrap_more_than_once(program: Program, bound: int) -> None:
    wanted = []
    for i in range(ITEMS):
        k, rounds = (i * 536870911 + 2**31) % 2**32 - 2**31, 0
        while k < bound and rounds < 5:
            k, rounds = k + 3, rounds + 1
        wanted.append(rounds)
    for out in results(program, "long_steps", None, np.int32(bound)):
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("m", [0, 5, 96])
@pytest.mark.parametrize("n", [0, 50, 64, 96])
def test_bounds_that_are_checked(program: Program, n: int, m: int) -> None:
    data = (np.arange(ITEMS) * 7 % 23).astype(np.int32)
    wanted = np.zeros(ITEMS, np.int32)
    for i in range(n):
        x = int(data[i])
        if i >= m:
            x = 3 * x if x & 1 else x - 5
        wanted[i] = x ^ (x + int(data[i : min(i + m, n)].sum()))
    for out in results(program, "checked", data, None, np.int32(n), np.int32(m)):
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("name", ["strides", "rounds", "within", "checked"])
def test_blocks_are_written_twice_without_mask_registers(program: Program, name: str) -> None:
    written_twice = "\nall" in program.write(name, (32, 1, 1)).text
    assert written_twice != host().has_mask_registers


def test_switches(program: Program, counts: np.ndarray) -> None:
    kinds = counts % 4
    wanted = []
    for i, kind in enumerate(kinds.tolist()):
        x = i
        for k in range(12):
            case = kind + (k & 1)
            if case == 0:
                x += k
            elif case == 1:
                x = x * 5 + 1
            else:
                x = (x ^ 77 if case == 2 else x) - k
        wanted.append(x)
    expected = np.array(wanted).astype(np.int64).astype(np.int32)
    for out in results(program, "choices", kinds.astype(np.int32), None, np.int32(12)):
        np.testing.assert_array_equal(out, expected)
