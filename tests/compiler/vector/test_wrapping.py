"""Indices of 32 bits that pass their end while the lanes go up."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from groundstate.compiler import pipeline
from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.ir.parser import parse_kernel
from groundstate.compiler.ir.passes import Variant
from groundstate.compiler.program import Program
from groundstate.compiler.target import Target
from tests.compiler.runner import program_of, run

SOURCE = """
__kernel void from(__global const uchar *table, __global uchar *out, uint start) {
    uint i = get_global_id(0) + start;
    out[get_global_id(0)] = table[i];
}
__kernel void to(__global uchar *table, uint start) {
    uint i = start + get_global_id(0);
    table[i] = get_global_id(0) + 1;
}
__kernel void later(__global const uchar *table, __global uchar *out, uint start, int n) {
    uint i = get_global_id(0) + start;
    uchar sum = 0;
    for (int k = 0; k < n; k++) sum += table[i];
    if (sum > 3) sum += table[i + 1];
    out[get_global_id(0)] = sum;
}
__kernel void pairs(__global const uchar *table, __global uchar *out, uint start) {
    uint i = 2 * get_global_id(0) + start;
    uchar2 pair = *(__global const uchar2 *)(table + i);
    out[get_global_id(0)] = pair.x + 2 * pair.y;
}
"""
TABLE_BYTES = 1 << 32
MAP_NORESERVE = 0x4000
STARTS = [0, 100, TABLE_BYTES - 64, TABLE_BYTES - 20, TABLE_BYTES - 1]
WIDTHS = [1, 8, 16, None]


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.fixture
def table() -> np.ndarray:
    """As many bytes as there are indices; only pages that are written take memory."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
    return np.frombuffer(mmap.mmap(-1, TABLE_BYTES, flags), np.uint8)


def indices(start: int) -> np.ndarray:
    return (np.arange(64, dtype=np.uint64) + start) % TABLE_BYTES


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("start", STARTS)
def test_loads(program: Program, table: np.ndarray, start: int, width: int | None) -> None:
    table[indices(start)] = np.arange(64) + 7
    out = np.zeros(64, np.uint8)
    run(program, "from", (2, 1, 1), (32, 1, 1), table, out, np.uint32(start), width=width)
    assert np.array_equal(out, np.arange(64) + 7)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("start", STARTS)
def test_stores(program: Program, table: np.ndarray, start: int, width: int | None) -> None:
    run(program, "to", (2, 1, 1), (32, 1, 1), table, np.uint32(start), width=width)
    assert np.array_equal(table[indices(start)], np.arange(64) + 1)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("start", STARTS)
def test_an_index_used_in_other_blocks(
    program: Program, table: np.ndarray, start: int, width: int | None
) -> None:
    table[indices(start)] = np.arange(64) % 5
    out = np.zeros(64, np.uint8)
    numbers = (np.uint32(start), np.int32(3))
    run(program, "later", (2, 1, 1), (32, 1, 1), table, out, *numbers, width=width)
    own, beside = np.arange(64) % 5 * 3, table[indices(start + 1)]
    assert np.array_equal(out, own + np.where(own > 3, beside, 0))


def test_neighbours_are_read_together(program: Program) -> None:
    assert "near." in program.write("from", (32, 1, 1)).text


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("start", [start for start in STARTS if start % 2 == 0])
def test_vectors(program: Program, table: np.ndarray, start: int, width: int | None) -> None:
    places = (np.arange(128, dtype=np.uint64) + start) % TABLE_BYTES
    table[places] = np.arange(128) % 41
    out = np.zeros(64, np.uint8)
    run(program, "pairs", (2, 1, 1), (32, 1, 1), table, out, np.uint32(start), width=width)
    pairs = table[places].reshape(64, 2)
    assert np.array_equal(out, pairs[:, 0] + 2 * pairs[:, 1])


SHIFTED_IDS = """
kernel "shifted ids"
block 0:
  %0: u64 = Builtin ["LocalInvocationId", 0]
  %1: u32 = UConvert %0
  %2: u32 = ShiftLeftLogical %1, u32:30
  %3: u32 = ShiftRightArithmetic %2, u32:30
  %4: u32 = ShiftLeftLogical %1, u32:5
  %5: u32 = ShiftRightArithmetic %4, u32:3
  %6: u64 = ShiftLeftLogical %0, u64:32
  %7: u64 = ShiftRightArithmetic %6, u64:30
  return
"""


def test_bits_that_are_shifted_out_of_an_id_are_gone() -> None:
    """What is left of it starts over in the middle of a vector, unless all of it is left."""
    kernel = parse_kernel(SHIFTED_IDS)
    divergence = Divergence(kernel, CFG(kernel), Variant((64, 1, 1), 16, 16), Target(16))
    strides = {node.index: divergence.stride(node) for node in kernel.nodes()}
    assert [strides[each] for each in (3, 5, 7)] == [None, 4, 4]


ROWS = """
kernel void rows(global const float *from, global float *to) {
    int i = get_global_id(0);
    to[i] = from[i * 24] + from[i * 24 + 23];
}
"""


def test_rows_of_any_length_lie_at_fixed_steps() -> None:
    program = program_of(ROWS)
    divergence = pipeline.specialise(program, "rows", (64, 1, 1), 16)
    loads = [node for node in divergence.kernel.nodes() if node.op == "Load"]
    assert {divergence.stride(load.operands[0]) for load in loads} == {96}
    given = np.random.default_rng(1).random((64, 24)).astype(np.float32)
    result = np.zeros(64, np.float32)
    for width in WIDTHS:
        run(program, "rows", (1, 1, 1), (64, 1, 1), given, result, width=width)
        assert np.array_equal(result, given[:, 0] + given[:, 23])
