"""The process that measures JAX on one back end, run by the Python that JAX is installed for.

It reads requests and writes answers as `benchmarks.kernels.worker` does.
"""

from __future__ import annotations

import time
from typing import Any

import jax
import numpy as np

from benchmarks.answers import answer_requests
from benchmarks.jax.cases import CASES


class Worker:
    """Answers requests: one method for each kind."""

    def __init__(self, backend: str) -> None:
        (self.device, *_) = jax.devices(backend)
        self.host = jax.devices("cpu")[0]
        self.operation: Any = None

    def prepare(self, name: str) -> dict[str, Any]:
        """Runs a case once, and compares its results with those of JAX's CPU back end."""
        case = CASES[name]
        function, given = jax.jit(case.function), case.arguments()
        arguments = jax.device_put(given, self.device)
        self.operation = lambda: function(*arguments)
        results = [np.asarray(each) for each in jax.tree.leaves(self.operation())]
        expected = jax.tree.leaves(function(*jax.device_put(given, self.host)))
        for result, right in zip(results, map(np.asarray, expected), strict=True):
            farthest, largest = abs(result - right).max(), abs(right).max()
            if not farthest <= case.relative * max(largest, 1e-30):
                return {"mistake": f"wrong by {farthest:g} where numbers go up to {largest:g}"}
        return {"mistake": ""}

    def measure(self, seconds: float) -> dict[str, Any]:
        """Does it again and again; the time of each until its result is there, in nanoseconds.

        The first one only warms up, unless it takes so long that it is the only one.
        """
        clock, operation = time.perf_counter_ns, self.operation
        times: list[int] = []
        end = clock() + seconds * 1e9
        while not times or clock() < end:
            start = clock()
            jax.block_until_ready(operation())
            times.append(clock() - start)
        return {"times": times[1:] or times}

    def drop(self) -> dict[str, Any]:
        """Gives the arrays back."""
        self.operation = None
        return {}


if __name__ == "__main__":
    answer_requests(Worker)
