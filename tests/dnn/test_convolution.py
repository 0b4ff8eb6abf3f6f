"""Convolutions, forward and backward, against sums over the kernel in NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from groundstate import dnn
from groundstate.dnn import Algorithm, Arg, Attributes, PropKind
from tests.dnn.tensors import described, numbers, run

Dims = tuple[int, ...]


@pytest.fixture(scope="module")
def stream() -> Iterator[dnn.Stream]:
    with dnn.Stream(dnn.Engine.create()) as made:
        yield made


@dataclass(frozen=True)
class Problem:
    """A convolution: batch, groups, channels of a group, and the sizes of each spatial axis."""

    batch: int
    groups: int
    inputs: int
    outputs: int
    image: Dims
    kernel: Dims
    strides: Dims
    dilates: Dims
    padding: Dims
    tags: tuple[str, str, str] = field(default=("", "", ""))

    @property
    def result(self) -> Dims:
        sizes = zip(self.image, self.kernel, self.strides, self.dilates, self.padding, strict=True)
        return tuple((i + 2 * p - (k - 1) * (d + 1) - 1) // s + 1 for i, k, s, d, p in sizes)

    @property
    def dims(self) -> tuple[Dims, Dims, Dims]:
        """Of source, weights and destination."""
        groups = (self.groups,) if self.groups > 1 else ()
        return (
            (self.batch, self.groups * self.inputs, *self.image),
            (*groups, self.outputs, self.inputs, *self.kernel),
            (self.batch, self.groups * self.outputs, *self.result),
        )

    @property
    def geometry(self) -> tuple[Dims, Dims, Dims, Dims]:
        return self.strides, self.dilates, self.padding, self.padding


def reference(
    problem: Problem, source: np.ndarray, weights: np.ndarray, gradient: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The result, and the gradients of the source and of the weights."""
    groups, everything = problem.groups, slice(None)
    axes = list(zip(problem.image, problem.result, problem.strides, problem.padding, strict=True))
    steps = [each + 1 for each in problem.dilates]
    reach = [
        max((r - 1) * s + (k - 1) * step + 1, i + p)
        for (i, r, s, p), k, step in zip(axes, problem.kernel, steps, strict=True)
    ]
    inside = tuple(slice(p, p + i) for i, _, _, p in axes)
    padded = np.zeros((*source.shape[:2], *reach))
    padded[(everything, everything, *inside)] = source
    padded = padded.reshape(problem.batch, groups, problem.inputs, *reach)
    split = weights.astype(float).reshape(groups, problem.outputs, problem.inputs, *problem.kernel)
    above = gradient.astype(float).reshape(problem.batch, groups, problem.outputs, *problem.result)
    result, of_source, of_weights = (
        np.zeros(above.shape),
        np.zeros(padded.shape),
        np.zeros(split.shape),
    )
    for place in itertools.product(*map(range, problem.kernel)):
        window = tuple(
            slice(at * step, at * step + (r - 1) * s + 1, s)
            for at, step, (_, r, s, _) in zip(place, steps, axes, strict=True)
        )
        here = (everything, everything, everything)
        seen, each = padded[(*here, *window)], split[(*here, *place)]
        result += np.einsum("ngi...,goi->ngo...", seen, each)
        of_source[(*here, *window)] += np.einsum("ngo...,goi->ngi...", above, each)
        flat = (*above.shape[:3], -1)
        of_weights[(*here, *place)] = np.einsum(
            "ngox,ngix->goi", above.reshape(flat), seen.reshape(*seen.shape[:3], -1)
        )
    back = of_source[(everything, everything, everything, *inside)]
    return (
        result.reshape(gradient.shape),
        back.reshape(source.shape),
        of_weights.reshape(weights.shape),
    )


PROBLEMS = [
    Problem(2, 1, 5, 7, (9, 8), (3, 3), (1, 1), (0, 0), (1, 1)),
    Problem(2, 1, 16, 32, (9, 8), (3, 3), (1, 1), (0, 0), (1, 1), ("any", "any", "any")),
    Problem(2, 1, 16, 32, (9, 8), (1, 1), (1, 1), (0, 0), (0, 0), ("nhwc", "any", "nhwc")),
    Problem(2, 3, 4, 5, (9, 11), (3, 2), (2, 1), (1, 0), (2, 0), ("any", "any", "any")),
    Problem(2, 19, 1, 1, (9, 11), (3, 2), (2, 1), (1, 0), (2, 0)),
    Problem(1, 32, 1, 1, (6, 5), (3, 3), (1, 1), (0, 0), (1, 1), ("nhwc", "any", "nhwc")),
    Problem(
        1, 1, 20, 18, (5, 6), (3, 3), (1, 1), (0, 0), (1, 1), ("nChw16c", "OIhw16i16o", "nChw16c")
    ),
    Problem(1, 2, 3, 4, (5, 6, 7), (3, 2, 3), (2, 1, 2), (0, 1, 0), (1, 2, 1)),
    Problem(1, 1, 3, 4, (3, 3), (3, 3), (1, 1), (0, 0), (7, 7)),
]


