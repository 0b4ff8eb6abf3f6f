"""How many work-items run side by side, for kernels that may choose."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler import pipeline
from groundstate.compiler.program import Program
from groundstate.compiler.target.host import host
from tests.compiler.runner import program_of, run

VALUES = 20
NAMES = [f"v{n}" for n in range(VALUES)]
DECLARED = ", ".join(f"{name} = in[i + {n}]" for n, name in enumerate(NAMES))
SUM = " + ".join(NAMES)
SOURCE = f"""
__kernel void search(__global const int *in, __global const int *table, __global int *out) {{
    int i = get_global_id(0), low = 0, high = 64, {DECLARED};
    while (low < high) {{
        int middle = (low + high) / 2;
        if (table[middle] < in[i]) low = middle + 1; else high = middle;
    }}
    out[i] = low ^ ({SUM});
}}
__kernel void count(__global const int *in, __global const int *table, __global int *out) {{
    int i = get_global_id(0), low = 0, {DECLARED};
    while (low * low < in[i]) low += table[0];
    out[i] = low ^ ({SUM});
}}
"""
ITEMS = 128


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def test_lanes_that_search_have_two_registers_for_each_value(program: Program) -> None:
    natural = host().lanes
    assert pipeline.specialise(program, "search", (64, 1, 1)).width == 2 * natural
    assert pipeline.specialise(program, "count", (64, 1, 1)).width == natural


@pytest.mark.parametrize("width", [1, 8, None])
def test_results(program: Program, width: int | None) -> None:
    given = np.random.default_rng(1).integers(0, 200, ITEMS + VALUES).astype(np.int32)
    table = np.arange(64, dtype=np.int32) * 3 + 1
    sums = np.lib.stride_tricks.sliding_window_view(given, VALUES)[:ITEMS].sum(1)
    roots = np.ceil(np.sqrt(given[:ITEMS])).astype(np.int64)
    for name, found in (("search", np.searchsorted(table, given[:ITEMS])), ("count", roots)):
        out = np.zeros(ITEMS, np.int32)
        run(program, name, (2, 1, 1), (64, 1, 1), given, table, out, width=width)
        np.testing.assert_array_equal(out, found ^ sums)
