"""Inner products, forward and backward, against NumPy in double precision."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from groundstate import dnn
from groundstate.dnn import Arg, Attributes, PropKind
from tests.dnn.tensors import described, numbers, run

Dims = tuple[int, ...]


@pytest.fixture(scope="module")
def stream() -> Iterator[dnn.Stream]:
    with dnn.Stream(dnn.Engine.create()) as made:
        yield made


def _close(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


PROBLEMS: list[tuple[Dims, int, tuple[str, str]]] = [
    ((3, 50), 37, ("", "")),
    ((20, 50), 37, ("", "")),
    ((20, 50), 37, ("any", "any")),
    ((20, 20, 3, 4), 19, ("nchw", "any")),
    ((2, 20, 3, 4), 19, ("nChw16c", "hwio")),
    ((2, 5, 2, 3, 4), 19, ("ndhwc", "")),
]


@pytest.mark.parametrize(("source", "outputs", "tags"), PROBLEMS)
def test_all_directions(
    stream: dnn.Stream, source: Dims, outputs: int, tags: tuple[str, str]
) -> None:
    dims = (source, (outputs, *source[1:]), (source[0], outputs))
    values, weights, gradient = (numbers(each, seed=n) for n, each in enumerate(dims))
    one, two = (described(each, "f32", tag) for each, tag in zip(dims[:2], tags, strict=True))
    three, bias = described(dims[2]), described((outputs,))
    added = numbers(bias.dims, seed=5)
    forward = dnn.create(
        "inner_product_forward", stream.engine, PropKind.forward_training, one, two, bias, three
    )
    found = run(stream, forward, {Arg.SRC: values, Arg.WEIGHTS: weights, Arg.BIAS: added})
    flat, rows = values.reshape(len(values), -1).astype(float), weights.reshape(outputs, -1)
    _close(found[Arg.DST], flat @ rows.T + added)
    backward = dnn.create("inner_product_backward_data", stream.engine, one, two, three, forward)
    found = run(stream, backward, {Arg.DIFF_DST: gradient, Arg.WEIGHTS: weights})
    _close(found[Arg.DIFF_SRC], (gradient.astype(float) @ rows).reshape(dims[0]))
    backward = dnn.create(
        "inner_product_backward_weights", stream.engine, one, two, bias, three, forward
    )
    found = run(stream, backward, {Arg.DIFF_DST: gradient, Arg.SRC: values})
    _close(found[Arg.DIFF_WEIGHTS], (gradient.T.astype(float) @ flat).reshape(dims[1]))
    _close(found[Arg.DIFF_BIAS], gradient.astype(float).sum(axis=0))


@pytest.mark.parametrize("batch", [2, 20])
def test_quantised(stream: dnn.Stream, batch: int) -> None:
    attributes = Attributes()
    attributes.set_scales(Arg.SRC, 0)
    attributes.set_scales(Arg.WEIGHTS, 1)
    descriptor = dnn.create(
        "inner_product_forward",
        stream.engine,
        PropKind.forward_inference,
        described((batch, 30), "u8"),
        described((9, 30), "s8"),
        described((9,), "s32"),
        described((batch, 9)),
        attributes,
    )
    scales = np.linspace(0.1, 0.9, 9, dtype=np.float32)
    inputs = {
        Arg.SRC: numbers((batch, 30), "u8"),
        Arg.WEIGHTS: numbers((9, 30), "s8", 2),
        Arg.BIAS: numbers((9,), "s32", 3),
        Arg.ATTR_SCALES | Arg.SRC: np.array([0.5], np.float32),
        Arg.ATTR_SCALES | Arg.WEIGHTS: scales,
    }
    sums = inputs[Arg.SRC].astype(int) @ inputs[Arg.WEIGHTS].T.astype(int)
    found = run(stream, descriptor, inputs)[Arg.DST]
    _close(found, sums * 0.5 * scales + inputs[Arg.BIAS])


def test_wrong_shapes(stream: dnn.Stream) -> None:
    with pytest.raises(dnn.DnnError) as problem:
        dnn.create(
            "inner_product_forward",
            stream.engine,
            PropKind.forward_inference,
            described((2, 3)),
            described((4, 5)),
            None,
            described((2, 4)),
        )
    assert problem.value.status == dnn.Status.invalid_arguments
