"""How fast irregular kernels run, against the OpenCL runtimes that drive a CPU."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import programs
from benchmarks.figures import Benchmark, Options, Plan
from benchmarks.kernels.cases import Case, Local, Picture
from benchmarks.kernels.irregular import IRREGULAR_CASES
from benchmarks.kernels.speed import LIMIT_FLAGS, race_plan

RUNS = 40
"""How often a limit is measured: each takes a few milliseconds."""
NARROW_FLAGS: dict[str, tuple[str, ...]] = {
    "": (),
    "native": (),
    "avx2": ("-mno-avx512f",),
    "sse4": ("-mno-avx",),
}
"""What keeps the C compiler from using newer instructions than our kernels may."""


def plan(options: Options) -> Plan:
    """For each kernel and each of its inputs: all check their results, then take turns."""
    limits = partial(times_of_limit, max_isa=options.max_isa)
    return race_plan(options, IRREGULAR_CASES, limits, rounds=3)


def times_of_limit(case: Case, max_isa: str = "", runs: int = RUNS) -> list[float]:
    """How long C written by hand takes for the same input; its result is checked, too."""
    flags = NARROW_FLAGS[max_isa]
    name = "irregular_limits"
    program = programs.build(name, *LIMIT_FLAGS, *flags, output=f"{name}{max_isa}")
    given = case.arguments()
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        for index, argument in enumerate(given):
            contents = np.empty(0) if isinstance(argument, Local | Picture) else argument
            np.asarray(contents).tofile(folder / str(index))
        (times,) = programs.run(program, case.limit, runs, folder, case.result, env={}).values()
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
