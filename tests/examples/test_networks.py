"""The networks of the examples compute what NumPy computes in double precision."""

from __future__ import annotations

import importlib
import json
import math
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from groundstate import dnn
from tests.examples.test_examples import SIZES

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module(name)


# --- ResNet-18 ------------------------------------------------------------------------------------


def windows(x: np.ndarray, window: int, stride: int, padding: int, outside: float) -> np.ndarray:
    """The windows that move over pictures, as the last two axes."""
    around = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    x = np.pad(x, around, constant_values=outside)
    view = np.lib.stride_tricks.sliding_window_view(x, (window, window), (2, 3))
    return view[:, :, ::stride, ::stride]


def convolved(x: np.ndarray, layer: Any, stride: int = 1) -> np.ndarray:
    """A convolution, and the batch normalisation behind it as such."""
    size = layer.weights.shape[-1]
    view = windows(x, size, stride, size // 2, 0.0)
    result = np.einsum("bchwij,ocij->bohw", view, layer.weights.astype(np.float64))
    scale, shift, mean, variance = (
        each.astype(np.float64)[:, None, None]
        for each in (layer.scale, layer.shift, layer.mean, layer.variance)
    )
    return (result - mean) / np.sqrt(variance + 1e-5) * scale + shift


def resnet(pictures: np.ndarray, convolutions: dict[str, Any], blocks: tuple[int, ...]) -> Any:
    """What the last stage leaves of the pictures: the mean of each channel."""
    x = np.maximum(convolved(pictures.astype(np.float64), convolutions["stem"], 2), 0)
    x = windows(x, 3, 2, 1, -np.inf).max((4, 5))
    for stage, count in enumerate(blocks):
        for block in range(count):
            name, stride = f"stage {stage + 1}.{block + 1}", 2 if stage and not block else 1
            own = convolutions.get(f"{name} shortcut")
            shortcut = x if own is None else convolved(x, own, stride)
            inner = np.maximum(convolved(x, convolutions[f"{name} first"], stride), 0)
            x = np.maximum(convolved(inner, convolutions[f"{name} second"]) + shortcut, 0)
    return x.mean((2, 3))


def softmax(x: np.ndarray) -> np.ndarray:
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def test_the_residual_network_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    resnet18 = example("resnet18", monkeypatch)
    shape = resnet18.Shape(batch=2, image=40, width=16, classes=30)
    convolutions, matrix, bias = resnet18.make_weights(shape, 3)
    assert len(convolutions) == 20
    pictures = resnet18.make_pictures(shape, 3)
    model = resnet18.ResNet(dnn.Engine.create(), shape, 3)
    shares = model.classify(pictures)
    scores = model.network.array(model.scores)
    expected = resnet(pictures, convolutions, shape.blocks) @ matrix.T.astype(np.float64) + bias
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
    np.testing.assert_allclose(shares, softmax(expected), rtol=1e-3, atol=1e-5)
    again = model.classify(pictures)
    np.testing.assert_array_equal(again, shares)


# --- GPT-2 ----------------------------------------------------------------------------------------


def normalized(x: np.ndarray, affine: Any) -> np.ndarray:
    x = x - x.mean(1, keepdims=True)
    x = x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5)
    return x * affine.weights.astype(np.float64) + affine.bias


def product(x: np.ndarray, affine: Any) -> np.ndarray:
    return x @ affine.weights.astype(np.float64) + affine.bias


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def transformer(tokens: list[int], weights: Any, heads: int) -> np.ndarray:
    """The logits after the last of some tokens, all of them read from the beginning."""
    count = len(tokens)
    x = weights.tokens[tokens].astype(np.float64) + weights.positions[:count]
    ahead = np.triu(np.full((count, count), -np.inf), 1)
    for layer in weights.layers:
        parts = product(normalized(x, layer["norm 1"]), layer["queries, keys, values"])
        queries, keys, values = parts.reshape(count, 3, heads, -1).transpose(1, 2, 0, 3)
        scores = queries @ keys.transpose(0, 2, 1) / math.sqrt(queries.shape[-1])
        mixed = softmax(scores + ahead) @ values
        x = x + product(mixed.transpose(1, 0, 2).reshape(count, -1), layer["project"])
        wide = gelu(product(normalized(x, layer["norm 2"]), layer["widen"]))
        x = x + product(wide, layer["narrow"])
    return normalized(x[-1:], weights.final)[0] @ weights.tokens.T.astype(np.float64)


def test_the_transformer_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    gpt2 = example("gpt2", monkeypatch)
    shape = gpt2.Shape(layers=2, width=48, heads=3, vocabulary=101, context=20)
    model = gpt2.Gpt2(dnn.Engine.create(), shape, prompt=5, seed=5)
    text = [7, 100, 0, 31, 31]
    list(model.generate(text[::-1], 9))  # what caches have of a text is not seen by the next one
    generated = model.generate(text, 5)
    for count in range(5):
        token = next(generated)
        reader = model.token if count else model.prompt
        expected = transformer(text, model.weights, shape.heads)
        logits = reader.network.array(reader.logits)[0]
        np.testing.assert_allclose(logits, expected, atol=1e-4 * np.abs(expected).max())
        assert token == logits.argmax()
        text.append(token)
    assert list(generated) == []


# --- The command line -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "first", "steps"), [("resnet18.py", "stem reorder", 25), ("gpt2.py", "norm 1", 20)]
)
def test_a_report_for_scripts(name: str, first: str, steps: int) -> None:
    command = [sys.executable, str(EXAMPLES / name), "--json", *SIZES[name].split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    parts = [found] if name == "resnet18.py" else [found["prompt"], found["token"]]
    for part in parts:
        layers = part["layers"]
        assert layers[0]["layer"] == first
        assert sum(layer["count"] for layer in layers) == steps
        whole = sum(layer["milliseconds"] for layer in layers)
        assert whole == pytest.approx(part["milliseconds"], abs=1e-4 * len(layers))


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("resnet18.py", "--image 8", "at least 32 pixels"),
        ("gpt2.py", "--width 10 --heads 3", "a multiple of the number of heads"),
        ("gpt2.py", "--prompt 128", "do not fit into the context"),
    ],
)
def test_sizes_that_do_not_fit(name: str, arguments: str, sentence: str) -> None:
    command = [sys.executable, str(EXAMPLES / name), *arguments.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert sentence in done.stderr
