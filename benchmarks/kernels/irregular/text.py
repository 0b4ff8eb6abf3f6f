"""Texts and bytes: comparisons that end early, and pieces of different lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.cases import Argument, Array, Case
from benchmarks.kernels.irregular.inputs import (
    GROUP,
    PERIOD,
    empty,
    generator,
    lengths,
    offsets,
    popular,
)

PATTERN = 16
"""How many letters are looked for."""
RUN = 32
"""How long a run is on average."""
WORD = 24
"""How many bytes are hashed on average."""


def string_match(inputs: str, positions: int) -> Case:
    """Each work-item compares a pattern with the text at its place, up to the first difference.

    The uniform text has four letters. In the skewed one a few letters are frequent, and so they are
    in the pattern. The adversarial one is nearly everywhere like the pattern.
    """

    def arguments() -> list[Argument]:
        size = positions + PATTERN
        if inputs == "adversarial":
            text = np.where(np.arange(size) % PERIOD == 0, ord("b"), ord("a")).astype(np.uint8)
            pattern = np.full(PATTERN, ord("a"), np.uint8)
        else:
            letters = 4 if inputs == "uniform" else 26
            drawn = generator(22).integers(0, letters, size)
            if inputs == "skewed":
                drawn = np.minimum(popular(size, 256) // 4, letters - 1)
            text = (ord("a") + drawn).astype(np.uint8)
            pattern = text[positions // 2 : positions // 2 + PATTERN].copy()
        return [text, pattern, np.int32(PATTERN), empty(positions, dtype=np.uint8)]

    def matches(given: list[Any]) -> Array:
        text, pattern, _, _ = given
        same = np.ones(positions, bool)
        for index, letter in enumerate(pattern):
            same &= text[index : index + positions] == letter
        return same.astype(np.uint8)

    return Case(
        "string_match",
        f"string matching, {inputs} letters",
        (positions,),
        (GROUP,),
        arguments,
        3,
        matches,
        work=positions,
        unit="GB/s",
        limit="string_match",
        inputs=inputs,
    )


def run_length_decode(inputs: str, runs: int) -> Case:
    """Each work-item writes a value as often as it is repeated."""

    def arguments() -> list[Argument]:
        values = generator(23).integers(0, 1 << 30, runs, dtype=np.int32)
        starts = offsets(lengths(inputs, runs, RUN))
        return [values, starts, empty(runs * RUN, dtype=np.int32)]

    return Case(
        "run_length_decode",
        f"run-length decoding, {inputs} runs",
        (runs,),
        (GROUP,),
        arguments,
        2,
        lambda given: np.repeat(given[0], np.diff(given[1])),
        work=runs * RUN * 4,
        unit="GB/s",
        limit="run_length_decode",
        inputs=inputs,
    )


def fnv_hash(inputs: str, words: int) -> Case:
    """Each work-item hashes a word byte by byte (FNV-1a)."""

    def arguments() -> list[Argument]:
        starts = offsets(lengths(inputs, words, WORD))
        content = generator(24).integers(0, 256, int(starts[-1]), dtype=np.uint8)
        return [content, starts, empty(words, dtype=np.uint32)]

    def hashes(given: list[Any]) -> Array:
        content, starts, _ = given
        order = np.argsort(-np.diff(starts), kind="stable")
        first, left = starts[:-1][order], np.diff(starts)[order]
        state = np.full(words, 2166136261, np.uint32)
        for step in range(int(left[0])):
            live = int(np.searchsorted(-left, -step))
            state[:live] = (state[:live] ^ content[first[:live] + step]) * np.uint32(16777619)
        result = np.empty_like(state)
        result[order] = state
        return result

    return Case(
        "fnv_hash",
        f"hash of words (FNV-1a), {inputs} lengths",
        (words,),
        (GROUP,),
        arguments,
        2,
        hashes,
        work=words * WORD,
        unit="GB/s",
        limit="fnv_hash",
        inputs=inputs,
    )
