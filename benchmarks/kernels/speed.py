"""How fast kernels run, against the OpenCL runtimes that drive a CPU, on the same source."""

from __future__ import annotations

from functools import partial

from benchmarks import programs
from benchmarks.figures import (
    LIMIT,
    Benchmark,
    Figure,
    Measure,
    Options,
    Plan,
    Samples,
    Step,
)
from benchmarks.kernels.cases import CASES, Case
from benchmarks.kernels.race import Race
from benchmarks.kernels.team import Team

SECONDS_PER_ROUND = 0.15
LIMIT_FLAGS = ("-O3", "-march=native", "-ffast-math", "-fopenmp")
LIMIT_RUNS = 10
GOAL = 1.0


def plan(options: Options) -> Plan:
    """For each kernel: all check their results, then take turns for some rounds."""
    chosen = options.choose(CASES)
    race, limits = Race(Team.of_runtimes(options.peers)), Samples()
    rounds = options.rounds or (2 if options.quick else 7)
    steps = []
    for case in chosen:
        steps += race.steps(case.name, rounds, SECONDS_PER_ROUND)
        if options.peers and case.limit:
            steps.append(Step(f"{case.name}: limit", partial(_measure_limit, limits, case)))
    return Plan(
        [*steps, race.end()],
        lambda: [row for case in chosen for row in _figures(race, case, limits)],
    )


def _measure_limit(limits: Samples, case: Case) -> None:
    program = programs.build("limits", *LIMIT_FLAGS)
    limits.add(programs.run(program, case.limit, LIMIT_RUNS, env={}))


def _figures(race: Race, case: Case, limits: Samples) -> list[Figure]:
    """A figure for each peer and one for the limit; a single one if there is neither."""
    figures = race.figures(
        case.name, case.title, case.unit, lambda times: Measure.of_rate(times, case.work), GOAL
    )
    times = limits.times(case.limit)
    if times:
        limit = Measure.of_rate(times, 1.0)
        figures.append(Figure(case.title, case.unit, figures[0].ours, LIMIT, limit, GOAL))
    return figures


BENCHMARK = Benchmark(
    name="kernels",
    title="Kernels",
    explanation="Launching a kernel and waiting for it, from Python, on all cores. All runtimes "
    "compile the same OpenCL C and take turns; results are compared with NumPy first. Limit: what "
    "C written by hand for this machine does on all cores: reading, copying or adding such arrays "
    "past the cache, multiply-adds in registers, Mandelbrot and n-body in vectors.",
    plan=plan,
    wide=True,
    mean_goal=1.5,
)
