"""Numbers of one work-item that lie side by side, such as a float4: LLVM packs them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from groundstate.compiler.llvm import backend
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.target.host import host
from tests.compiler.runner import program_of, run

SOURCE = """
__kernel void pulls(__global const float4 *at, __global const int *others,
                    __global const int *count, __global float4 *out) {
    int i = get_global_id(0);
    float4 mine = at[i], sum = 0;
    for (int k = 0; k < count[i]; k++) {
        float4 way = mine - at[others[i * 4 + k]];
        sum += way * (1 / (way.x * way.x + way.y * way.y + way.z * way.z + 1));
    }
    out[i] = sum;
}
"""
PACKED = re.compile(r"f(add|mul|sub) (contract )?<4 x float>|@llvm\.fma\.v4f32\(")


def optimised(*options: str) -> str:
    """LLVM IR of one work-item at a time."""
    program = Program(compile_opencl(SOURCE, options=options), target=host())
    return str(backend.optimise(program.write("pulls", (64, 1, 1), 1).text, 1))


def test_vector_of_one_item_is_packed() -> None:
    assert PACKED.search(optimised())


def test_numbers_that_may_be_fused_are_not_packed() -> None:
    assert not PACKED.search(optimised("-cl-mad-enable"))


@pytest.mark.parametrize("width", [1, 8])
def test_packed_sums_are_those_of_every_shape(width: int) -> None:
    chance = np.random.default_rng(4)
    at = chance.random((64, 4), dtype=np.float32)
    others = chance.integers(0, 64, 256).astype(np.int32)
    count = chance.integers(0, 5, 64).astype(np.int32)
    out, expected = np.zeros_like(at), np.zeros_like(at)
    run(program_of(SOURCE), "pulls", (1, 1, 1), (64, 1, 1), at, others, count, out, width=width)
    run(program_of(SOURCE), "pulls", (1, 1, 1), (64, 1, 1), at, others, count, expected, width=16)
    assert (out == expected).all()
