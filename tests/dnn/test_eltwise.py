"""Eltwise against the same functions in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from groundstate import dnn
from groundstate.dnn import Algorithm, Arg, Descriptor, PropKind

erf = np.vectorize(math.erf)


def _logistic(s: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-s))


FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda s: np.where(s > 0, s, 0.3 * s),
    "tanh": np.tanh,
    "elu": lambda s: np.where(s > 0, s, 0.3 * np.expm1(s)),
    "square": np.square,
    "abs": np.abs,
    "sqrt": lambda s: np.sqrt(s),
    "linear": lambda s: 0.3 * s + 0.7,
    "soft_relu": lambda s: np.log1p(np.exp(0.3 * s)) / 0.3,
    "hardsigmoid": lambda s: np.clip(0.3 * s + 0.7, 0, 1),
    "logistic": _logistic,
    "exp": np.exp,
    "gelu_tanh": lambda s: (
        0.5 * s * (1 + np.tanh(math.sqrt(2 / math.pi) * s * (1 + 0.044715 * s * s)))
    ),
    "swish": lambda s: s * _logistic(0.3 * s),
    "log": np.log,
    "clip": lambda s: np.clip(s, 0.3, 0.7),
    "clip_v2": lambda s: np.clip(s, 0.3, 0.7),
    "pow": lambda s: 0.3 * s**0.7,
    "gelu_erf": lambda s: 0.5 * s * (1 + erf(s / math.sqrt(2))),
    "round": np.rint,
    "mish": lambda s: s * np.tanh(np.log1p(np.exp(s))),
    "hardswish": lambda s: s * np.clip(0.3 * s + 0.7, 0, 1),
}


@pytest.fixture(scope="module")
def stream() -> Iterator[dnn.Stream]:
    with dnn.Stream(dnn.Engine.create()) as made:
        yield made


def _elements(name: str) -> np.ndarray:
    generator = np.random.default_rng(7)
    values = generator.uniform(-4, 4, (2, 19, 3, 5))
    return np.abs(values) + 0.01 if name in ("sqrt", "log", "pow") else values


def _memory(stream: dnn.Stream, values: np.ndarray) -> dnn.Memory:
    kind = {"float32": "f32", "float64": "f64", "float16": "f16"}[str(values.dtype)]
    memory = dnn.Memory(stream.engine, Descriptor.plain(values.shape, kind))
    memory.write(stream, values.tobytes())
    return memory


@pytest.mark.parametrize("name", FUNCTIONS)
def test_forward(stream: dnn.Stream, name: str) -> None:
    values = _elements(name).astype(np.float32)
    source = _memory(stream, values)
    target = dnn.Memory(stream.engine, source.descriptor)
    algorithm = Algorithm[f"eltwise_{name}"]
    made = dnn.create(
        "eltwise_forward",
        stream.engine,
        PropKind.forward_inference,
        algorithm,
        source.descriptor,
        target.descriptor,
        0.3,
        0.7,
    )
    dnn.Primitive(made).execute(stream, {Arg.SRC: source, Arg.DST: target})
    result = np.frombuffer(target.read(stream), np.float32).reshape(values.shape)
    expected = FUNCTIONS[name](values.astype(np.float64))
    np.testing.assert_allclose(result, expected, rtol=4e-6, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "round"])
def test_backward_is_the_derivative(stream: dnn.Stream, name: str) -> None:
    values = _elements(name)
    above = np.linspace(0.5, 2, values.size).reshape(values.shape)
    data, diff_target = _memory(stream, values), _memory(stream, above)
    diff_source = dnn.Memory(stream.engine, data.descriptor)
    made = dnn.create(
        "eltwise_backward",
        stream.engine,
        Algorithm[f"eltwise_{name}"],
        diff_source.descriptor,
        diff_target.descriptor,
        data.descriptor,
        0.3,
        0.7,
    )
    memories = {Arg.SRC: data, Arg.DIFF_DST: diff_target, Arg.DIFF_SRC: diff_source}
    dnn.Primitive(made).execute(stream, memories)
    result = np.frombuffer(diff_source.read(stream), np.float64).reshape(values.shape)
    step = 1e-6
    slope = (FUNCTIONS[name](values + step) - FUNCTIONS[name](values - step)) / (2 * step)
    np.testing.assert_allclose(result, above * slope, rtol=1e-4, atol=1e-7)


def test_padding_of_blocks_is_zero(stream: dnn.Stream) -> None:
    values = _elements("exp").astype(np.float32)
    source = _memory(stream, values)
    target = dnn.Memory(stream.engine, Descriptor.tagged(values.shape, "f32", "nChw16c"))
    made = dnn.create(
        "eltwise_forward",
        stream.engine,
        PropKind.forward_inference,
        Algorithm.eltwise_exp,
        source.descriptor,
        target.descriptor,
    )
    dnn.Primitive(made).execute(stream, {Arg.SRC: source, Arg.DST: target})
    blocks = np.frombuffer(target.read(stream), np.float32).reshape(2, 2, 3, 5, 16)
    result = blocks.transpose(0, 1, 4, 2, 3).reshape(2, 32, 3, 5)
    np.testing.assert_allclose(result[:, :19], np.exp(values), rtol=1e-6)
    assert not result[:, 19:].any()
