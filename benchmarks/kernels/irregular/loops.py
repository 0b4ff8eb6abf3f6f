"""Loops whose trip counts differ between neighbouring work-items."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.cases import Argument, Array, Case
from benchmarks.kernels.irregular.inputs import GROUP, empty, generator, lengths

STEPS = 64
"""On average."""


def divergent_loop(inputs: str, n: int) -> Case:
    """A loop of so many steps as an argument says, each of which needs the one before."""

    def arguments() -> list[Argument]:
        start = generator(12).integers(0, 1 << 32, n, dtype=np.uint32)
        return [start, lengths(inputs, n, STEPS), empty(n, dtype=np.uint32)]

    def last(given: list[Any]) -> Array:
        state, steps = given[0].copy(), given[1]
        order = np.argsort(-steps, kind="stable")
        state, left = state[order], np.sort(steps)[::-1]
        for step in range(int(steps.max())):
            live = int(np.searchsorted(-left, -step))
            part = state[:live]
            part ^= part << np.uint32(13)
            part ^= part >> np.uint32(17)
            part ^= part << np.uint32(5)
        result = empty(n, dtype=np.uint32)
        result[order] = state
        return result

    return Case(
        "divergent_loop",
        f"loops, {inputs} trip counts",
        (n,),
        (GROUP,),
        arguments,
        2,
        last,
        work=n * STEPS,
        unit="G steps/s",
        limit="divergent_loop",
        inputs=inputs,
    )
