"""Images whose borders need a case of their own. Their inputs differ in their proportions."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.cases import Argument, Array, Case
from benchmarks.kernels.irregular.inputs import empty, floats

SHAPES = {"uniform": 1, "skewed": 16, "adversarial": 64}
"""How much wider than high an image is: the skewed one is low, the adversarial one is narrow."""


def shape_of(inputs: str, size: int) -> tuple[int, int]:
    """Width and height of an image of size x size pixels in another proportion."""
    times = min(SHAPES[inputs], size // 32)
    wide, high = size * times, size // times
    return (high, wide) if inputs == "adversarial" else (wide, high)


def convolved(image: Array, weights: Array) -> Array:
    """The sums over the neighbours of each pixel; those beyond a border are its own pixels."""
    radius = weights.shape[0] // 2
    height, width = image.shape
    padded = np.pad(image.astype(np.float64), radius, mode="edge")
    result = np.zeros((height, width))
    for (row, column), weight in np.ndenumerate(weights):
        result += weight * padded[row : row + height, column : column + width]
    return result


def convolution_3x3(inputs: str, size: int) -> Case:
    """A filter of nine weights whose loops have constant bounds."""
    width, height = shape_of(inputs, size)

    def arguments() -> list[Argument]:
        image, weights = floats(height, width), floats(3, 3, seed=13)
        return [image, weights, empty(height, width), np.int32(width), np.int32(height)]

    return Case(
        "convolution_3x3",
        f"convolution 3 x 3, {width} x {height}",
        (width, height),
        (16, 16),
        arguments,
        2,
        lambda given: convolved(given[0], given[1]),
        work=width * height * 1e3,
        unit="Mpixel/s",
        tolerance=1e-5,
        limit="convolution_3x3",
        inputs=inputs,
    )


def convolution(inputs: str, size: int) -> Case:
    """A filter whose radius is an argument: 5 x 5 weights."""
    width, height = shape_of(inputs, size)
    radius = 2

    def arguments() -> list[Argument]:
        image, weights = floats(height, width), floats(2 * radius + 1, 2 * radius + 1, seed=13)
        given: list[Any] = [image, weights, empty(height, width)]
        return [*given, *map(np.int32, (width, height, radius))]

    return Case(
        "convolution",
        f"convolution of any radius, {width} x {height}",
        (width, height),
        (16, 16),
        arguments,
        2,
        lambda given: convolved(given[0], given[1]),
        work=width * height * 1e3,
        unit="Mpixel/s",
        tolerance=1e-5,
        limit="convolution",
        inputs=inputs,
    )
