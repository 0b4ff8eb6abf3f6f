"""How fast irregular kernels run, against the OpenCL runtimes that drive a CPU."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks import programs
from benchmarks.figures import Benchmark, Options, Plan
from benchmarks.kernels.cases import Case
from benchmarks.kernels.irregular import IRREGULAR_CASES
from benchmarks.kernels.speed import LIMIT_FLAGS, LIMIT_RUNS, race_plan


def plan(options: Options) -> Plan:
    """For each kernel and each of its inputs: all check their results, then take turns."""
    return race_plan(options, IRREGULAR_CASES, times_of_limit, rounds=3)


def times_of_limit(case: Case) -> list[float]:
    """How long C written by hand takes for the same input; its result is checked, too."""
    program = programs.build("irregular_limits", *LIMIT_FLAGS)
    given = case.arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for index, argument in enumerate(given):
            contents = argument if isinstance(argument, np.ndarray | np.generic) else []
            np.asarray(contents).tofile(folder / str(index))
        (times,) = programs.run(
            program, case.limit, LIMIT_RUNS, folder, case.result, env={}
        ).values()
        like = given[case.result]
        assert isinstance(like, np.ndarray)
        result = np.fromfile(folder / "result", like.dtype).reshape(like.shape)
    mistake = case.mistake(case.expected(given), result)
    if mistake:
        raise programs.MeasuringError(f"the limit is wrong: {mistake}")
    return times


BENCHMARK = Benchmark(
    name="irregular",
    title="Irregular kernels",
    explanation="Kernels whose memory accesses, trip counts or branches depend on their input, "
    "each with three inputs: uniform; skewed, where a few elements have most of the work; and "
    "adversarial, where neighbouring work-items have as little in common as possible. Measured "
    "as the regular kernels are. Limit: C written by hand for the kernel, on the same input. No "
    "kernel should be behind the faster peer.",
    plan=plan,
    wide=True,
    mean_goal=2.0,
)
