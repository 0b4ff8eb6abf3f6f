"""Stores that go around the cache, and those that must not."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.codegen.memory.nontemporal import nontemporal_stores
from groundstate.compiler.program import Program
from tests.compiler.runner import Local, program_of, run

SOURCE = """
__kernel void twice(__global const float *in, __global float *out) {
    size_t i = get_global_id(0);
    out[i] = 2 * in[i];
}
__kernel void twice4(__global const float4 *in, __global float4 *out) {
    size_t i = get_global_id(0);
    out[i] = 2 * in[i];
}
__kernel void some(__global const float *in, __global float *out, int n) {
    int i = get_global_id(0);
    if (i < n) out[i] = in[i] + 1;
}
__kernel void in_place(__global float *data) {
    size_t i = get_global_id(0);
    data[i] = 2 * data[i];
}
__kernel void again(__global float *out, int n) {
    for (int k = 0; k < n; k++) out[get_global_id(0)] = k;
}
__kernel void hinted(__global const float *in, __global float *out) {
    #pragma unroll 1
    for (int k = 0; k < 4; k++) {
        size_t i = 1024 * k + get_global_id(0);
        __builtin_nontemporal_store(2 * in[i], out + i);
    }
}
__kernel void hinted_and_fenced(__global float *out) {
    __builtin_nontemporal_store((float)get_global_id(0), out + get_global_id(0));
    write_mem_fence(CLK_GLOBAL_MEM_FENCE);
}
__kernel void shared(__global const float *in, __global float *out, __local float *shared) {
    shared[get_local_id(0)] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = shared[63 - get_local_id(0)];
}
__kernel void shared_with_others(__global const float *in, __global float *out) {
    out[get_global_id(0)] = in[get_global_id(0)];
    work_group_barrier(CLK_GLOBAL_MEM_FENCE, memory_scope_device);
}
__kernel void rows(__global const float *in, __global float *out) {
    size_t i = 16 * get_global_id(1) + get_global_id(0);
    out[i] = in[i];
}
__kernel void hinted_and_shared(__global float *out, __local float *shared) {
    shared[get_local_id(0)] = get_global_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    __builtin_nontemporal_store(shared[63 - get_local_id(0)], out + get_global_id(0));
}
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def aligned(count: int, start: int) -> np.ndarray:
    """Numbers that begin `start` floats behind a multiple of 64 bytes."""
    whole = np.zeros(count + 64, np.float32)
    first = -(whole.ctypes.data // 4) % 16 + start
    return whole[first : first + count]


@pytest.mark.parametrize("start", [0, 1, 8])
@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("name", ["twice", "twice4", "hinted"])
def test_results_are_the_same(program: Program, name: str, streams: bool, start: int) -> None:
    given = np.arange(4096, dtype=np.float32)
    out = aligned(4096, start)
    items = 4096 if name == "twice" else 1024
    run(program, name, (items // 64, 1, 1), (64, 1, 1), given, out, streams=streams)
    assert np.array_equal(out, 2 * given)


def test_lanes_that_are_not_there_write_nothing(program: Program) -> None:
    given, out = np.arange(256, dtype=np.float32), aligned(256, 0)
    run(program, "some", (4, 1, 1), (64, 1, 1), given, out, np.int32(201), streams=True)
    assert np.array_equal(out[:201], given[:201] + 1)
    assert not out[201:].any()


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("twice", 1),
        ("twice4", 1),
        ("some", 1),
        ("in_place", 0),
        ("again", 0),
        ("hinted", 1),
        ("hinted_and_fenced", 0),
        ("hinted_and_shared", 1),
        ("shared", 1),
        ("shared_with_others", 0),
    ],
)
def test_what_may_stream(program: Program, name: str, count: int) -> None:
    kernel = program.kernel(name)
    assert len(nontemporal_stores(kernel, CFG(kernel))) == count


@pytest.mark.parametrize("streams", [False, True])
def test_result_read_behind_barrier_is_right(program: Program, streams: bool) -> None:
    given, out = np.arange(256, dtype=np.float32), aligned(256, 0)
    shared = Local(256)
    run(program, "shared", (4, 1, 1), (64, 1, 1), given, out, shared, streams=streams)
    assert np.array_equal(out, given.reshape(4, 64)[:, ::-1].ravel())


def test_same_memory_read_and_written_does_not_stream(program: Program) -> None:
    """Two arguments may be the same memory: then its lines were just read."""
    text = program.write("twice", (64, 1, 1)).text
    assert text.count("icmp ne ptr") == 1
    data = aligned(256, 0)
    data[:] = np.arange(256)
    run(program, "twice", (4, 1, 1), (64, 1, 1), data, data, streams=True)
    assert np.array_equal(data, 2 * np.arange(256, dtype=np.float32))


def test_rows_shorter_than_a_line_do_not_stream(program: Program) -> None:
    assert "!nontemporal" in program.write("rows", (16, 4, 1)).text
    assert "!nontemporal" not in program.write("rows", (8, 8, 1), 8).text


def test_code_that_streams_says_so(program: Program) -> None:
    assert "!nontemporal" in program.write("twice", (64, 1, 1)).text
    assert "!nontemporal" in program.write("hinted", (64, 1, 1)).text
    assert "!nontemporal" not in program.write("in_place", (64, 1, 1)).text
