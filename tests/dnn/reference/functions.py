"""The functions of one element and their derivatives in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tests.dnn.reference.numbers import Array

Function = Callable[[Array, float, float], Array]

_erfc = np.vectorize(math.erfc, otypes=[np.float64])
_GELU = math.sqrt(2 / math.pi)


def logistic(s: Array) -> Array:
    return 1 / (1 + np.exp(-s))


def soft_relu(s: Array) -> Array:
    return np.logaddexp(0, s)


def _gelu_argument(s: Array) -> Array:
    return 2 * _GELU * s * (1 + 0.044715 * s * s)


def _gelu_tanh_slope(s: Array, a: float, b: float) -> Array:
    share = logistic(_gelu_argument(s))
    slope = 2 * _GELU * (1 + 3 * 0.044715 * s * s)
    return share + s * share * logistic(-_gelu_argument(s)) * slope


def _gelu_erf_slope(s: Array, a: float, b: float) -> Array:
    return 0.5 * _erfc(-s / math.sqrt(2)) + s * np.exp(-s * s / 2) / math.sqrt(2 * math.pi)


def _mish_slope(s: Array, a: float, b: float) -> Array:
    inner = np.tanh(soft_relu(s))
    return inner + s * logistic(s) * (1 - inner * inner)


def _swish_slope(s: Array, a: float, b: float) -> Array:
    share = logistic(a * s)
    return share + s * a * share * (1 - share)


def _hardswish_slope(s: Array, a: float, b: float) -> Array:
    """Where it bends is decided in single precision, as everywhere."""
    place = np.float32(a) * np.asarray(s, np.float32) + np.float32(b)
    return np.where(place <= 0, 0, np.where(place >= 1, 1, 2 * a * s + b))


FORWARD: dict[str, Function] = {
    "tanh": lambda s, a, b: np.tanh(s),
    "elu": lambda s, a, b: np.where(s > 0, s, a * np.expm1(s)),
    "soft_relu": lambda s, a, b: soft_relu(a * s) / a,
    "logistic": lambda s, a, b: logistic(s),
    "exp": lambda s, a, b: np.exp(s),
    "gelu_tanh": lambda s, a, b: s * logistic(_gelu_argument(s)),
    "swish": lambda s, a, b: s * logistic(a * s),
    "log": lambda s, a, b: np.log(s),
    "gelu_erf": lambda s, a, b: 0.5 * s * _erfc(-s / math.sqrt(2)),
    "mish": lambda s, a, b: s * np.tanh(soft_relu(s)),
    "hardsigmoid": lambda s, a, b: np.clip(a * s + b, 0, 1),
    "hardswish": lambda s, a, b: s * np.clip(a * s + b, 0, 1),
    "relu": lambda s, a, b: np.where(s > 0, s, a * s),
    "linear": lambda s, a, b: a * s + b,
    "clip": lambda s, a, b: np.clip(s, a, b),
    "abs": lambda s, a, b: np.abs(s),
    "square": lambda s, a, b: s * s,
}

EXACT = frozenset({"relu", "linear", "clip", "abs", "square"})

SLOPES: dict[str, Function] = {
    "tanh": lambda s, a, b: 1 - np.tanh(s) ** 2,
    "elu": lambda s, a, b: np.where(s > 0, 1, a * np.exp(s)),
    "soft_relu": lambda s, a, b: logistic(a * s),
    "logistic": lambda s, a, b: logistic(s) * logistic(-s),
    "exp": lambda s, a, b: np.exp(s),
    "gelu_tanh": _gelu_tanh_slope,
    "swish": _swish_slope,
    "gelu_erf": _gelu_erf_slope,
    "mish": _mish_slope,
    "hardswish": _hardswish_slope,
}

APPROXIMATED = {False: frozenset(FORWARD) - EXACT, True: frozenset(SLOPES)}
"""Those that the reference library approximates, or does not carry NaN through, by direction."""

BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}
