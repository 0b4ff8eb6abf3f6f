"""The inputs of irregular kernels: how long loops are, and which elements are wanted how often."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.cases import Array

INPUTS = ("uniform", "skewed", "adversarial")
GROUP = 64
PERIOD = 61
"""Every so many elements of an adversarial input one is large: at another lane each time."""

EXPONENT = 0.8
"""Of Zipf's law: how fast popularity falls with the rank."""
LONGEST = 64
"""How many times the mean a skewed length is at most."""


def generator(seed: int) -> np.random.Generator:
    """Random numbers, the same in every process."""
    return np.random.default_rng(seed)


def floats(*shape: int, seed: int = 1) -> Array:
    """Random numbers between 0 and 1."""
    return generator(seed).random(shape, dtype=np.float32)


def empty(*shape: int, dtype: Any = np.float32) -> Array:
    """What a kernel writes to."""
    return np.zeros(shape, dtype)


def lengths(inputs: str, count: int, mean: int, seed: int = 2) -> Array:
    """Lengths of at least 1 with a mean of exactly `mean`.

    Uniform ones are between half the mean and one and a half. Skewed ones follow Zipf's law in
    random order, up to 64 times the mean. Of adversarial ones, one of 61 has all but the least that
    the others need.
    """
    if inputs == "uniform":
        weights = 0.5 + generator(seed).random(count)
    elif inputs == "skewed":
        weights = generator(seed).permutation(1.0 / np.arange(1, count + 1) ** EXPONENT)
        weights = np.minimum(weights, LONGEST * weights.mean())
    else:
        weights = (np.arange(count) % PERIOD == PERIOD // 2).astype(np.float64)
    spare = count * (mean - 1)
    found = 1 + np.floor(weights / weights.sum() * spare).astype(np.int64)
    found[: count * mean - int(found.sum())] += 1
    return np.asarray(found, np.int32)


def offsets(of: Array) -> Array:
    """Where each of several pieces begins that follow each other, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(of))).astype(np.int32)


def popular(count: int, among: int, seed: int = 3) -> Array:
    """Numbers below `among` that follow Zipf's law, with the popular ones anywhere."""
    chance = generator(seed)
    ranks = (among * chance.random(count) ** (1 / (1 - EXPONENT))).astype(np.int64)
    return chance.permutation(among)[ranks].astype(np.int32)
