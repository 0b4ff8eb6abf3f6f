"""The process that measures one runtime: `python -m benchmarks.kernels.worker groundstate|opencl`.

It reads requests and writes answers, one JSON object in a line each. While it waits for a request
it does nothing, so that the runtimes take turns on a machine of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.answers import answer_requests
from benchmarks.kernels.cases import SMALL_CASES, Case
from benchmarks.kernels.catalogue import find
from benchmarks.kernels.large import LARGE, MODULE_KERNELS
from benchmarks.kernels.runtimes import Groundstate, Prepared, open_runtime

FIRST = "vector_add"
"""The kernel that a process compiles before a large one."""


class Worker:
    """Answers requests: one method for each kind."""

    restored: Sequence[tuple[Any, Any]] = ()
    """Memory that is filled before each launch, and with what."""

    def __init__(self, kind: str) -> None:
        self.runtime = open_runtime(kind)
        self.prepared: Prepared | None = None

    def prepare(self, name: str, expected: str) -> dict[str, Any]:
        """Builds a kernel, runs it once, and compares with what NumPy has computed."""
        self.drop()
        case = find(name)
        given: list[Any] = case.arguments()
        arguments = list(map(self.runtime.upload, given))
        self.restored = [(arguments[each], given[each]) for each in case.restored]
        self.prepared = self.runtime.build(case, arguments)
        self.prepared.launch()
        result = self.prepared.result(given[case.result])
        return {"mistake": case.mistake(np.load(expected), result)}

    def first(self, name: str, spirv: str = "") -> dict[str, Any]:
        """How long it takes from the source, or from a file of SPIR-V, to the first result."""
        case = SMALL_CASES[name]
        given: list[Any] = case.arguments()
        arguments = list(map(self.runtime.upload, given))
        binary = Path(spirv).read_bytes() if spirv else None
        return self._time_to_result(
            case, given, lambda: self.runtime.build(case, arguments, binary)
        )

    def compile(self, spirv: str = "") -> dict[str, Any]:
        """The same for a large kernel, when the compiler has been used before."""
        self.first(FIRST)
        given: list[Any] = LARGE.arguments()
        arguments = list(map(self.runtime.upload, given))
        binary = Path(spirv).read_bytes() if spirv else None
        return self._time_to_result(
            LARGE, given, lambda: self.runtime.build(LARGE, arguments, binary)
        )

    def compile_native(self, spirv: str) -> dict[str, Any]:
        """The same from a native binary, which only our own driver makes."""
        given: list[Any] = LARGE.arguments()
        arguments = list(map(self.runtime.upload, given))
        runtime = self.runtime
        assert isinstance(runtime, Groundstate)
        module = runtime.module(Path(spirv).read_bytes())
        runtime.kernel(LARGE, module, arguments).launch()
        native = module.native_binary()
        return self._time_to_result(
            LARGE, given, lambda: runtime.kernel(LARGE, runtime.module(native=native), arguments)
        )

    def index(self, spirv: str) -> dict[str, Any]:
        """How long it takes until a module has told the names of its kernels."""
        runtime, binary = self.runtime, Path(spirv).read_bytes()
        assert isinstance(runtime, Groundstate)
        start = time.perf_counter_ns()
        names = runtime.module(binary).kernel_names
        passed = time.perf_counter_ns() - start
        mistake = "" if len(names) == MODULE_KERNELS else f"there are {len(names)} kernels"
        return {"times": [passed], "mistake": mistake}

    def _time_to_result(
        self, case: Case, given: list[Any], build: Callable[[], Prepared]
    ) -> dict[str, Any]:
        start = time.perf_counter_ns()
        prepared = build()
        prepared.launch()
        passed = time.perf_counter_ns() - start
        mistake = case.mistake(case.expected(given), prepared.result(given[case.result]))
        return {"times": [passed], "mistake": mistake}

    def measure(self, seconds: float) -> dict[str, Any]:
        """Launches the kernel again and again; the time of each launch in nanoseconds.

        The first launch only warms up, unless it takes so long that it is the only one.
        """
        assert self.prepared is not None
        clock, launch = time.perf_counter_ns, self.prepared.launch
        times: list[int] = []
        end = clock() + seconds * 1e9
        while not times or clock() < end:
            for memory, contents in self.restored:
                self.runtime.write(memory, contents)
            start = clock()
            launch()
            times.append(clock() - start)
        return {"times": times[1:] or times}

    def latency(self, launches: int) -> dict[str, Any]:
        """The time of one launch when many follow each other, each waited for."""
        assert self.prepared is not None
        launch = self.prepared.launch
        start = time.perf_counter_ns()
        for _ in range(launches):
            launch()
        return {"times": [(time.perf_counter_ns() - start) / launches]}

    def peak(self) -> dict[str, Any]:
        """The most memory that the process has had so far."""
        lines = Path("/proc/self/status").read_text().splitlines()
        (most,) = (each.split()[1] for each in lines if each.startswith("VmHWM:"))
        return {"mebibytes": [int(most) / 1024]}

    def drop(self) -> dict[str, Any]:
        """Gives the kernel's memory back."""
        self.prepared, self.restored = None, []
        return {}


if __name__ == "__main__":
    answer_requests(Worker)
