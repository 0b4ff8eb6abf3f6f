"""Rows in lockstep that read next to each other what each lane reads far from the next."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler import pipeline
from groundstate.compiler.analysis.rows import rows_together, turned_loads
from groundstate.compiler.target.shapes import TURNED
from tests.compiler.runner import Size, program_of, run

TRANSPOSE = """
kernel void transpose(global const {type} *from, global {type} *to) {{
    int x = get_global_id(0), y = get_global_id(1);
    to[x * {rows} + y] = from[y * {columns} + x];
}}
"""
BORDERS = """
kernel void borders(global const float *from, global float *to, int n) {
    int x = get_global_id(0), y = get_global_id(1), width = get_global_size(0);
    to[x * n + y] = from[y * width + x] + from[y * width + max(x - 1, 0)] + x;
}
"""
TYPES = {"float": np.float32, "int": np.int32, "double": np.float64, "short": np.int16}
ROWS, COLUMNS = 64, 96


def numbers(dtype: type) -> np.ndarray:
    return np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS).astype(dtype)


@pytest.mark.parametrize("group", [(16, 16, 1), (8, 32, 1), (4, 16, 1), (6, 16, 1), (32, 8, 1)])
@pytest.mark.parametrize("name", TYPES)
def test_matrices_are_transposed(name: str, group: Size) -> None:
    source = TRANSPOSE.format(type=name, rows=ROWS, columns=COLUMNS)
    if name == "double":
        source = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" + source
    program, given = program_of(source), numbers(TYPES[name])
    groups = (COLUMNS // group[0], ROWS // group[1], 1)
    for width in (None, 1, TURNED + 8):
        result = np.zeros((COLUMNS, ROWS), given.dtype)
        run(program, "transpose", groups, group, given, result, width=width)
        assert np.array_equal(result, given.T), width


def test_what_is_not_in_a_row_is_loaded_alone() -> None:
    program, given = program_of(BORDERS), numbers(np.float32)
    before = np.concatenate((given[:, :1], given[:, :-1]), axis=1)
    for width in (None, 1, TURNED + 16):
        result = np.zeros((COLUMNS, ROWS), np.float32)
        arguments = (given, result, np.int32(ROWS))
        run(program, "borders", (6, 4, 1), (16, 16, 1), *arguments, width=width)
        assert np.array_equal(result, (given + before + np.arange(COLUMNS)).T), width


def test_rows_of_a_transposition_run_in_lockstep() -> None:
    program = program_of(TRANSPOSE.format(type="float", rows=ROWS, columns=COLUMNS))
    divergence = pipeline.specialise(program, "transpose", (16, 16, 1))
    assert len(turned_loads(divergence)) == 1
    assert rows_together(divergence).vectors >= 4
    straight = pipeline.specialise(program, "transpose", (16, 16, 1), 16)
    assert not turned_loads(straight)
