"""Results that are too large for a cache are written around it, and are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from groundstate import dnn
from groundstate.dnn import Algorithm, Arg, Descriptor, PropKind
from groundstate.dnn.kernels import values


@pytest.fixture(scope="module")
def stream() -> Iterator[dnn.Stream]:
    with dnn.Stream(dnn.Engine.create()) as made:
        yield made


def _random(*dims: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(dims).astype(np.float32)


def _gelu(stream: dnn.Stream, kind: str) -> np.ndarray:
    source = _random(33, 65)
    tensor = Descriptor.tagged(source.shape, kind, "ab")
    made = dnn.create(
        "eltwise_forward",
        stream.engine,
        PropKind.forward_inference,
        Algorithm.eltwise_gelu_erf,
        tensor,
        tensor,
    )
    return dnn.run(made, stream, {Arg.SRC: source})[Arg.DST]


def _layer_norm(stream: dnn.Stream, kind: str) -> np.ndarray:
    source = _random(33, 65)
    tensor = Descriptor.tagged(source.shape, kind, "ab")
    statistics = Descriptor.tagged((33,), "f32", "a")
    made = dnn.create(
        "layer_normalization_forward",
        stream.engine,
        PropKind.forward_inference,
        tensor,
        tensor,
        statistics,
        1e-5,
        0,
    )
    return dnn.run(made, stream, {Arg.SRC: source})[Arg.DST]


def _reorder(stream: dnn.Stream, kind: str) -> np.ndarray:
    source = _random(2, 20, 6, 8)
    memory = dnn.memory_of(stream, source, Descriptor.tagged(source.shape, kind, "nchw"))
    blocked = dnn.memory_of(stream, memory, Descriptor.tagged(source.shape, kind, "nChw16c"))
    return dnn.array_of(stream, blocked)


CASES: dict[str, Callable[[dnn.Stream, str], np.ndarray]] = {
    "gelu": _gelu,
    "layer_norm": _layer_norm,
    "reorder": _reorder,
}


@pytest.mark.parametrize("kind", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("case", CASES)
def test_the_way_to_memory_changes_nothing(
    stream: dnn.Stream, case: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    through = CASES[case](stream, kind)
    monkeypatch.setattr(values, "CACHE_BYTES", 0)
    around = CASES[case](stream, kind)
    assert np.array_equal(through, around)


def test_kernels_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = Descriptor.tagged((33, 65), "f32", "ab")

    def text() -> str:
        engine, kind = dnn.Engine.create(), PropKind.forward_inference
        made = dnn.create("eltwise_forward", engine, kind, Algorithm.eltwise_relu, tensor, tensor)
        return made.make_plan().launches[0].source

    assert "nontemporal" not in text()
    monkeypatch.setattr(values, "CACHE_BYTES", 0)
    assert "nontemporal" in text()
