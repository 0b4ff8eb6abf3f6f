"""Loops of a few rounds at most, and loads next to each other: the results stay the same."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np
import pytest

from groundstate.compiler.pipeline import specialise
from groundstate.compiler.program import Program
from groundstate.compiler.spirv.types import Vector
from tests.compiler.runner import program_of, run
from tests.compiler.spirv.assembler import assemble

SOURCE = """
#define SHORT(name, T, C, count)                                                              \\
__kernel void name(__global const T *x, long incx, __global const T *a, __global T *y, long n) { \\
    long i = get_global_id(0), all = get_global_size(0);                                      \\
    T sum = 0;                                                                                \\
    for (; i * C < n; i += all) {                                                             \\
        long left = n - i * C, rounds = count;                                                \\
        for (int k = 0; k < rounds; k++) sum = sum * 3 + x[(i * C + k) * incx] * (a + i * C)[k]; \\
    }                                                                                         \\
    y[get_global_id(0)] = sum;                                                                \\
}
SHORT(four, float, 4, left < 4 ? left : 4)
SHORT(four_doubles, double, 4, min(left, 4L))
SHORT(two, int, 2, 2 < left ? 2 : left)
SHORT(three, uint, 3, (long)min((ulong)left, 3ul))
SHORT(nine, int, 9, min(9L, left))
__kernel void writes(__global int *x, __global int *y, long n) {
    long i = get_global_id(0), rounds = n - i < 4 ? n - i : 4;
    for (int k = 0; k < rounds; k++) {
        x[4 * i + k + 1] += x[4 * i + k] * 3;
        y[i] += x[4 * i];
    }
}
__kernel void other_steps(__global const int *x, __global int *y, int n) {
    int i = get_global_id(0), rounds = n > 6 ? 6 : n, sum = 0;
    for (int k = 0; k < rounds; k += 2) sum = sum * 5 + x[8 * i + k] - x[8 * i + k + 1];
    int last = n > 5 ? 5 : n;
    for (int k = last; k > 0; k--) sum = sum * 7 + x[8 * i + k];
    y[i] = sum;
}
__kernel void after_a_choice(__global const int *x, __global int *y, int n) {
    int i = get_global_id(0), sum = 0, k = 0;
    if (x[8 * i] & 1) {
        int rounds = min(x[8 * i + 1], 4);
        for (; k < rounds; k++) sum = sum * 5 + x[8 * i + k];
    }
    y[i] = sum * 16 + k;
}
__kernel void in_a_row(__global const float *x, __global float *y, long n) {
    long i = get_global_id(0);
    if (i >= n) return;
    float a = x[4 * i], b = x[4 * i + 1], c = x[4 * i + 2], d = x[4 * i + 3];
    y[i] = ((a * 3 + b) * 3 + c) * 3 + d;
}
__kernel void pairs(__global const double *x, __global double *y, long n) {
    long i = get_global_id(0);
    if (i < n) y[i] = x[2 * i + 3] * 3 + x[2 * i + 2] + x[2 * i + 3];
}
__kernel void written_between(__global int *x, __global int *y, long n) {
    long i = get_global_id(0);
    if (i >= n) return;
    int a = x[4 * i], b = x[4 * i + 1];
    x[4 * i + 2] = 77;
    y[i] = ((a * 3 + b) * 3 + x[4 * i + 2]) * 3 + x[4 * i + 3];
}
__kernel void three_of_four(__global const int *x, __global int *y, long n) {
    long i = get_global_id(0);
    if (i < n) y[i] = (x[4 * i] * 3 + x[4 * i + 1]) * 3 + x[4 * i + 2];
}
"""
WIDTHS = [1, 4, 8, 16, 32, None]
ITEMS = 64
KINDS = {
    "four": (4, np.float32),
    "four_doubles": (4, np.float64),
    "two": (2, np.int32),
    "three": (3, np.uint32),
    "nine": (9, np.int32),
}


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def vectors(program: Program, name: str, width: int = 16) -> list[Vector]:
    """The vectors that a kernel loads."""
    nodes = list(specialise(program, name, (32, 1, 1), width).kernel.nodes())
    loaded = [node.type for node in nodes if node.op == "Load"]
    return [each for each in loaded if isinstance(each, Vector)]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("incx", [1, 2, 0])
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.filterwarnings("ignore:overflow")
def test_a_few_at_a_time(program: Program, name: str, incx: int, width: int | None) -> None:
    step, kind = KINDS[name]
    for n in (0, 1, step, 31 * step + 1, 64 * step - 1, 64 * step, 150 * step + 2):
        source = np.random.default_rng(n)
        x, a = (source.integers(0, 5, 2 * n + 1).astype(kind) for _ in range(2))
        wanted = np.zeros(ITEMS, kind)
        for i in range(ITEMS):
            for first in range(i * step, n, ITEMS * step):
                for k in range(first, min(first + step, n)):
                    wanted[i] = wanted[i] * kind(3) + x[k * incx] * a[k]
        y = np.zeros(ITEMS, kind)
        given = (x, np.int64(incx), a, y, np.int64(n))
        run(program, name, (2, 1, 1), (32, 1, 1), *given, width=width)
        np.testing.assert_allclose(y, wanted, 1e-4 if kind == np.float32 else 1e-12)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n", [0, 3, 40, 63, 64, 65, 70])
def test_what_a_round_writes_the_next_one_reads(
    program: Program, n: int, width: int | None
) -> None:
    x = (np.arange(4 * ITEMS + 8) % 7).astype(np.int32)
    y = np.zeros(ITEMS, np.int32)
    wanted_x, wanted_y = x[:].copy(), y.copy()
    for i in range(ITEMS):
        share = wanted_x if i == 0 else wanted_x.copy()
        for k in range(min(n - i, 4)):
            share[4 * i + k + 1] += share[4 * i + k] * 3
            wanted_y[i] += share[4 * i]
    run(program, "writes", (2, 1, 1), (32, 1, 1), x, y, np.int64(n), width=width)
    # Only the last of a lane's numbers is also the next one's first.
    np.testing.assert_array_equal(y[:1], wanted_y[:1])
    np.testing.assert_array_equal(x[1:4], wanted_x[1:4])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n", [-1, 0, 1, 4, 5, 6, 7, 100])
def test_counters_of_other_kinds(program: Program, n: int, width: int | None) -> None:
    x = np.random.default_rng(3).integers(0, 9, 8 * ITEMS).astype(np.int32)
    y = np.zeros(ITEMS, np.int32)
    run(program, "other_steps", (2, 1, 1), (32, 1, 1), x, y, np.int32(n), width=width)
    rows = x.reshape(ITEMS, 8)
    wanted = np.zeros(ITEMS, np.int32)
    for k in range(0, min(n, 6), 2):
        wanted = wanted * 5 + rows[:, k] - rows[:, k + 1]
    for k in range(min(n, 5), 0, -1):
        wanted = wanted * 7 + rows[:, k]
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("width", WIDTHS)
def test_lanes_that_do_not_agree(program: Program, width: int | None) -> None:
    x = np.random.default_rng(5).integers(0, 9, 8 * ITEMS).astype(np.int32)
    y = np.zeros(ITEMS, np.int32)
    run(program, "after_a_choice", (2, 1, 1), (32, 1, 1), x, y, np.int32(0), width=width)
    for row, found in zip(x.reshape(ITEMS, 8).tolist(), y.tolist(), strict=True):
        rounds = min(row[1], 4) if row[0] & 1 else 0
        total = 0
        for k in range(rounds):
            total = total * 5 + row[k]
        assert found == total * 16 + rounds


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n", [0, 1, 17, 63, 64])
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("in_a_row", np.float32),
        ("pairs", np.float64),
        ("written_between", np.int32),
        ("three_of_four", np.int32),
    ],
)
def test_neighbours(
    program: Program, name: str, kind: type[np.generic], n: int, width: int | None
) -> None:
    x = np.random.default_rng(7).integers(0, 9, 4 * ITEMS + 4).astype(kind)
    a, b, c, d = (x[k : k + 4 * ITEMS : 4] for k in range(4))
    wanted = {
        "in_a_row": ((a * 3 + b) * 3 + c) * 3 + d,
        "pairs": x[3:131:2] * 4 + x[2:130:2],
        "written_between": ((a * 3 + b) * 3 + 77) * 3 + d,
        "three_of_four": (a * 3 + b) * 3 + c,
    }[name]
    wanted = np.where(np.arange(ITEMS) < n, wanted, 0)
    y = np.zeros(ITEMS, kind)
    run(program, name, (2, 1, 1), (32, 1, 1), x, y, np.int64(n), width=width)
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_read_behind_the_end(program: Program, width: int | None) -> None:
    page = mmap.PAGESIZE
    room = mmap.mmap(-1, 2 * page)
    memory = np.frombuffer(room, np.uint8)
    protect = ctypes.CDLL(None).mprotect
    assert protect(ctypes.c_void_p(memory.ctypes.data + page), ctypes.c_size_t(page), 0) == 0
    x = memory[page - 63 * 16 : page].view(np.float32)
    x[:] = np.arange(63 * 4)
    y = np.zeros(ITEMS, np.float32)
    run(program, "in_a_row", (2, 1, 1), (32, 1, 1), x, y, np.int64(63), width=width)
    a, b, c, d = (x[k::4] for k in range(4))
    np.testing.assert_array_equal(y[:63], ((a * 3 + b) * 3 + c) * 3 + d)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("four", [4, 4]),
        ("four_doubles", [4, 4]),
        ("two", [2, 2]),
        ("three", []),
        ("nine", [4] * 5),  # not by its limit: as rows, four steps at a time
        ("in_a_row", [4]),
        ("pairs", []),
        ("written_between", []),
        ("three_of_four", []),
    ],
)
def test_what_becomes_vectors(program: Program, name: str, counts: list[int]) -> None:
    assert [each.count for each in vectors(program, name)] == counts


def loop(number: int, before: str, sum_before: str, after: str, operation: str) -> str:
    """A loop between two blocks that adds up what lies in a row, or subtracts it."""
    return f"""
