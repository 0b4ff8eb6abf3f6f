"""Work-items that walk along rows of their own: several steps at once give the same results."""

from __future__ import annotations

import ctypes
import itertools
import mmap
from typing import Any

import numpy as np
import pytest

from groundstate.compiler.pipeline import specialise
from groundstate.compiler.program import Program
from groundstate.compiler.spirv.types import Vector
from tests.compiler.runner import program_of, run

WIDTHS = (1, 4, 8, 16, 32, None)
ITEMS, GROUP = 96, 48
NO_RESERVE = 0x4000
"""MAP_NORESERVE of Linux, which Python's mmap does not have everywhere."""
SOURCE = """
#define SUM(name, T, I, first, last, step)                                                  \\
__kernel void name(__global const int *starts, __global const T *x, __global int *y, I n) { \\
    int i = get_global_id(0);                                                               \\
    int sum = 5;                                                                            \\
    for (I j = first; last; step) sum = sum * 3 + x[j];                                     \\
    y[i] = sum;                                                                             \\
}
SUM(rows, int, int, starts[i], j < starts[i + 1], j++)
SUM(rows_of_bytes, uchar, int, starts[i], j < starts[i + 1], j++)
SUM(rows_of_shorts, short, long, starts[i], j < starts[i + 1], j++)
SUM(fixed_rows, char, int, i * n, j < i * n + n, j++)
SUM(unsigned_rows, int, uint, i * n, j != i * n + n, j++)
SUM(backwards, int, int, starts[i + 1] - 1, j >= starts[i], j--)
__kernel void floats(__global const int *starts, __global const float *x, __global float *y,
                     int n) {
    int i = get_global_id(0);
    float sum = 0;
    for (int j = starts[i]; j < starts[i + 1]; j++) sum += x[j] * sum + x[j];
    y[i] = sum;
}
__kernel void branching(__global const int *starts, __global const uchar *x, __global int *y,
                        int n) {
    int i = get_global_id(0), quotes = 0, fields = 0, other = 0;
    for (int j = 0; j < n; j++) {
        uchar c = x[i * n + j];
        if (c < 60) quotes ^= 1;
        else if (c < 120 && !quotes) fields++;
        else other += c;
    }
    y[i] = fields * 100000 + other * 2 + quotes;
}
__kernel void scratch(__global const int *starts, __global const uchar *x, __global int *y, int n) {
    int i = get_global_id(0), sum = 0, kept[8];
    for (int j = 0; j < 8; j++) kept[j] = j;
    for (int j = 0; j < n; j++) kept[j & 7] = kept[(j + 3) & 7] * 5 + x[i * n + j];
    for (int j = 0; j < 8; j++) sum = sum * 3 + kept[j];
    y[i] = sum;
}
__kernel void wraps(__global const int *starts, __global const uchar *x, __global int *y, uint n) {
    uint i = get_global_id(0);
    int sum = 5;
    for (uint j = 0; j < n; j++) sum = sum * 3 + x[(uint)(starts[i] + j)];
    y[i] = sum;
}
"""
NAMES = ("rows", "rows_of_bytes", "rows_of_shorts", "fixed_rows", "unsigned_rows", "backwards")
TYPES = {"rows_of_bytes": np.uint8, "rows_of_shorts": np.int16, "fixed_rows": np.int8}


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def launch(program: Program, name: str, width: int | None, *arguments: object) -> None:
    run(program, name, (ITEMS // GROUP, 1, 1), (GROUP, 1, 1), *arguments, width=width)


def at_the_end_of_memory(numbers: np.ndarray) -> tuple[np.ndarray, mmap.mmap]:
    """The same numbers, with nothing behind them that could be read."""
    pages = -(-numbers.nbytes // mmap.PAGESIZE) + 1
    memory = mmap.mmap(-1, pages * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    end = (pages - 1) * mmap.PAGESIZE
    libc = ctypes.CDLL(None)
    assert libc.mprotect(ctypes.c_void_p(start + end), mmap.PAGESIZE, 0) == 0
    placed: Any = np.frombuffer(memory, numbers.dtype, len(numbers), end - numbers.nbytes)
    placed[:] = numbers
    return placed, memory


def summed(row: np.ndarray) -> int:
    total = 5
    for each in row.tolist():
        total = (total * 3 + each) & 0xFFFFFFFF
    return total


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("longest", [1, 6, 40])
@pytest.mark.parametrize("name", NAMES)
def test_every_length_of_row(program: Program, name: str, longest: int, width: int | None) -> None:
    chance = np.random.default_rng(longest)
    kind = TYPES.get(name, np.int32)
    is_fixed = name in ("fixed_rows", "unsigned_rows")
    lengths = np.full(ITEMS, longest) if is_fixed else chance.integers(0, longest + 1, ITEMS)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    info = np.iinfo(kind)
    x = chance.integers(info.min, info.max, starts[-1], kind, endpoint=True)
    x, kept = at_the_end_of_memory(x)
    y = np.zeros(ITEMS, np.uint32)
    n: Any = np.int64(longest) if name == "rows_of_shorts" else np.int32(longest)
    launch(program, name, width, starts, x, y, n)
    rows = [x[first:last] for first, last in itertools.pairwise(starts)]
    turn = -1 if name == "backwards" else 1
    assert y.tolist() == [summed(row[::turn]) for row in rows]
    del kept


@pytest.mark.parametrize("width", WIDTHS)
def test_float_sums_are_in_order(program: Program, width: int | None) -> None:
    chance = np.random.default_rng(3)
    starts = np.concatenate(([0], np.cumsum(chance.integers(0, 30, ITEMS)))).astype(np.int32)
    x = chance.random(starts[-1], np.float32)
    one, other = np.zeros(ITEMS, np.float32), np.zeros(ITEMS, np.float32)
    launch(program, "floats", 1, starts, x, one, np.int32(0))
    launch(program, "floats", width, starts, x, other, np.int32(0))
    np.testing.assert_array_equal(one.view(np.uint32), other.view(np.uint32))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n", [0, 1, 4, 5, 31])
def test_lanes_part_in_iterations(program: Program, n: int, width: int | None) -> None:
    x = np.random.default_rng(n).integers(0, 256, ITEMS * n).astype(np.uint8)
    y, wanted = np.zeros(ITEMS, np.int32), []
    for row in x.reshape(ITEMS, n).tolist() if n else [[]] * ITEMS:
        quotes = fields = other = 0
        for c in row:
            if c < 60:
                quotes ^= 1
            elif c < 120 and not quotes:
                fields += 1
            else:
                other += c
        wanted.append(fields * 100000 + other * 2 + quotes)
    launch(program, "branching", width, np.zeros(1, np.int32), x, y, np.int32(n))
    assert y.tolist() == wanted


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n", [3, 4, 5, 30])
def test_private_memory_is_written_meanwhile(program: Program, n: int, width: int | None) -> None:
    x = np.random.default_rng(n).integers(0, 256, (ITEMS, n)).astype(np.uint8)
    y, wanted = np.zeros(ITEMS, np.uint32), []
    for row in x.tolist():
        kept, total = list(range(8)), 0
        for j, each in enumerate(row):
            kept[j & 7] = kept[(j + 3) & 7] * 5 + each
        for each in kept:
            total = total * 3 + each
        wanted.append(total & 0xFFFFFFFF)
    launch(program, "scratch", width, np.zeros(1, np.int32), x, y, np.int32(n))
    assert y.tolist() == wanted


@pytest.mark.parametrize("width", WIDTHS)
def test_index_wraps_within_a_row(program: Program, width: int | None) -> None:
    """In some lanes, and in some of the steps that are taken at once."""
    anywhere = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
    x: Any = np.frombuffer(mmap.mmap(-1, 1 << 32, anywhere), np.uint8)
    ends = np.random.default_rng(8).integers(0, 256, 400).astype(np.uint8)
    x[-200:], x[:200] = ends[:200], ends[200:]
    starts = np.arange(ITEMS, dtype=np.int32) - 80
    y = np.zeros(ITEMS, np.uint32)
    launch(program, "wraps", width, starts, x, y, np.uint32(30))
    assert y.tolist() == [summed(ends[200 + start :][:30]) for start in starts]


@pytest.mark.parametrize("name", ["wraps", "scratch", *NAMES[:-1], "floats", "branching"])
def test_neighbours_are_read_at_once(program: Program, name: str) -> None:
    kernel = specialise(program, name, (GROUP, 1, 1), 16).kernel
    loads = [node for node in kernel.nodes() if node.op == "Load"]
    assert any(isinstance(node.type, Vector) and node.type.count == 4 for node in loads)
