"""The process that measures dpnp on one device, run by the Python that dpnp is installed for.

It reads requests and writes answers as `benchmarks.kernels.worker` does.
"""

from __future__ import annotations

import time
from typing import Any

import dpctl
import dpnp
import numpy as np

from benchmarks.answers import answer_requests
from benchmarks.sycl.cases import CASES


class Worker:
    """Answers requests: one method for each kind."""

    def __init__(self, backend: str) -> None:
        device = dpctl.SyclDevice()
        found = device.backend.name
        if found != backend:
            raise RuntimeError(f"the device is one of {found}, not of {backend}: {device.name}")
        self.operation: Any = None

    def prepare(self, name: str) -> dict[str, Any]:
        """Runs a case once, and compares its result with NumPy's."""
        case = CASES[name]
        given = case.arrays()
        arrays = [dpnp.asarray(array) for array in given]
        self.operation = lambda: case.operate(dpnp, *arrays)
        result = dpnp.asnumpy(self.operation())
        return {"mistake": case.mistake(result, case.operate(np, *given))}

    def measure(self, seconds: float) -> dict[str, Any]:
        """Does it again and again; the time of each until its result is there, in nanoseconds.

        The first one only warms up, unless it takes so long that it is the only one.
        """
        clock, operation = time.perf_counter_ns, self.operation
        times: list[int] = []
        end = clock() + seconds * 1e9
        while not times or clock() < end:
            start = clock()
            operation().sycl_queue.wait()
            times.append(clock() - start)
        return {"times": times[1:] or times}

    def drop(self) -> dict[str, Any]:
        """Gives the arrays back."""
        self.operation = None
        return {}


if __name__ == "__main__":
    answer_requests(Worker)