%head{number} = OpLabel
%k{number} = OpPhi %u64 %zero {before} %next{number} %body{number}
%s{number} = OpPhi %u32 {sum_before} {before} %sum{number} %body{number}
%go{number} = OpULessThan %bool %k{number} %rounds
OpBranchConditional %go{number} %body{number} {after}
%body{number} = OpLabel
%index{number} = OpIAdd %u64 %at %k{number}
%place{number} = OpInBoundsPtrAccessChain %p32 %x %index{number}
%value{number} = OpLoad %u32 %place{number} Aligned 4
%scaled{number} = OpIMul %u32 %s{number} %seven
%sum{number} = {operation} %u32 %scaled{number} %value{number}
%next{number} = OpIAdd %u64 %k{number} %one
OpBranch %head{number}
"""


TWO_IN_A_ROW = """
OpCapability Kernel
OpCapability Addresses
OpCapability Int64
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %two "two" %id
OpDecorate %id BuiltIn GlobalInvocationId
%void = OpTypeVoid
%bool = OpTypeBool
%u32 = OpTypeInt 32 0
%u64 = OpTypeInt 64 0
%v3 = OpTypeVector %u64 3
%pv3 = OpTypePointer Input %v3
%p32 = OpTypePointer CrossWorkgroup %u32
%f = OpTypeFunction %void %p32 %p32 %u64
%zero = OpConstant %u64 0
%one = OpConstant %u64 1
%four = OpConstant %u64 4
%none = OpConstant %u32 0
%seven = OpConstant %u32 7
%id = OpVariable %pv3 Input
%two = OpFunction %void None %f
%x = OpFunctionParameter %p32
%y = OpFunctionParameter %p32
%n = OpFunctionParameter %u64
%entry = OpLabel
%ids = OpLoad %v3 %id
%i = OpCompositeExtract %u64 %ids 0
%at = OpIMul %u64 %i %four
%few = OpULessThan %bool %n %four
%rounds = OpSelect %u64 %few %n %four
OpBranch %head1
"""
TWO_IN_A_ROW += loop(1, "%entry", "%none", "%head2", "OpIAdd")
TWO_IN_A_ROW += loop(2, "%head1", "%s1", "%end", "OpISub")
TWO_IN_A_ROW += """
%end = OpLabel
%out = OpInBoundsPtrAccessChain %p32 %y %i
OpStore %out %s2 Aligned 4
OpReturn
OpFunctionEnd
"""


def sums_and_differences(x: np.ndarray, rounds: int) -> np.ndarray:
    """What the first loop and then the second leave for each work-item."""
    wanted = np.zeros(ITEMS, np.uint32)
    for sign in (1, -1):
        for k in range(rounds):
            wanted = wanted * 7 + x[k::4] * np.uint32(sign % (1 << 32))
    return wanted


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n", [0, 1, 3, 4, 9])
def test_a_loop_that_ends_where_another_begins(n: int, width: int | None) -> None:
    x = np.random.default_rng(9).integers(0, 9, 4 * ITEMS).astype(np.uint32)
    y = np.zeros(ITEMS, np.uint32)
    program = Program(assemble(TWO_IN_A_ROW))
    run(program, "two", (2, 1, 1), (32, 1, 1), x, y, np.uint64(n), width=width)
    np.testing.assert_array_equal(y, sums_and_differences(x, min(n, 4)))


@pytest.mark.parametrize("rounds", [0, 3, 4])
def test_clz_is_not_taken_for_trip_count_limit(rounds: int) -> None:
    text = TWO_IN_A_ROW.replace("OpSelect %u64 %few %n %four", "OpExtInst %u64 %opencl clz %n")
    text = text.replace("OpMemoryModel", '%opencl = OpExtInstImport "OpenCL.std"\nOpMemoryModel')
    x, y = np.arange(4 * ITEMS, dtype=np.uint32), np.zeros(ITEMS, np.uint32)
    program = Program(assemble(text))
    run(program, "two", (2, 1, 1), (32, 1, 1), x, y, np.uint64(1 << 63 - rounds))
    np.testing.assert_array_equal(y, sums_and_differences(x, rounds))
