"""Which of LLVM's passes a kernel gets."""

from __future__ import annotations

import pytest

from groundstate.compiler.llvm import service
from groundstate.compiler.program import Program
from tests.compiler.runner import program_of

SOURCE = """
__kernel void sums(__global const float *x, __global float *y, int n) {
    float sum = 0;
    for (int k = 0; k < n; k++) sum += x[k * get_global_size(0) + get_global_id(0)] * x[k];
    y[get_global_id(0)] = sum;
}
__kernel void shifted(__global float *x, __local float *part) {
    int i = get_local_id(0), n = get_local_size(0);
    for (int k = 0; k < 6; k++) {
        part[i] = x[get_global_id(0)] * k;
        barrier(CLK_LOCAL_MEM_FENCE);
        x[get_global_id(0)] += part[(i + 1) % n];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.mark.parametrize("name", ["sums", "shifted"])
def test_vectors_are_one_function_without_copies_of_loops(program: Program, name: str) -> None:
    code = program.write(name, (64, 1, 1), 8)
    optimised = str(service.optimise(code.text, code.lanes))
    assert "define" in optimised
    assert "@step" not in optimised
    assert "alloca" not in optimised
    assert ".epil" not in optimised
