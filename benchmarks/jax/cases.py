"""What JAX is asked to do. This file is imported by the environment that JAX is installed in."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = Any
"""Arrays, or dictionaries and lists of them."""
SEED = 21
SIDE, FACTORS = 2048, 512
BATCH, LENGTH, CHANNELS, HEADS, WORDS = 8, 64, 128, 4, 256
IMAGES, EDGE, CLASSES = 16, 16, 10
RATE = 0.1


@dataclass(frozen=True)
class Case:
    """A function that JAX compiles, and what it is called with."""

    name: str
    title: str
    function: Callable[..., Any]
    arguments: Callable[[], list[Arrays]]
    relative: float = 1e-4
    """How far results may differ, of the largest number in each."""


def normal(*shape: int, scale: float = 1.0) -> Any:
    """Numbers around zero, the same in every process."""
    numbers = np.random.default_rng([SEED, *shape]).standard_normal(shape) * scale
    return numbers.astype("f4")


def gelu(x: Any) -> Any:
    """Element by element."""
    import jax

    return jax.nn.gelu(x) * 2 + x


def softmax(x: Any) -> Any:
    """Of each row."""
    import jax

    return jax.nn.softmax(x, -1)


# --- A small transformer --------------------------------------------------------------------------


def transformer_parameters() -> dict[str, Any]:
    """Of two layers, and of the table of words."""
    scale = 1 / math.sqrt(CHANNELS)
    layer = {
        "attention": normal(CHANNELS, 3 * CHANNELS, scale=scale),
        "mixed": normal(CHANNELS, CHANNELS, scale=scale),
        "wide": normal(CHANNELS, 4 * CHANNELS, scale=scale),
        "narrow": normal(4 * CHANNELS, CHANNELS, scale=scale / 2),
    }
    return {"words": normal(WORDS, CHANNELS, scale=0.1), "layers": [layer, dict(layer)]}


def transformer_loss(parameters: dict[str, Any], words: Any) -> Any:
    """How badly the next word of each text is foreseen."""
    import jax
    import jax.numpy as jnp

    x = parameters["words"][words[:, :-1]]
    length = x.shape[1]
    mask = jnp.tril(jnp.ones((length, length), bool))
    for layer in parameters["layers"]:
        heads = (_normalised(x) @ layer["attention"]).reshape(*x.shape[:2], 3, HEADS, -1)
        query, key, value = jnp.moveaxis(heads, 2, 0)
        scores = jnp.einsum("bihc,bjhc->bhij", query, key) / math.sqrt(CHANNELS / HEADS)
        weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), -1)
        mixed = jnp.einsum("bhij,bjhc->bihc", weights, value).reshape(x.shape)
        x = x + mixed @ layer["mixed"]
        x = x + jax.nn.gelu(_normalised(x) @ layer["wide"]) @ layer["narrow"]
    foreseen = jax.nn.log_softmax(_normalised(x) @ parameters["words"].T, -1)
    return -jnp.take_along_axis(foreseen, words[:, 1:, None], -1).mean()


def _normalised(x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / (1e-5 + (centred**2).mean(-1, keepdims=True)) ** 0.5


def texts() -> Any:
    """Numbers of words."""
    return np.random.default_rng(SEED).integers(0, WORDS, (BATCH, LENGTH + 1))


# --- A small convolutional network ----------------------------------------------------------------


def network_parameters() -> dict[str, Any]:
    """Of two convolutions and a product."""
    return {
        "first": normal(3, 3, 3, 8, scale=0.2),
        "second": normal(3, 3, 8, 16, scale=0.1),
        "last": normal(16 * (EDGE // 4) ** 2, CLASSES, scale=0.1),
    }


def network_loss(parameters: dict[str, Any], images: Any, labels: Any) -> Any:
    """How badly images are told apart."""
    import jax
    import jax.numpy as jnp

    x = images
    for name in ("first", "second"):
        layout = ("NHWC", "HWIO", "NHWC")
        x = jax.lax.conv_general_dilated(
            x, parameters[name], (1, 1), "SAME", dimension_numbers=layout
        )
        rows, columns = x.shape[1] // 2, x.shape[2] // 2
        x = jax.nn.relu(x.reshape(len(x), rows, 2, columns, 2, -1).mean((2, 4)))
    guesses = jax.nn.log_softmax(x.reshape(len(x), -1) @ parameters["last"], -1)
    return -jnp.take_along_axis(guesses, labels[:, None], -1).mean()


def images() -> list[Arrays]:
    """With what is to be seen on each."""
    labels = np.random.default_rng(SEED).integers(0, CLASSES, IMAGES)
    return [normal(IMAGES, EDGE, EDGE, 3), labels]


def trained(loss: Callable[..., Any]) -> Callable[..., Any]:
    """One step: the loss, and better parameters."""

    def step(parameters: Any, *data: Any) -> Any:
        import jax

        found, slopes = jax.value_and_grad(loss)(parameters, *data)
        return found, jax.tree.map(lambda old, slope: old - RATE * slope, parameters, slopes)

    return step


CASES = {
    case.name: case
    for case in (
        Case("gelu", "GELU, 4 M", gelu, lambda: [normal(SIDE, SIDE)]),
        Case("sum", "sum of 4 M", lambda x: x.sum(), lambda: [normal(SIDE, SIDE)], 1e-2),
        Case("rows", "sums of rows, 2048", lambda x: x.sum(1), lambda: [normal(SIDE, SIDE)]),
        Case("columns", "sums of columns, 2048", lambda x: x.sum(0), lambda: [normal(SIDE, SIDE)]),
        Case("softmax", "softmax of rows, 2048", softmax, lambda: [normal(SIDE, SIDE)]),
        Case(
            "product",
            "product of 512 x 512",
            lambda x: x @ x,
            lambda: [normal(FACTORS, FACTORS)],
        ),
        Case(
            "transformer",
            "training step, transformer",
            trained(transformer_loss),
            lambda: [transformer_parameters(), texts()],
            1e-3,
        ),
        Case(
            "network",
            "training step, convolutional network",
            trained(network_loss),
            lambda: [network_parameters(), *images()],
            1e-3,
        ),
    )
}
