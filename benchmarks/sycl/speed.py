"""How fast dpnp is on our device, against Intel's OpenCL runtime for CPUs, in one run."""

from __future__ import annotations

from benchmarks.figures import Benchmark, Figure, Measure, Options, Plan
from benchmarks.kernels.race import Race
from benchmarks.sycl import devices
from benchmarks.sycl.cases import CASES, Case

SECONDS_PER_ROUND = 0.1
ROUNDS = 5
GOAL = 0.5


def plan(options: Options) -> Plan:
    """For each case: both check their results, then take turns for some rounds."""
    chosen = options.choose(CASES)
    race = Race(devices.team(options.peers))
    rounds = options.rounds or (2 if options.quick else ROUNDS)
    steps = [step for case in chosen for step in race.steps(case.name, rounds, SECONDS_PER_ROUND)]
    return Plan(
        [*steps, race.end()], lambda: [row for case in chosen for row in _figures(race, case)]
    )


def _figures(race: Race, case: Case) -> list[Figure]:
    return race.figures(
        case.name, case.title, "µs", lambda times: Measure.of_times(times, "µs"), GOAL
    )


BENCHMARK = Benchmark(
    name="sycl",
    title="dpnp",
    explanation="One operation or a chain of them from Python until the result is there, each with "
    "a new array for each result, through the SYCL runtime on our Level Zero device and on the CPU "
    "device of Intel's OpenCL runtime. Both take turns; results are compared with NumPy first. "
    "Products of matrices and random numbers are oneMKL's, which brings kernels for GPUs here and "
    "its code for CPUs there.",
    plan=plan,
    wide=True,
    mean_goal=1.0,
)
