"""Private arrays: interleaved where possible, right in any case."""

from __future__ import annotations

import re

import numpy as np
import pytest

from groundstate.compiler.analysis.interleaving import interleaved_addresses
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.target.host import host
from groundstate.compiler.target.x86 import AVX2, AVX512
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


MEETING = """
__kernel void table(__global const int *in, __global int *out, int n) {
    int a[16];
    int i = get_global_id(0);
    for (int k = 0; k < n; k++) a[k] = in[i * n + k];
    MEET;
    int s = 0;
    for (int k = 0; k < n; k++) s += a[(k * 7) % n];
    out[i] = s;
}
"""


@pytest.mark.parametrize(("meet", "copies"), [("", 1), ("barrier(CLK_GLOBAL_MEM_FENCE)", 64 // 8)])
def test_subgroups_use_the_same_memory_unless_they_meet(meet: str, copies: int) -> None:
    program = program_of(MEETING.replace("MEET", meet))
    assert program.write("table", (64, 1, 1), 8).private_bytes == copies * 8 * 64
    given = np.random.default_rng(1).integers(0, 100, 64 * 11).astype(np.int32)
    out = np.zeros(64, np.int32)
    run(program, "table", (1, 1, 1), (64, 1, 1), given, out, np.int32(11), width=8)
    assert (out == given.reshape(64, 11).sum(axis=1)).all()


# --- Some lanes write -----------------------------------------------------------------------------

PARTIAL = """
__kernel void partial(__global const int *length, __global long *out, int n) {
    TYPE row[8];
    int i = get_global_id(0);
    for (int k = 0; k < 8; k++) row[k] = k + 1;
    for (int k = 0; k < length[i]; k++)
        for (int j = 0; j < n; j++) row[j] = row[j] * 3 + k;
    long sum = 0;
    for (int k = 0; k < n; k++) sum = sum * 5 + (long)row[k];
    out[i] = sum;
}
"""
TYPES = {"uchar": np.uint8, "short": np.int16, "uint": np.uint32, "float": np.float32, "long": int}
MASKED_STORE = re.compile(r"call void @llvm\.masked\.store\.")


@pytest.mark.parametrize("width", [1, 8, 16, None])
@pytest.mark.parametrize("name", TYPES)
def test_lanes_that_have_left_keep_their_elements(name: str, width: int | None) -> None:
    source = PARTIAL.replace("TYPE", name)
    length = np.random.default_rng(3).integers(0, 6, 64).astype(np.int32)
    row = np.tile(np.arange(1, 9).astype(TYPES[name]), (64, 1))
    for k in range(int(length.max())):
        row = np.where(length[:, None] > k, (row * 3 + k).astype(TYPES[name]), row)
    sums = np.zeros(64, np.int64)
    for k in range(8):
        sums = sums * 5 + row[:, k].astype(np.int64)
    programs = [program_of(source)]
    if host().lanes >= AVX2.lanes:
        programs.append(Program(compile_opencl(source), target=AVX2))
    for each in programs:
        out = np.zeros(64, np.int64)
        run(each, "partial", (2, 1, 1), (32, 1, 1), length, out, np.int32(8), width=width)
        assert (out == sums).all()


@pytest.mark.parametrize(("target", "stores"), [(AVX2, False), (AVX512, True)])
def test_elements_are_blended_without_mask_registers(target: object, stores: bool) -> None:
    source = PARTIAL.replace("TYPE", "uint")
    program = Program(compile_opencl(source), target=target)  # type: ignore[arg-type]
    text = program.write("partial", (64, 1, 1), 16).text
    assert bool(MASKED_STORE.search(text)) == stores
