"""Matmul against NumPy in double precision."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from groundstate import dnn
from groundstate.dnn import Algorithm, Arg, Attributes
from tests.dnn.tensors import described, numbers, run

Dims = tuple[int, ...]


@pytest.fixture(scope="module")
def stream() -> Iterator[dnn.Stream]:
    with dnn.Stream(dnn.Engine.create()) as made:
        yield made


SHAPES: list[tuple[Dims, Dims, Dims | None]] = [
    ((1, 1), (1, 1), None),
    ((1, 700), (700, 160), (1, 160)),
    ((2, 1, 30), (1, 30, 64), None),
    ((1, 2, 300), (1, 300, 16), (1, 2, 16)),
    ((37, 50), (50, 61), None),
    ((7, 50), (50, 61), (1, 61)),
    ((13, 1100), (1100, 16), (13, 1)),
    ((3, 7, 20), (3, 20, 33), None),
    ((3, 7, 20), (1, 20, 33), (1, 1, 33)),
    ((1, 7, 20), (3, 20, 33), None),
    ((2, 1, 7, 20), (1, 3, 20, 32), None),
]


def _target(src: Dims, weights: Dims) -> Dims:
    batch = np.broadcast_shapes(src[:-2], weights[:-2])
    return (*batch, src[-2], weights[-1])


@pytest.mark.parametrize(("src", "weights", "bias"), SHAPES)
def test_shapes(stream: dnn.Stream, src: Dims, weights: Dims, bias: Dims | None) -> None:
    dst = _target(src, weights)
    descriptor = dnn.create(
        "matmul",
        stream.engine,
        described(src),
        described(weights),
        described(bias) if bias else None,
        described(dst),
    )
    inputs = {Arg.SRC: numbers(src), Arg.WEIGHTS: numbers(weights, seed=2)}
    expected = inputs[Arg.SRC].astype(float) @ inputs[Arg.WEIGHTS].astype(float)
    if bias:
        inputs[Arg.BIAS] = numbers(bias, seed=3)
        expected = expected + inputs[Arg.BIAS]
    found = run(stream, descriptor, inputs)[Arg.DST]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=3e-5)


@pytest.mark.parametrize("tags", [("ba", "ab", "ab"), ("ab", "ba", "ba"), ("any", "any", "any")])
def test_layouts(stream: dnn.Stream, tags: tuple[str, str, str]) -> None:
    dims = ((19, 40), (40, 35), (19, 35))
    one, two, three = (described(each, "f32", tag) for each, tag in zip(dims, tags, strict=True))
    descriptor = dnn.create("matmul", stream.engine, one, two, None, three)
    inputs = {Arg.SRC: numbers(dims[0]), Arg.WEIGHTS: numbers(dims[1], seed=2)}
    found = run(stream, descriptor, inputs)[Arg.DST]
    np.testing.assert_allclose(found, inputs[Arg.SRC] @ inputs[Arg.WEIGHTS], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("src", "weights", "dst"),
    [("s8", "s8", "s32"), ("u8", "s8", "f32"), ("f16", "f16", "f32"), ("f64", "f64", "f64")],
)
def test_types(stream: dnn.Stream, src: str, weights: str, dst: str) -> None:
    dims = ((9, 70), (70, 21), (9, 21))
    descriptor = dnn.create(
        "matmul",
        stream.engine,
        described(dims[0], src),
        described(dims[1], weights),
        None,
        described(dims[2], dst),
    )
    inputs = {Arg.SRC: numbers(dims[0], src), Arg.WEIGHTS: numbers(dims[1], weights, 2)}
    expected = inputs[Arg.SRC].astype(float) @ inputs[Arg.WEIGHTS].astype(float)
    found = run(stream, descriptor, inputs)[Arg.DST]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_quantised(stream: dnn.Stream) -> None:
    """Scales and zero points of all tensors, a sum and a function, rounded to bytes."""
    attributes = Attributes()
    attributes.set_scales(Arg.SRC, 0)
    attributes.set_scales(Arg.WEIGHTS, 2)
    attributes.set_scales(Arg.DST, 0)
    for arg in (Arg.SRC, Arg.WEIGHTS, Arg.DST):
        attributes.set_zero_points(arg, 0)
    attributes.post_ops.append_eltwise(Algorithm.eltwise_relu)
    dims = ((9, 70), (70, 21), (9, 21))
    descriptor = dnn.create(
        "matmul",
        stream.engine,
        described(dims[0], "u8"),
        described(dims[1], "s8"),
        None,
        described(dims[2], "u8"),
        attributes,
    )
    scales = np.linspace(0.01, 0.03, 21, dtype=np.float32)
    inputs = {
        Arg.SRC: numbers(dims[0], "u8"),
        Arg.WEIGHTS: numbers(dims[1], "s8", 2),
        Arg.ATTR_SCALES | Arg.SRC: np.array([0.5], np.float32),
        Arg.ATTR_SCALES | Arg.WEIGHTS: scales,
        Arg.ATTR_SCALES | Arg.DST: np.array([0.25], np.float32),
        Arg.ATTR_ZERO_POINTS | Arg.SRC: np.array([4], np.int32),
        Arg.ATTR_ZERO_POINTS | Arg.WEIGHTS: np.array([-1], np.int32),
        Arg.ATTR_ZERO_POINTS | Arg.DST: np.array([3], np.int32),
    }
    sums = (inputs[Arg.SRC].astype(int) - 4) @ (inputs[Arg.WEIGHTS].astype(int) + 1)
    expected = np.rint(np.maximum(sums * 0.5 * scales, 0) / 0.25 + 3)
    found = run(stream, descriptor, inputs)[Arg.DST]
    np.testing.assert_array_equal(found, np.clip(expected, 0, 255))


def test_grouped_scales(stream: dnn.Stream) -> None:
    """Scales that differ along what is summed up."""
    attributes = Attributes()
    attributes.set_scales(Arg.WEIGHTS, 3, (32, 1))
    attributes.set_fpmath(dnn.FpmathMode.strict, True)
    dims = ((5, 64), (64, 17), (5, 17))
    one, two, three = (
        described(each, kind) for each, kind in zip(dims, ("f32", "s8", "f32"), strict=True)
    )
    descriptor = dnn.create("matmul", stream.engine, one, two, None, three, attributes)
    scales = numbers((2, 17), seed=4)
    inputs = {
        Arg.SRC: numbers(dims[0]),
        Arg.WEIGHTS: numbers(dims[1], "s8", 2),
        Arg.ATTR_SCALES | Arg.WEIGHTS: scales,
    }
    expected = inputs[Arg.SRC] @ (inputs[Arg.WEIGHTS] * np.repeat(scales, 32, axis=0))
    found = run(stream, descriptor, inputs)[Arg.DST]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


def test_nothing_to_sum_leaves_the_destination(stream: dnn.Stream) -> None:
    descriptor = dnn.create(
        "matmul", stream.engine, described((2, 0)), described((0, 4)), None, described((2, 4))
    )
    assert descriptor.plan.launches == []


@pytest.mark.parametrize(
    ("src", "weights", "dst", "status"),
    [
        ((2, 3), (4, 5), (2, 5), dnn.Status.invalid_arguments),
        ((2, 3), (3, 5), (2, 4), dnn.Status.invalid_arguments),
        ((2, 2, 3), (3, 3, 5), (3, 2, 5), dnn.Status.invalid_arguments),
        ((2, 3), (1, 3, 5), (2, 5), dnn.Status.invalid_arguments),
    ],
)
def test_wrong_shapes(
    stream: dnn.Stream, src: Dims, weights: Dims, dst: Dims, status: dnn.Status
) -> None:
    with pytest.raises(dnn.DnnError) as problem:
        dnn.create(
            "matmul", stream.engine, described(src), described(weights), None, described(dst)
        )
    assert problem.value.status == status


@pytest.mark.parametrize("depth", [257, 509, 5000])
@pytest.mark.parametrize("kind", ["s8", "u8"])
def test_sums_of_the_largest_integers_are_exact(stream: dnn.Stream, kind: str, depth: int) -> None:
    source = np.full((7, depth), -128, np.int8) if kind == "s8" else np.full((7, depth), 255, "u1")
    weights = np.full((depth, 33), -128, np.int8)
    weights[:, ::2] = 127
    described = [
        dnn.Descriptor.plain(dims, each)
        for dims, each in (((7, depth), kind), ((depth, 33), "s8"), ((7, 33), "s32"))
    ]
    made = dnn.create("matmul", stream.engine, described[0], described[1], None, described[2])
    result = dnn.run(made, stream, {Arg.SRC: source, Arg.WEIGHTS: weights})[Arg.DST]
    assert np.array_equal(result, source.astype(np.int64) @ weights.astype(np.int64))
