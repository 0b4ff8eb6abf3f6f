"""How fast kernels run, against the OpenCL runtimes that drive a CPU, on the same source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    return race_plan(options, CASES, _times_of_limit, rounds=7)


def race_plan(
    options: Options, cases: Mapping[str, Case], limits: Callable[[Case], list[float]], rounds: int
) -> Plan:
    """The same for any cases, of which `limits` measures the times that C written by hand takes."""
    chosen = options.choose(cases)
    race, times = Race(Team.of_runtimes(options.peers, options.max_isa)), Samples()
    rounds = options.rounds or (2 if options.quick else rounds)
    steps = []
    for case in chosen:
        steps += race.steps(case.id, rounds, SECONDS_PER_ROUND)
        if options.peers and case.limit:
            measure = partial(_measure_limit, times, case, limits)
            steps.append(Step(f"{case.id}: limit", measure))
    return Plan(
        [*steps, race.end()],
        lambda: [row for case in chosen for row in _figures(race, case, times)],
    )


def _measure_limit(times: Samples, case: Case, limits: Callable[[Case], list[float]]) -> None:
    times.add({case.id: limits(case)})


def _times_of_limit(case: Case) -> list[float]:
    """The times for one unit of the case's work."""
    program = programs.build("limits", *LIMIT_FLAGS)
    (times,) = programs.run(program, case.limit, LIMIT_RUNS, env={}).values()
    return [time * case.work for time in times]


def _figures(race: Race, case: Case, limits: Samples) -> list[Figure]:
    """A figure for each peer and one for the limit; a single one if there is neither."""
    figures = race.figures(
        case.id, case.title, case.unit, lambda times: Measure.of_rate(times, case.work), GOAL
    )
    times = limits.times(case.id)
    if times:
        limit = Measure.of_rate(times, case.work)
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
    mean_goal=3.0,
)
