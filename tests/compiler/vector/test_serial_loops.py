"""Loops of one work-item that LLVM is told not to unroll."""

from __future__ import annotations

import pytest

from groundstate.compiler.codegen.control.loop_hints import SERIAL_LOOP
from groundstate.compiler.codegen.group_loop import KEEP
from groundstate.compiler.program import Program
from tests.compiler.runner import program_of

SOURCE = """
__kernel void float_sum(__global const float *in, __global float *out, int n) {
    float sum = 0.0f;
    for (int i = get_global_id(0); i < n; i++)
        sum += in[i];
    out[get_global_id(0)] = sum;
}
__kernel void integer_sum(__global const int *in, __global int *out, int n) {
    int sum = 0;
    for (int i = get_global_id(0); i < n; i++)
        sum += in[i];
    out[get_global_id(0)] = sum;
}
__kernel void copy(__global const float *in, __global float *out, int n) {
    for (int i = get_global_id(0); i < n; i++)
        out[i] = in[i];
}
__kernel void straight(__global const float *in, __global float *out, int n) {
    out[get_global_id(0)] = in[get_global_id(0)];
}
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.mark.parametrize(
    ("name", "width", "count"),
    [("float_sum", 1, 1), ("float_sum", 8, 0), ("integer_sum", 1, 0), ("copy", 1, 0)],
)
def test_only_chains_of_sums_are_not_unrolled(
    program: Program, name: str, width: int, count: int
) -> None:
    text = program.write(name, (64, 1, 1), width).text
    assert text.count(f"!llvm.loop {SERIAL_LOOP}") == count


@pytest.mark.parametrize(
    ("name", "width", "stays"),
    [("copy", 1, True), ("float_sum", 1, True), ("copy", 8, False), ("straight", 1, False)],
)
def test_loop_over_work_items_with_loops_inside_is_not_unrolled(
    program: Program, name: str, width: int, stays: bool
) -> None:
    text = program.write(name, (64, 1, 1), width).text
    assert (f'!{{!"{KEEP}"}}' in text) == stays
