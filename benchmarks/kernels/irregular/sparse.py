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
