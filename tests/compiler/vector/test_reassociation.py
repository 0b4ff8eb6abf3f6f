"""Sums of floats change their order only where the module allows it, in one work-item's loops."""

from __future__ import annotations

import re

import numpy as np
import pytest

from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from tests.compiler.runner import run

ITEMS, GROUP = 64, (32, 1, 1)
SOURCE = """
__kernel void rows(__global const float *x, __global const float *w, __global float *y, int n) {
    int i = get_global_id(0);
    float sum = 0;
    for (int j = 0; j < n; j++) sum += x[i * n + j] * w[j];
    y[i] = sum;
}
"""
OPTIONS = ("", "-cl-mad-enable", "-cl-unsafe-math-optimizations", "-cl-fast-relaxed-math")


def program_with(option: str) -> Program:
    return Program(compile_opencl(SOURCE, options=option.split()))


def sums_of(program: Program, width: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """What a kernel computes, and what it should, more precisely."""
    chance = np.random.default_rng(n)
    x, w = chance.random((ITEMS, n), np.float32), chance.random(n, np.float32)
    y = np.zeros(ITEMS, np.float32)
    run(program, "rows", (ITEMS // 32, 1, 1), GROUP, x, w, y, np.int32(n), width=width)
    return y, x.astype(np.float64) @ w.astype(np.float64)


@pytest.mark.parametrize("option", OPTIONS)
def test_only_some_options_allow_another_order(option: str) -> None:
    text = program_with(option).write("rows", GROUP, 1).text
    assert ("reassoc" in text) == (option in OPTIONS[2:])
    assert "reassoc" not in program_with(option).write("rows", GROUP, 16).text


def test_loop_of_one_work_item_becomes_vectors() -> None:
    from groundstate.compiler.llvm import backend

    for option in OPTIONS:
        text = program_with(option).write("rows", GROUP, 1).text
        optimised = str(backend.optimise(text, 1))
        added = re.search(r"f(add|muladd|ma)\S* .*<\d+ x float>", optimised)
        assert (added is not None) == (option in OPTIONS[2:])


@pytest.mark.parametrize("n", [0, 1, 7, 100, 1000])
@pytest.mark.parametrize("option", OPTIONS)
def test_sums_are_precise(option: str, n: int) -> None:
    program = program_with(option)
    for width in (1, 8, 16):
        found, wanted = sums_of(program, width, n)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("option", OPTIONS[:2])
def test_without_them_all_shapes_give_the_same_bits(option: str) -> None:
    program = program_with(option)
    found = [sums_of(program, width, 333)[0].tobytes() for width in (1, 4, 8, 16, 32)]
    assert len(set(found)) == 1
