"""Sparse matrices: rows of different lengths, and columns anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.cases import Argument, Array, Case
from benchmarks.kernels.irregular.inputs import GROUP, empty, floats, generator, lengths, offsets

NONZEROS = 16
"""In a row on average."""


def row_sums(products: Array, row_offsets: Array) -> Array:
    """The sum of each row; no row is empty."""
    return np.asarray(np.add.reduceat(products.astype(np.float64), row_offsets[:-1]))


def spmv_csr(inputs: str, rows: int) -> Case:
    """A matrix in compressed rows times a vector: one work-item for each row."""

    def arguments() -> list[Argument]:
        length = lengths(inputs, rows, NONZEROS)
        total = int(length.sum())
        columns = generator(4).integers(0, rows, total, dtype=np.int32)
        given = [offsets(length), columns, floats(total), floats(rows, seed=5), empty(rows)]
        return [*given, np.int32(rows)]

    def product(given: list[Any]) -> Array:
        return row_sums(given[2] * given[3].astype(np.float64)[given[1]], given[0])

    return Case(
        "spmv_csr",
        f"SpMV in CSR, {inputs} rows",
        (rows,),
        (GROUP,),
        arguments,
        4,
        product,
        work=rows * NONZEROS,
        unit="G nonzeros/s",
        tolerance=1e-5,
        limit="spmv_csr",
        inputs=inputs,
    )


WIDTHS = {"uniform": 32, "skewed": 128, "adversarial": 128}
"""How many nonzeros the longest row has."""


def spmv_ell(inputs: str, entries: int) -> Case:
    """A matrix whose rows are stored as long as the longest, column by column, padded with 0."""
    width = WIDTHS[inputs]
    rows = entries // width

    def arguments() -> list[Argument]:
        length = np.minimum(lengths(inputs, rows, NONZEROS), width)
        there = np.arange(width)[:, None] < length[None, :]
        columns = np.where(there, generator(4).integers(0, rows, there.shape), 0).astype(np.int32)
        values = np.where(there, floats(width, rows) + np.float32(0.5), np.float32(0))
        given = [columns, values, floats(rows, seed=5), empty(rows)]
        return [*given, np.int32(rows), np.int32(width)]

    def product(given: list[Any]) -> Array:
        return np.asarray((given[1] * given[2].astype(np.float64)[given[0]]).sum(axis=0))

    return Case(
        "spmv_ell",
        f"SpMV in ELL, {inputs} rows",
        (rows,),
        (GROUP,),
        arguments,
        3,
        product,
        work=entries,
        unit="G entries/s",
        tolerance=1e-5,
        limit="spmv_ell",
        inputs=inputs,
    )


def triangular_solve(inputs: str, rows: int) -> Case:
    """One level of solving L x = b: rows that need only what earlier levels have found.

    The matrix has twice as many rows. Half of them, anywhere, are already solved.
    """

    def arguments() -> list[Argument]:
        order = generator(14).permutation(2 * rows).astype(np.int32)
        solved, level = order[:rows], order[rows:]
        length = np.ones(2 * rows, np.int32)
        length[level] += lengths(inputs, rows, NONZEROS)
        starts = offsets(length)
        columns = solved[generator(15).integers(0, rows, int(starts[-1]))]
        columns[starts[1:] - 1] = np.arange(2 * rows)
        values = floats(int(starts[-1])) - np.float32(0.5)
        values[starts[1:] - 1] = NONZEROS
        known = empty(2 * rows)
        known[solved] = floats(rows, seed=16)
        given = [starts, columns, values, floats(2 * rows, seed=17), level, known]
        return [*given, np.int32(rows)]

    def solution(given: list[Any]) -> Array:
        starts, columns, values, right, level, known, _ = given
        products = values * known.astype(np.float64)[columns]
        products[starts[1:] - 1] = 0
        solved = known.astype(np.float64)
        solved[level] = ((right - row_sums(products, starts)) / values[starts[1:] - 1])[level]
        return np.asarray(solved)

    return Case(
        "triangular_solve",
        f"sparse triangular solve, a level, {inputs} rows",
        (rows,),
        (GROUP,),
        arguments,
        5,
        solution,
        work=rows * NONZEROS,
        unit="G nonzeros/s",
        tolerance=1e-5,
        limit="triangular_solve",
        inputs=inputs,
    )
