"""Private structures and vectors: seen whole and in parts, copied, the same for all lanes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.analysis.divergence import VARYING, Divergence
from groundstate.compiler.analysis.shared_variables import stack_variables
from groundstate.compiler.ir.passes import Variant
from groundstate.compiler.program import Program
from groundstate.compiler.target import Target
from tests.compiler.instructions.instruction_support import each_item, module
from tests.compiler.runner import program_of, run

SOURCE = """
typedef struct { float part[4]; } four;
typedef struct { uchar small; long large; } gapped;
typedef struct { uint scale, shift; float by; } settings;

__kernel void vector_of_parts(__global const int *in, __global int *out, int n) {
    float a[4];
    int i = get_global_id(0);
    for (int k = 0; k < n; k++) a[k] = in[4 * i + k];
    float4 whole = *(float4 *)a * (float4)(1, 2, 3, 4);
    *(float4 *)a = whole;
    float s = 0;
    for (int k = 0; k < n; k++) s = 3 * s + a[k];
    out[i] = (int)s;
}
__kernel void bytes_of_a_number(__global const int *in, __global int *out, int n) {
    uchar a[4];
    int i = get_global_id(0);
    *(uint *)a = in[i] * 2654435761u;
    int s = 0;
    for (int k = 0; k < n; k++) s = 5 * s + a[k];
    for (int k = 0; k < n; k++) a[k] += k;
    out[i] = s ^ (int)*(uint *)a;
}
__kernel void copies(__global const int *in, __global int *out, int n) {
    four a = {{0, 0, 0, 0}}, b;
    int i = get_global_id(0);
    b = a;
    for (int k = 0; k < n; k++) b.part[k] += in[4 * i + k];
    a = b;
    float s = 0;
    for (int k = 0; k < n; k++) s = 3 * s + a.part[k] + b.part[3 - k];
    out[i] = (int)s;
}
__kernel void copies_with_gaps(__global const int *in, __global int *out, int n) {
    gapped a[2], b;
    int i = get_global_id(0);
    for (int k = 0; k < 2; k++) { a[k].small = in[4 * i + k]; a[k].large = in[4 * i + k + 1]; }
    ((uchar *)&a[n & 1])[1] = in[4 * i + 3];
    b = a[n & 1];
    out[i] = b.small + (int)b.large * 3 + ((uchar *)&b)[1] * (n > 3);
}
__kernel void same_for_all(__global const int *in, __global int *out, int n) {
    settings s[2];
    s[0].scale = n; s[0].shift = n + 1; s[0].by = n;
    s[1] = s[0];
    s[1].scale += in[0];
    int i = get_global_id(0);
    out[i] = in[i * s[n & 1].scale % 64] + s[1].shift + (int)s[i & 1].by;
}
__kernel void different_for_some(__global const int *in, __global int *out, int n) {
    settings s[2];
    s[0].scale = n; s[0].shift = n; s[0].by = n;
    s[1] = s[0];
    int i = get_global_id(0);
    if (in[i] > 50) s[n & 1].scale = 3;
    out[i] = in[i * s[n & 1].scale % 64] + s[0].shift;
}
__kernel void same_until_a_barrier(__global const int *in, __global int *out, int n) {
    __local int sums[32];
    settings s[2];
    s[0].scale = n; s[0].shift = n + 1; s[0].by = n;
    s[1] = s[0];
    int i = get_global_id(0), x = get_local_id(0), by = (int)s[n & 1].by;
    sums[x] = in[i * s[n & 1].scale % 64];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = sums[31 - x] + by;
}
__kernel void same_behind_a_barrier(__global const int *in, __global int *out, int n) {
    __local int sums[32];
    settings s[2];
    uint part = get_sub_group_id() + n;
    s[0].scale = part; s[0].shift = part + 1; s[0].by = n;
    s[1] = s[0];
    int i = get_global_id(0), x = get_local_id(0);
    sums[x] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = sums[31 - x] + s[n & 1].scale * 100 + s[1].shift * 1000;
}
__kernel void never_written(__global const int *in, __global int *out, int n) {
    settings s[2];
    s[n & 1].scale = in[0];
    int i = get_global_id(0), x = s[1].shift > 3 ? 5 : 5;
    out[i] = s[n & 1].scale + x;
}
__kernel void same_after_meeting(__global const int *in, __global int *out, int n) {
    int i = get_global_id(0), step = 64, total = 0;
    while (step > 1) {
        if (step > n) {
            if (in[i] > step) total += in[(i + step) % 64];
            step = (step + 1) / 2;
        } else {
            step -= 3;
        }
    }
    out[i] = total + step;
}
"""


def of_parts(a: np.ndarray, i: int, n: int) -> int:
    s = 0.0
    for k in range(n):
        s = 3 * s + float(a[4 * i + k]) * (k + 1)
    return int(s)


def of_bytes(a: np.ndarray, i: int, n: int) -> int:
    number = int(a[i]) * 2654435761 % 2**32
    parts = list(number.to_bytes(4, "little"))
    s = 0
    for k in range(n):
        s = 5 * s + parts[k]
    changed = bytes((parts[k] + k) % 256 for k in range(n))
    return int(np.int32(s) ^ np.frombuffer(changed, np.int32)[0])


def of_copies(a: np.ndarray, i: int, n: int) -> int:
    s = 0
    for k in range(n):
        s = 3 * s + int(a[4 * i + k]) + int(a[4 * i + 3 - k])
    return s


def of_gaps(a: np.ndarray, i: int, n: int) -> int:
    small, large, between = (int(a[4 * i + k]) for k in (n & 1, (n & 1) + 1, 3))
    return small + 3 * large + between


def of_same(a: np.ndarray, i: int, n: int) -> int:
    scales = [n, n + int(a[0])]
    return int(a[i * scales[n & 1] % 64]) + n + 1 + n


def of_different(a: np.ndarray, i: int, n: int) -> int:
    scale = 3 if a[i] > 50 else n
    return int(a[i * scale % 64]) + n


def of_until(a: np.ndarray, i: int, n: int) -> int:
    return int(a[(i // 32 * 32 + 31 - i % 32) * n % 64]) + n


def of_never(a: np.ndarray, i: int, n: int) -> int:
    return int(a[0]) + 5


def of_meeting(a: np.ndarray, i: int, n: int) -> int:
    step, total = 64, 0
    while step > 1:
        if step > n:
            total += int(a[(i + step) % 64]) if a[i] > step else 0
            step = (step + 1) // 2
        else:
            step -= 3
    return total + step


KERNELS: dict[str, Callable[[np.ndarray, int, int], int]] = {
    "vector_of_parts": of_parts,
    "bytes_of_a_number": of_bytes,
    "copies": of_copies,
    "copies_with_gaps": of_gaps,
    "same_for_all": of_same,
    "different_for_some": of_different,
    "same_until_a_barrier": of_until,
    "never_written": of_never,
    "same_after_meeting": of_meeting,
}


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.mark.parametrize("width", [1, 4, 16, None])
@pytest.mark.parametrize("name", KERNELS)
def test_results(program: Program, name: str, width: int | None) -> None:
    given = np.random.default_rng(2).integers(0, 100, 256).astype(np.int32)
    out = np.zeros(64, np.int32)
    run(program, name, (2, 1, 1), (32, 1, 1), given, out, np.int32(4), width=width)
    assert list(out) == [KERNELS[name](given, i, 4) for i in range(64)]


@pytest.mark.parametrize("width", [4, 8, 16, None])
def test_subgroups_keep_own_copy_across_barrier(program: Program, width: int | None) -> None:
    given = np.arange(64, dtype=np.int32)
    out = np.zeros(64, np.int32)
    name = "same_behind_a_barrier"
    run(program, name, (2, 1, 1), (32, 1, 1), given, out, np.int32(4), width=width)
    i = np.arange(64)
    part = i % 32 // (width or 16) + 4
    expected = given[i // 32 * 32 + 31 - i % 32] + part * 100 + (part + 1) * 1000
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("name", "passing"),
    [("same_for_all", 1), ("same_until_a_barrier", 1), ("same_behind_a_barrier", 0)],
)
def test_variable_not_crossing_barrier_uses_stack(
    program: Program, name: str, passing: int
) -> None:
    found = analysed(program, name)
    assert len(stack_variables(found.kernel, found.shared)) == passing


def analysed(program: Program, name: str) -> Divergence:
    kernel = program.kernel(name)
    return Divergence(kernel, CFG(kernel), Variant((32, 1, 1), 16, 16), Target(lanes=8))


@pytest.mark.parametrize("name", ["vector_of_parts", "bytes_of_a_number", "copies"])
def test_parts_of_all_lanes_lie_together(program: Program, name: str) -> None:
    found = analysed(program, name)
    variables = [node for node in found.kernel.nodes() if node.op == "Variable"]
    assert variables
    assert all(variable in found.interleaved for variable in variables)


@pytest.mark.parametrize(("name", "shared"), [("same_for_all", 1), ("different_for_some", 0)])
def test_what_is_the_same_for_all_has_one_copy(program: Program, name: str, shared: int) -> None:
    assert len(analysed(program, name).shared) == shared


def test_lanes_that_met_again_came_the_same_way(program: Program) -> None:
    found = analysed(program, "same_after_meeting")
    conditions = [block.condition for block in found.kernel.blocks if block.condition is not None]
    assert [found.stride(each) for each in conditions].count(VARYING) == 1


def test_lifetime_marker_is_no_use_of_address() -> None:
    body = """
        %v = OpVariable %p*u32 Function
        %life = OpBitcast %p*u8 %v
        OpLifetimeStart %life 4
        OpStore %v %a Aligned 4
        %r = OpLoad %u32 %v Aligned 4
        OpLifetimeStop %life 4
    """
    kernel = Program(module(each_item([body], ["u32"], ["u32"]))).kernel("kernel")
    assert not [node for node in kernel.nodes() if node.op in ("Variable", "Bitcast")]
