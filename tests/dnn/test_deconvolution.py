"""Deconvolutions against convolutions in the other direction, in NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from groundstate import dnn
from groundstate.dnn import Algorithm, Arg, PropKind
from groundstate.dnn.kernels import convolution
from tests.dnn.tensors import described, numbers, run
from tests.dnn.test_convolution import Problem, reference


@pytest.fixture(scope="module")
def stream() -> Iterator[dnn.Stream]:
    with dnn.Stream(dnn.Engine.create()) as made:
        yield made


PROBLEMS = [
    Problem(1, 1, 16, 32, (9, 8), (4, 4), (2, 2), (0, 0), (1, 1), ("any", "any", "any")),
    Problem(1, 3, 4, 5, (9, 11), (3, 2), (2, 1), (1, 0), (2, 0), ("nhwc", "", "nhwc")),
    Problem(1, 1, 20, 18, (5, 6), (3, 3), (1, 1), (0, 0), (1, 1), ("nChw16c", "", "nChw16c")),
    Problem(1, 1, 3, 4, (5, 6, 7), (3, 2, 3), (2, 1, 2), (0, 1, 0), (1, 2, 1)),
]


def _close(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("problem", PROBLEMS)
def test_all_directions(stream: dnn.Stream, problem: Problem) -> None:
    _check_all_directions(stream, problem)


STRIDED = [
    PROBLEMS[0],
    Problem(1, 2, 3, 4, (9, 11), (3, 2), (2, 3), (0, 0), (2, 0)),
    Problem(2, 1, 5, 3, (7,), (1,), (3,), (0,), (0,)),
]


@pytest.mark.parametrize("problem", STRIDED)
def test_phases(stream: dnn.Stream, problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    """An image is taken apart by its strides, which is otherwise for large ones."""
    monkeypatch.setattr(convolution, "WORTH_PHASES", 0)
    _check_all_directions(stream, problem)


def _check_all_directions(stream: dnn.Stream, problem: Problem) -> None:
    """The problem is the convolution; its image is the destination of the deconvolution."""
    image, weights, result = (numbers(each, seed=n) for n, each in enumerate(problem.dims))
    first = int(problem.groups > 1)
    turned = np.swapaxes(weights, first, first + 1)
    src = described(problem.dims[2], "f32", problem.tags[2])
    two = described(turned.shape, "f32", problem.tags[1])
    dst = described(problem.dims[0], "f32", problem.tags[0])
    bias = described((dst.dims[1],))
    convolved, of_image, of_weights = reference(problem, image, weights, result)
    direct, engine = Algorithm.deconvolution_direct, stream.engine
    forward = dnn.create(
        "deconvolution_forward",
        engine,
        PropKind.forward_training,
        direct,
        src,
        two,
        bias,
        dst,
        *problem.geometry,
    )
    added = numbers(bias.dims, seed=5)
    found = run(stream, forward, {Arg.SRC: result, Arg.WEIGHTS: turned, Arg.BIAS: added})
    shape = (-1, *(1 for _ in problem.image))
    _close(found[Arg.DST], of_image + added.reshape(shape))
    backward = dnn.create(
        "deconvolution_backward_data", engine, direct, src, two, dst, *problem.geometry, forward
    )
    found = run(stream, backward, {Arg.DIFF_DST: image, Arg.WEIGHTS: turned})
    _close(found[Arg.DIFF_SRC], convolved)
    backward = dnn.create(
        "deconvolution_backward_weights",
        engine,
        direct,
        src,
        two,
        bias,
        dst,
        *problem.geometry,
        forward,
    )
    found = run(stream, backward, {Arg.DIFF_DST: image, Arg.SRC: result})
    _close(found[Arg.DIFF_WEIGHTS], np.swapaxes(of_weights, first, first + 1))
    others = tuple(dim for dim in range(image.ndim) if dim != 1)
    _close(found[Arg.DIFF_BIAS], image.astype(float).sum(axis=others))
