"""Reorder, binary, sum, concat, softmax and reduction against NumPy, one case of each kind."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate import dnn
from groundstate.dnn import Algorithm, Arg, Attributes, Descriptor, PropKind
from tests.dnn.tensors import run


@pytest.fixture(scope="module")
def stream() -> dnn.Stream:
    return dnn.Stream(dnn.Engine.create())


def _numbers(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-4, 4, shape).astype(np.float32)


@pytest.mark.parametrize(("before", "after"), [("nchw", "nChw16c"), ("nChw8c", "nhwc")])
def test_reorder(stream: dnn.Stream, before: str, after: str) -> None:
    values = _numbers(2, 19, 3, 5)
    one, two = (Descriptor.tagged(values.shape, "f32", tag) for tag in (before, after))
    made = dnn.create("reorder", one, stream.engine, two, stream.engine)
    np.testing.assert_array_equal(run(stream, made, {Arg.SRC: values})[Arg.DST], values)


def test_reorder_quantises(stream: dnn.Stream) -> None:
    values = _numbers(8, 16)
    attributes = Attributes()
    attributes.set_scales(Arg.DST, 2)
    attributes.set_zero_points(Arg.DST, 0)
    one, two = (Descriptor.plain(values.shape, kind) for kind in ("f32", "u8"))
    made = dnn.create("reorder", one, stream.engine, two, stream.engine, attributes)
    scales = np.linspace(0.01, 0.1, 16, dtype=np.float32)
    inputs = {
        Arg.SRC: values,
        Arg.ATTR_SCALES | Arg.DST: scales.reshape(1, 16),
        Arg.ATTR_ZERO_POINTS | Arg.DST: np.array([[7]], np.int32),
    }
    expected = np.clip(np.rint(values / scales + 7), 0, 255)
    np.testing.assert_array_equal(run(stream, made, inputs)[Arg.DST], expected)


def test_binary_broadcasts(stream: dnn.Stream) -> None:
    one, two = _numbers(2, 5, 7), _numbers(1, 5, 1, seed=2)
    shapes = [Descriptor.plain(each) for each in (one.shape, two.shape, one.shape)]
    made = dnn.create("binary", stream.engine, Algorithm.binary_mul, *shapes)
    found = run(stream, made, {Arg.SRC_0: one, Arg.SRC_1: two})[Arg.DST]
    np.testing.assert_array_equal(found, one * two)


def test_sum_and_concat(stream: dnn.Stream) -> None:
    one, two = _numbers(2, 5, 7), _numbers(2, 5, 7, seed=2)
    shape = Descriptor.plain(one.shape)
    inputs = {Arg.MULTIPLE_SRC: one, Arg.MULTIPLE_SRC + 1: two}
    added = dnn.create("sum", stream.engine, None, 2, (0.5, 2.0), (shape, shape))
    found = run(stream, added, inputs)[Arg.DST]
    np.testing.assert_allclose(found, 0.5 * one + 2 * two, rtol=1e-6)
    joined = dnn.create("concat", stream.engine, None, 2, 1, (shape, shape))
    found = run(stream, joined, inputs)[Arg.DST]
    np.testing.assert_array_equal(found, np.concatenate((one, two), 1))


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("logarithm", [False, True])
def test_softmax(stream: dnn.Stream, axis: int, logarithm: bool) -> None:
    values = _numbers(3, 20, 33)
    shape = Descriptor.plain(values.shape)
    kind = Algorithm.softmax_log if logarithm else Algorithm.softmax_accurate
    forward = PropKind.forward_inference
    made = dnn.create("softmax_forward", stream.engine, forward, kind, shape, shape, axis)
    found = run(stream, made, {Arg.SRC: values})[Arg.DST]
    exact = np.exp(values.astype(np.float64))
    exact /= exact.sum(axis=axis, keepdims=True)
    np.testing.assert_allclose(found, np.log(exact) if logarithm else exact, rtol=1e-5)


@pytest.mark.parametrize("dims", [(1, 20, 1), (1, 1, 1), (4, 1, 50)])
def test_reduction(stream: dnn.Stream, dims: tuple[int, ...]) -> None:
    values = _numbers(4, 20, 50)
    axes = tuple(dim for dim in range(3) if dims[dim] == 1)
    source, target = Descriptor.plain(values.shape), Descriptor.plain(dims)
    for kind, expected in (
        (Algorithm.reduction_sum, values.astype(np.float64).sum(axis=axes, keepdims=True)),
        (Algorithm.reduction_max, values.max(axis=axes, keepdims=True)),
        (Algorithm.reduction_mean, values.astype(np.float64).mean(axis=axes, keepdims=True)),
    ):
        made = dnn.create("reduction", stream.engine, kind, source, target, 0.0, 0.0)
        found = run(stream, made, {Arg.SRC: values})[Arg.DST]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_a_large_reduction_is_shared_out(stream: dnn.Stream) -> None:
    values = np.ones((256, 300), np.float32)
    source, target = Descriptor.plain(values.shape), Descriptor.plain((1, 1))
    made = dnn.create("reduction", stream.engine, Algorithm.reduction_sum, source, target)
    assert len(made.plan.launches) == 2
    assert run(stream, made, {Arg.SRC: values})[Arg.DST] == 256 * 300


def test_values_of_the_host(stream: dnn.Stream) -> None:
    values = _numbers(8, 16)
    attributes = Attributes()
    attributes.set_scales(Arg.SRC, 0, on_host=True)
    shape = Descriptor.plain(values.shape)
    made = dnn.create("reorder", shape, stream.engine, shape, stream.engine, attributes)
    found = dnn.run(made, stream, {Arg.SRC: values, Arg.ATTR_SCALES | Arg.SRC: 0.25})[Arg.DST]
    np.testing.assert_array_equal(found, values * np.float32(0.25))
    memory = dnn.memory_of(stream, values)
    wrong = {Arg.SRC: memory, Arg.DST: memory, Arg.ATTR_SCALES | Arg.SRC: memory}
    with pytest.raises(dnn.DnnError, match="value of the host"):
        dnn.Primitive(made).execute(stream, wrong)


def test_the_scratchpad_of_the_caller(stream: dnn.Stream) -> None:
    values = np.ones((256, 300), np.float32)
    attributes = Attributes()
    attributes.set_scratchpad(dnn.ScratchpadMode.user)
    source, target = Descriptor.plain(values.shape), Descriptor.plain((1, 1))
    kind = Algorithm.reduction_sum
    made = dnn.create("reduction", stream.engine, kind, source, target, 0.0, 0.0, attributes)
    wanted = made.descriptor(dnn.Query.scratchpad_md)
    assert wanted is not None
    assert wanted.size_bytes() == made.plan.scratchpad_bytes > 0
    memories = {
        Arg.SRC: dnn.memory_of(stream, values),
        Arg.DST: dnn.Memory(stream.engine, target),
    }
    primitive = dnn.Primitive(made)
    with pytest.raises(dnn.DnnError, match="the scratchpad is missing"):
        primitive.execute(stream, memories)
    passed = memories | {Arg.SCRATCHPAD: dnn.Memory(stream.engine, wanted)}
    primitive.execute(stream, passed)
    assert dnn.array_of(stream, memories[Arg.DST]) == values.size
