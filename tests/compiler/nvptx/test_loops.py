"""Loops of threads compute the same with pointers for addresses, and with merged exits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.program.ptx_program import compile_ptx
from groundstate.compiler.spirv.types import Pointer
from groundstate.compiler.target.nvptx import nvptx
from tests.compiler.nvptx.emulation import Emulated

Floats = NDArray[np.float32]

SOURCE = """
kernel void columns(global const float *a, global float *out, long n, long rows) {
    long column = get_global_id(0);
    float sum = 0;
    for (long k = 0; k < rows; k++)
        sum += a[k * n + column] * (k + 1) + a[(k + 1) * n + column + 2];
    out[column] = sum;
}
kernel void backwards(global const float *a, global float *out, long n, long rows) {
    long column = get_global_id(0);
    float sum = 0;
    for (long k = rows - 1; k >= 0; k -= 3)
        sum = sum * 0.5f + a[k * n + column];
    out[column] = sum;
}
kernel void several(global const float *a, global float *out, long n, long rows) {
    long column = get_global_id(0);
    float sum = 0;
    for (long i = 0; i < 3; i++) {
        for (long k = i; k < rows; k += 2) {
            if (a[k * n + column] < 0) continue;
            sum += a[k * n + column] + a[k * (n - 1) + i];
        }
    }
    out[column] = sum;
}
kernel void until(global const float *a, global int *out, long n, long rows) {
    long column = get_global_id(0);
    float x = a[column];
    int step = 0;
    while (step < rows && x < 40) {
        x = x * 1.5f + 1;
        step++;
    }
    out[column] = step + (int)n * 0;
}
"""
N, ROWS = 32, 13


def columns(a: Floats, at: int) -> float:
    k = np.arange(ROWS)
    return float((a[k * N + at] * (k + 1) + a[(k + 1) * N + at + 2]).sum())


def backwards(a: Floats, at: int) -> float:
    total = 0.0
    for k in range(ROWS - 1, -1, -3):
        total = total * 0.5 + float(a[k * N + at])
    return total


def several(a: Floats, at: int) -> float:
    pairs = ((i, k) for i in range(3) for k in range(i, ROWS, 2) if a[k * N + at] >= 0)
    return sum(float(a[k * N + at]) + float(a[k * (N - 1) + i]) for i, k in pairs)


def until(a: Floats, at: int) -> float:
    x, step = float(a[at]), 0
    while step < ROWS and x < 40:
        x, step = x * 1.5 + 1, step + 1
    return step


@pytest.mark.parametrize("wanted", [columns, backwards, several, until])
def test_loop_computes_what_it_says(wanted: object) -> None:
    assert callable(wanted)
    name = wanted.__name__
    module = compile_ptx(compile_opencl(SOURCE), sm=90, kernels=[name])
    a = np.random.default_rng(5).integers(-9, 30, (ROWS + 2) * N + 8).astype(np.float32)
    found = np.zeros(N, np.int32 if name == "until" else np.float32)
    sizes = (number.to_bytes(8, "little") for number in (N, ROWS))
    Emulated(module).run(name, (2, 1, 1), (N // 2, 1, 1), a, found, *sizes)
    assert np.allclose(found, [wanted(a, at) for at in range(N)], rtol=1e-5)


@pytest.mark.parametrize(("name", "pointers"), [("columns", 2), ("backwards", 1), ("several", 6)])
def test_addresses_are_pointers(name: str, pointers: int) -> None:
    """One for each access; clang makes three loops of the inner one of `several`."""
    kernel = Program(compile_opencl(SOURCE), target=nvptx(90)).kernel(name)
    phis = [phi for block in kernel.blocks for phi in block.phis if isinstance(phi.type, Pointer)]
    assert len(phis) == pointers


UNSIGNED = """
kernel void matrix(global const float *a, global float *out, uint n, uint start, uint rows) {
    uint row = get_global_id(0);
    float sum = 0;
    for (uint k = 0; k < rows; k++)
        sum = sum * 0.5f + a[k * n + start + row] + a[row * rows + k];
    out[row] = sum;
}
kernel void wide(global const float *a, global float *out, uint low, uint start, uint rows) {
    ulong row = get_global_id(0), n = (ulong)low << 32 | low;
    float sum = 0;
    for (ulong k = 0; k < rows; k++)
        sum = sum * 0.5f + a[(uint)(k * n + start + row)] + a[row * rows + k];
    out[row] = sum;
}
"""


@pytest.mark.parametrize("name", ["matrix", "wide"])
@pytest.mark.parametrize(
    ("n", "start", "rows"),
    [
        (N, 0, ROWS),
        (N, 3, 1),
        (N, 3, 0),
        ((1 << 32) - 1, ROWS + 3, ROWS),  # backwards: it wraps each time
        ((1 << 32) - N, N, 2),  # from N to 0
        (0, 7, ROWS),
    ],
)
def test_unsigned_index_may_wrap(name: str, n: int, start: int, rows: int) -> None:
    """There are two loops. One is for when it does not."""
    module = compile_ptx(compile_opencl(UNSIGNED), sm=90, kernels=[name])
    a = np.random.default_rng(5).integers(-9, 30, (ROWS + 2) * N + 8).astype(np.float32)
    found, expected = np.zeros(N, np.float32), np.zeros(N, np.float32)
    sizes = (number.to_bytes(4, "little") for number in (n, start, rows))
    Emulated(module).run(name, (2, 1, 1), (N // 2, 1, 1), a, found, *sizes)
    for row in range(N):
        total = 0.0
        for k in range(rows):
            total = total * 0.5 + float(a[(k * n + start + row) % (1 << 32)]) + a[row * rows + k]
        expected[row] = total
    assert np.allclose(found, expected, rtol=1e-5)


def test_unsigned_indices_are_pointers_if_they_do_not_wrap() -> None:
    kernel = Program(compile_opencl(UNSIGNED), target=nvptx(90)).kernel("matrix")
    phis = [[phi for phi in block.phis if isinstance(phi.type, Pointer)] for block in kernel.blocks]
    assert sorted(len(each) for each in phis if each) == [2]
    assert [node.op for block in kernel.blocks for node in block.nodes].count("NeverWraps") == 2
