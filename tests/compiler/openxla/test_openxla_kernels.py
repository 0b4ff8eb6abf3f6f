"""Kernels that OpenXLA writes for a GPU, as the plugin of JAX 0.11.2 hands them to Level Zero.

`modules/` has what it made of a few functions of a matrix of 2048 x 2048 floats, of products of
512 x 512 and 300 x 300, and of one of 512 x 384 by the transpose of 128 x 384. Each is run for some
of its groups and compared with NumPy.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from groundstate.compiler.pipeline import specialise
from groundstate.compiler.program import Program
from groundstate.compiler.spirv.types import Vector
from tests.compiler.runner import run

MODULES = Path(__file__).parent / "modules"
Floats = NDArray[np.float32]


def launch(name: str, groups: int, items: int, *arguments: Floats) -> None:
    """Runs the first groups of the kernel of a module."""
    program = Program((MODULES / f"{name}.spv").read_bytes())
    (kernel,) = program.kernel_names
    run(program, kernel, (groups, 1, 1), (items, 1, 1), *arguments)


def numbers(rows: int, columns: int) -> Floats:
    return np.random.default_rng(rows).standard_normal((rows, columns), dtype=np.float32)


def test_rows_are_added_up() -> None:
    matrix, sums = numbers(8, 2048), np.zeros(9, np.float32)
    launch("row_sums", 4, 256, matrix, sums)
    np.testing.assert_allclose(sums[:8], matrix.sum(1), rtol=1e-4, atol=1e-4)
    assert sums[8] == 0


def test_largest_of_columns_keeps_nans_and_signs_of_zeros() -> None:
    """A group has 64 columns. Of two equal numbers the first stays, as in `first >= second`."""
    matrix, largest = numbers(2048, 2048), np.zeros(2048, np.float32)
    matrix[:, 1], matrix[:, 2] = -0.0, -1.0
    matrix[5, 0] = np.nan
    matrix[::2, 2] = np.where(np.arange(1024) < 512, -0.0, 0.0)
    launch("column_maxima", 1, 1024, matrix, largest)
    np.testing.assert_array_equal(largest[:64], matrix.max(0)[:64])
    assert largest.view(np.uint32)[0] == 0x7FC00000
    assert np.signbit(largest[1:3]).all()
    assert not largest[64:].any()


def test_rows_are_multiplied_by_a_vector() -> None:
    matrix, sums = numbers(8, 2048), np.zeros(9, np.float32)
    launch("row_products", 4, 256, matrix, sums)
    np.testing.assert_allclose(sums[:8], matrix @ matrix[0], rtol=1e-4, atol=1e-3)


def test_numerators_of_softmax_are_stored_and_added_up() -> None:
    matrix = numbers(8, 2048)
    highest, sums, powers = matrix.max(1), np.zeros(8, np.float32), np.zeros_like(matrix)
    launch("softmax_numerators", 4, 256, matrix, highest, sums, powers)
    expected = np.exp(matrix - highest[:, None])
    np.testing.assert_allclose(powers, expected, rtol=1e-5)
    np.testing.assert_allclose(sums, expected.sum(1), rtol=1e-4)


def test_matrices_are_multiplied() -> None:
    left, right = numbers(512, 512), numbers(512, 513)[:, :512].copy()
    product = np.zeros((512, 512), np.float32)
    launch("product", 4 * 16, 128, left, right, product)
    np.testing.assert_allclose(product[:16], left[:16] @ right, rtol=1e-4, atol=1e-3)
    assert not product[16:].any()


@pytest.mark.parametrize("groups", [1, 19, 704])
def test_rows_that_end_inside_of_groups_are_multiplied(groups: int) -> None:
    """Of 300 columns; the last groups have work-items behind the matrix, which do nothing."""
    left, right = numbers(300, 300), numbers(301, 300)[:300].copy()
    product = np.zeros(90_000 + 128, np.float32)
    launch("product_of_300", groups, 128, left, right, product)
    made = min(groups * 128, 90_000)
    np.testing.assert_allclose(product[:made], (left @ right).ravel()[:made], rtol=1e-4, atol=1e-3)
    assert not product[made:].any()


def test_rows_are_multiplied_by_rows() -> None:
    """Lanes walk along rows of 384 numbers and read four of them at a time."""
    program = Program((MODULES / "product_with_transposed.spv").read_bytes())
    kernel = specialise(program, "wrapped_dot", (128, 1, 1), 16).kernel
    loads = [node for node in kernel.nodes() if node.op == "Load"]
    assert sum(isinstance(node.type, Vector) and node.type.count == 4 for node in loads) == 12
    left, right = numbers(512, 384), numbers(128, 384)
    product = np.zeros((512, 128), np.float32)
    launch("product_with_transposed", 16, 128, left, right, product)
    np.testing.assert_allclose(product[:16], left[:16] @ right.T, rtol=1e-4, atol=1e-3)
    assert not product[16:].any()


def test_transposed_matrix_is_added() -> None:
    """A group makes a tile of 32 x 32."""
    matrix = numbers(2048, 2048)
    result = np.full_like(matrix, np.nan)
    launch("transposed_sum", 6, 128, matrix, result)
    written = ~np.isnan(result)
    assert written.sum() == 6 * 32 * 32
    np.testing.assert_array_equal(result[written], (matrix + matrix.T)[written])


@pytest.mark.parametrize("width", [1, 32])
def test_product_does_not_depend_on_how_lanes_run(width: int) -> None:
    left, right = numbers(512, 512), numbers(512, 513)[:, :512].copy()
    program = Program((MODULES / "product.spv").read_bytes())
    product = np.zeros((512, 512), np.float32)
    run(program, "wrapped_dot", (4, 1, 1), (128, 1, 1), left, right, product, width=width)
    np.testing.assert_allclose(product[0], left[0] @ right, rtol=1e-4, atol=1e-3)
