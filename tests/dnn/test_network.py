"""Networks: layers one after the other, with weights that are laid out once."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from groundstate import dnn
from groundstate.dnn import layers


@pytest.fixture
def engine() -> dnn.Engine:
    return dnn.Engine.create()


def numbers(*dims: int) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(dims).astype(np.float32)


def test_the_documentation_is_true() -> None:
    result = doctest.testmod(layers)
    assert result.attempted > 3
    assert result.failed == 0


def test_layers_follow_each_other(engine: dnn.Engine) -> None:
    network = dnn.Network(engine)
    x = network.input("x", (2, 3))
    left, right, factor = numbers(3, 4), numbers(4, 5), numbers(1, 5)
    other = network.input("other", (1, 5))
    inner = network.matmul("left", x, left, then=["relu"])
    result = network.matmul("right", inner, right, then=[("linear", 2.0, 1.0), ("mul", other)])
    values = numbers(2, 3)
    network.run(x=values, other=factor)
    expected = (2 * (np.maximum(values @ left, 0) @ right) + 1) * factor
    np.testing.assert_allclose(network.array(result), expected, rtol=1e-5, atol=1e-5)
    assert [each.step.name for each in network.times] == ["left", "right"]
    assert [each.step.operations for each in network.times] == [2 * 2 * 3 * 4, 2 * 2 * 4 * 5]
    assert all(each.elapsed_ns > 0 for each in network.times)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_windows_in_one_to_three_dimensions(engine: dnn.Engine, axes: int) -> None:
    network = dnn.Network(engine)
    x = network.input("x", (1, 2, *(6,) * axes))
    ones = np.ones((4, 2, *(3,) * axes), np.float32)
    y = network.convolution("sums", x, ones, stride=2, padding=1)
    z = network.pooling("largest", y, "max", window=3, stride=3)
    values = np.ones(x.shape, np.float32)
    network.run(x=values)
    assert network.array(y).shape == (1, 4, *(3,) * axes)
    assert network.array(z).ravel().tolist() == [2.0 * 3**axes] * 4


def test_groups_have_their_own_weights(engine: dnn.Engine) -> None:
    network = dnn.Network(engine)
    x = network.input("x", (1, 2, 1, 1))
    weights = np.array([2, 3], np.float32).reshape(2, 1, 1, 1, 1)
    y = network.convolution("each", x, weights)
    network.run(x=np.array([5, 7], np.float32).reshape(1, 2, 1, 1))
    assert network.array(y).ravel().tolist() == [10.0, 21.0]


def test_networks_share_their_weights(engine: dnn.Engine) -> None:
    weights = numbers(32, 32)
    one = dnn.Network(engine)
    two = dnn.Network(engine, sharing=one)
    for network, rows in ((one, 3), (two, 1)):
        network.matmul("product", network.input("x", (rows, 32)), weights)
        network.prepare()
    first, second = one.steps[0].memories, two.steps[0].memories
    assert first[dnn.Arg.WEIGHTS] is second[dnn.Arg.WEIGHTS]


def test_progress_is_told(engine: dnn.Engine) -> None:
    network = dnn.Network(engine)
    x = network.input("x", (2, 8))
    network.softmax("last", network.softmax("first", x))
    told: list[int] = []
    network.prepare(told.append)
    assert told == [1, 2]


def test_what_is_wrong_is_said(engine: dnn.Engine) -> None:
    network = dnn.Network(engine)
    x = network.input("x", (1, 3))
    y = network.matmul("product", x, numbers(3, 4))
    with pytest.raises(dnn.DnnError, match="was not run yet"):
        _ = network.times
    with pytest.raises(dnn.DnnError, match="an input 'x' already"):
        network.input("x", (1,))
    with pytest.raises(dnn.DnnError, match="never passed: x"):
        network.run()
    with pytest.raises(dnn.DnnError, match="no input 'z'; there are x"):
        network.run(z=numbers(1, 3))
    with pytest.raises(dnn.DnnError):
        network.run(x=numbers(1, 4))
    with pytest.raises(dnn.DnnError, match="there is no 'cube'; there are relu, "):
        network.matmul("product", x, numbers(3, 4), then=["cube"])
    with pytest.raises(dnn.DnnError, match="not both"):
        network.matmul("product", x, numbers(3, 4), onto=y, into=y)
    with pytest.raises(dnn.DnnError, match="its own source"):
        network.matmul("product", x, numbers(3, 3), onto=x)
    with pytest.raises(dnn.DnnError, match="does not fit"):
        network.pooling("too small", network.input("p", (1, 1, 2)), "max", window=5, stride=1)
    with pytest.raises(dnn.DnnError, match="windows move on"):
        network.pooling("still", network.inputs["p"], "max", window=1, stride=0)
    with pytest.raises(dnn.DnnError, match="one engine"):
        dnn.Network(dnn.Engine.create(), sharing=network)
