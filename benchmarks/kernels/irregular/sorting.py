"""Sorting: a network in local memory, and one pass of a radix sort."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.cases import Argument, Array, Case, Local
from benchmarks.kernels.irregular.inputs import GROUP, empty, generator, popular

BLOCK = 256
"""How many numbers a group sorts."""
DIGITS = 16
KEYS = 64
"""How many keys a work-item of the radix sort moves."""
SHIFT = 8


def bitonic_sort(inputs: str, n: int) -> Case:
    """Each group sorts a block in local memory: any numbers, few different ones, or descending."""

    def arguments() -> list[Argument]:
        if inputs == "uniform":
            numbers = generator(25).integers(0, 1 << 32, n, dtype=np.uint32)
        elif inputs == "skewed":
            numbers = popular(n, 64).astype(np.uint32)
        else:
            numbers = np.arange(n, 0, -1, dtype=np.uint32)
        return [numbers, empty(n, dtype=np.uint32), Local(4 * BLOCK)]

    return Case(
        "bitonic_sort",
        f"bitonic sort of {BLOCK}, {inputs} numbers",
        (n,),
        (BLOCK,),
        arguments,
        1,
        lambda given: np.sort(given[0].reshape(-1, BLOCK), axis=1).reshape(-1),
        work=n * 1e3,
        unit="M items/s",
        inputs=inputs,
    )


def radix_pass(inputs: str, n: int) -> Case:
    """Each work-item moves its keys to where their digits belong, as scanned counts say.

    In the adversarial input, neighbouring keys have different digits, and their places are a power
    of two apart.
    """
    movers = n // KEYS

    def digits(keys: Array) -> Array:
        return (keys >> np.uint32(SHIFT)) & np.uint32(DIGITS - 1)

    def arguments() -> list[Argument]:
        keys = generator(26).integers(0, 1 << 32, n, dtype=np.uint32)
        if inputs != "uniform":
            wanted = popular(n, DIGITS) if inputs == "skewed" else np.arange(n) % DIGITS
            keys &= ~np.uint32((DIGITS - 1) << SHIFT)
            keys |= wanted.astype(np.uint32) << np.uint32(SHIFT)
        owner = np.arange(n) // KEYS
        counts = np.bincount(digits(keys) * np.int64(movers) + owner, minlength=DIGITS * movers)
        places = np.concatenate(([0], np.cumsum(counts)[:-1])).astype(np.uint32)
        local = Local(4 * DIGITS * GROUP)
        return [keys, places, empty(n, dtype=np.uint32), np.int32(SHIFT), local]

    def ordered(given: list[Any]) -> Array:
        return np.asarray(given[0][np.argsort(digits(given[0]), kind="stable")])

    return Case(
        "radix_pass",
        f"radix sort, a pass, {inputs} digits",
        (movers,),
        (GROUP,),
        arguments,
        2,
        ordered,
        work=n * 1e3,
        unit="M keys/s",
        limit="radix_pass",
        inputs=inputs,
    )
