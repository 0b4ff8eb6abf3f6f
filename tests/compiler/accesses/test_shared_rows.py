"""Work-items that share a row by parts of their local ids: what lanes have in common is known."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.pipeline import specialise
from groundstate.compiler.program import Program
from tests.compiler.runner import program_of, run

GROUPS = ((64, 1, 1), (96, 1, 1), (32, 4, 1), (48, 1, 1), (1, 64, 1), (40, 3, 1))
COUNT = 1024
PARTS = {
    "shifted": "id >> 5, id & 31",
    "divided": "id / 32, id % 32",
    "unsigned_parts": "(int)((uint)id / 32u), (int)((uint)id % 32u)",
    "by_48": "id / 48, id % 48",
    "by_8": "id >> 3, id & 7",
    "low_bits": "id >> 2, id & 30",
    "bytes": "(uchar)id >> 5, (uchar)id & 31",
}
SOURCE = "".join(
    f"""
__kernel void {name}_{axis}(__global const int *x, __global int *rows, __global int *found) {{
    int id = {local};
    int2 part = (int2)({parts});
    size_t all = get_local_size(0) * get_local_size(1);
    size_t at = get_group_id(0) * all + get_local_id(1) * get_local_size(0) + get_local_id(0);
    rows[at] = part.x * 1000 + x[part.x];
    found[at] = part.y * 1000 + x[part.y];
}}
"""
    for name, parts in PARTS.items()
    for axis, local in (("x", "get_local_id(0)"), ("linear", "get_local_linear_id()"))
)


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def parts_of(name: str, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    divisor = {"by_48": 48, "by_8": 8, "low_bits": 4}.get(name, 32)
    if name == "low_bits":
        return ids // 4, ids & 30
    return ids // divisor, ids % divisor


@pytest.mark.parametrize("width", [1, 4, 8, 16, 32, None])
@pytest.mark.parametrize("axis", ["x", "linear"])
@pytest.mark.parametrize("name", PARTS)
def test_parts_of_local_ids(program: Program, name: str, axis: str, width: int | None) -> None:
    x = np.random.default_rng(5).integers(0, 1000, COUNT).astype(np.int32)
    for group in GROUPS:
        size = group[0] * group[1]
        rows, found = np.zeros(2 * size, np.int32), np.zeros(2 * size, np.int32)
        run(program, f"{name}_{axis}", (2, 1, 1), group, x, rows, found, width=width)
        ids = np.tile(np.arange(size) % (group[0] if axis == "x" else size), 2)
        row, place = parts_of(name, ids)
        np.testing.assert_array_equal(rows, row * 1000 + x[row])
        np.testing.assert_array_equal(found, place * 1000 + x[place])


@pytest.mark.parametrize(
    ("name", "width", "strides"),
    [
        ("shifted_x", 32, [0, 4]),
        ("divided_x", 16, [0, 4]),
        ("unsigned_parts_linear", 8, [0, 4]),
        ("by_48_x", 16, [0, 4]),
        ("by_48_x", 32, [None, None]),
        ("by_8_x", 8, [0, 4]),
        ("by_8_x", 16, [None, None]),
    ],
)
def test_row_is_the_same_in_all_lanes(
    program: Program, name: str, width: int, strides: list[int | None]
) -> None:
    divergence = specialise(program, name, (64, 1, 1), width)
    loads = [node for node in divergence.kernel.nodes() if node.op == "Load"]
    assert [divergence.stride(node.operands[0]) for node in loads] == strides


def test_rows_that_are_no_vectors_are_not_shared(program: Program) -> None:
    divergence = specialise(program, "shifted_x", (40, 3, 1), 16)
    loads = [node for node in divergence.kernel.nodes() if node.op == "Load"]
    assert all(divergence.stride(node.operands[0]) is None for node in loads)