def _close(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("problem", PROBLEMS)
def test_all_directions(stream: dnn.Stream, problem: Problem) -> None:
    source, weights, gradient = (numbers(each, seed=n) for n, each in enumerate(problem.dims))
    one, two, three = (
        described(dims, "f32", tag) for dims, tag in zip(problem.dims, problem.tags, strict=True)
    )
    direct = Algorithm.convolution_direct
    bias = described((three.dims[1],))
    result, of_source, of_weights = reference(problem, source, weights, gradient)
    forward = dnn.create(
        "convolution_forward",
        stream.engine,
        PropKind.forward_training,
        direct,
        one,
        two,
        bias,
        three,
        *problem.geometry,
    )
    added = numbers(bias.dims, seed=5)
    inputs = {Arg.SRC: source, Arg.WEIGHTS: weights, Arg.BIAS: added}
    shape = (-1, *(1 for _ in problem.image))
    _close(run(stream, forward, inputs)[Arg.DST], result + added.reshape(shape))
    backward = dnn.create(
        "convolution_backward_data",
        stream.engine,
        direct,
        one,
        two,
        three,
        *problem.geometry,
        forward,
    )
    inputs = {Arg.DIFF_DST: gradient, Arg.WEIGHTS: weights}
    _close(run(stream, backward, inputs)[Arg.DIFF_SRC], of_source)
    backward = dnn.create(
        "convolution_backward_weights",
        stream.engine,
        direct,
        one,
        two,
        bias,
        three,
        *problem.geometry,
        forward,
    )
    found = run(stream, backward, {Arg.DIFF_DST: gradient, Arg.SRC: source})
    _close(found[Arg.DIFF_WEIGHTS], of_weights)
    others = tuple(dim for dim in range(gradient.ndim) if dim != 1)
    _close(found[Arg.DIFF_BIAS], gradient.astype(float).sum(axis=others))


def test_quantised(stream: dnn.Stream) -> None:
    """Zero points count as zero in the image, and so does its padding."""
    problem = Problem(1, 2, 3, 4, (6, 7), (3, 3), (1, 1), (0, 0), (1, 1))
    attributes = Attributes()
    attributes.set_scales(Arg.WEIGHTS, 3)
    attributes.set_zero_points(Arg.SRC, 0)
    attributes.post_ops.append_sum(0.5)
    source, weights = numbers(problem.dims[0], "u8"), numbers(problem.dims[1], "s8", 2)
    before = numbers(problem.dims[2], "f32", 3)
    kinds = ("u8", "s8", "f32")
    one, two, three = (
        described(dims, kind) for dims, kind in zip(problem.dims, kinds, strict=True)
    )
    descriptor = dnn.create(
        "convolution_forward",
        stream.engine,
        PropKind.forward_inference,
        Algorithm.convolution_direct,
        one,
        two,
        None,
        three,
        *problem.geometry,
        attributes,
    )
    scales = np.linspace(0.1, 0.8, 8, dtype=np.float32)
    inputs = {
        Arg.SRC: source,
        Arg.WEIGHTS: weights,
        Arg.DST: before,
        Arg.ATTR_SCALES | Arg.WEIGHTS: scales,
        Arg.ATTR_ZERO_POINTS | Arg.SRC: np.array([3], np.int32),
    }
    sums, _, _ = reference(problem, source.astype(int) - 3, weights, before)
    expected = sums * scales.reshape(1, -1, 1, 1) + 0.5 * before
    _close(run(stream, descriptor, inputs)[Arg.DST], expected)


@pytest.mark.parametrize(
    "changes",
    [{"strides": (0, 1)}, {"strides": (1,)}, {"padding": (-1, 0)}, {"image": (9, 9)}],
)
def test_what_does_not_fit(stream: dnn.Stream, changes: dict[str, Dims]) -> None:
    problem = Problem(1, 1, 3, 4, (8, 8), (3, 3), (1, 1), (0, 0), (1, 1))
    given = {"strides": (1, 1), "padding": (1, 1), "image": (8, 8)} | changes
    with pytest.raises(dnn.DnnError) as wrong:
        dnn.create(
            "convolution_forward",
            stream.engine,
            PropKind.forward_inference,
            Algorithm.convolution_direct,
            described((1, 3, *given["image"])),
            described(problem.dims[1]),
            None,
            described(problem.dims[2]),
            given["strides"],
            None,
            given["padding"],
        )
    assert wrong.value.status == dnn.Status.invalid_arguments
