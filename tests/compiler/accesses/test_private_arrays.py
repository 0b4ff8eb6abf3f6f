"""Private arrays: interleaved where possible, right in any case."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.analysis.interleaving import interleaved_addresses
from groundstate.compiler.program import Program
from tests.compiler.runner import program_of, run

SOURCE = """
__kernel void table(__global const int *in, __global int *out, int n) {
    int a[16];
    int i = get_global_id(0);
    for (int k = 0; k < n; k++) a[k] = in[i * n + k];
    int s = 0;
    for (int k = 0; k < n; k++) s += a[(k * 7) % n] * a[k] + a[(i + k) % n];
    out[i] = s;
}
__kernel void square(__global const int *in, __global int *out, int n) {
    int a[4][4];
    int i = get_global_id(0);
    for (int j = 0; j < n; j++)
        for (int k = 0; k < n; k++) a[j][k] = in[i * 16 + j * 4 + k];
    int s = 0;
    for (int j = 0; j < n; j++)
        for (int k = 0; k < n; k++) s += a[k][(j + i) & 3] * (k + 1);
    out[i] = s;
}
__kernel void bytes(__global const int *in, __global int *out, int n) {
    uchar a[16];
    int i = get_global_id(0);
    for (int k = 0; k < n; k++) a[k] = in[i * n + k];
    int s = 0;
    for (int k = 0; k < n; k++) if (a[k] > 40) s += a[(a[k] + i) % n];
    out[i] = s;
}
__kernel void seen_in_two_ways(__global const int *in, __global int *out, int n) {
    int a[16];
    int i = get_global_id(0);
    for (int k = 0; k < n; k++) a[k] = in[i * n + k];
    int s = 0;
    for (int k = 0; k < n; k++) s += ((uchar *)a)[4 * k] + a[k];
    out[i] = s;
}
"""
KERNELS = ["table", "square", "bytes", "seen_in_two_ways"]


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def expected(name: str, given: np.ndarray, n: int) -> list[int]:
    sums = []
    for i in range(64):
        if name == "square":
            a = given[16 * i : 16 * i + 16].reshape(4, 4).astype(int)
            sums.append(sum(a[k][(j + i) & 3] * (k + 1) for j in range(n) for k in range(n)))
            continue
        a = given[n * i : n * i + n].astype(int)
        if name == "table":
            sums.append(sum(a[(k * 7) % n] * a[k] + a[(i + k) % n] for k in range(n)))
        elif name == "bytes":
            sums.append(sum(a[(a[k] + i) % n] for k in range(n) if a[k] > 40))
        else:
            sums.append(sum(2 * a[k] for k in range(n)))
    return [int(each) for each in sums]


@pytest.mark.parametrize("width", [1, 4, 16, 32, None])
@pytest.mark.parametrize("name", KERNELS)
def test_results(program: Program, name: str, width: int | None) -> None:
    n = 4 if name == "square" else 11
    given = np.random.default_rng(1).integers(0, 100, 64 * 16).astype(np.int32)
    out = np.zeros(64, np.int32)
    run(program, name, (2, 1, 1), (32, 1, 1), given, out, np.int32(n), width=width)
    assert list(out) == expected(name, given, n)


@pytest.mark.parametrize("name", KERNELS)
def test_which_are_interleaved(program: Program, name: str) -> None:
    kernel = program.kernel(name)
    has_array = any(node.op == "Variable" for node in kernel.nodes())
    assert has_array
    assert bool(interleaved_addresses(kernel, program.target)) == (name != "seen_in_two_ways")


@pytest.mark.parametrize(("name", "size_bytes"), [("table", 64), ("square", 64), ("bytes", 16)])
def test_their_memory_is_known(program: Program, name: str, size_bytes: int) -> None:
    assert program.signature(name).private_bytes == size_bytes
