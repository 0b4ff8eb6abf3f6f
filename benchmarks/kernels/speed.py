"""How fast kernels run, against the OpenCL runtimes that drive a CPU, on the same source."""

from __future__ import annotations

from benchmarks.figures import Benchmark, Figure, Measure, Options, Plan
from benchmarks.kernels.cases import CASES, Case
from benchmarks.kernels.race import Race
from benchmarks.kernels.team import Team

SECONDS_PER_ROUND = 0.15
GOAL = 1.0


def plan(options: Options) -> Plan:
    """For each kernel: all check their results, then take turns for some rounds."""
    chosen = options.choose(CASES)
    race = Race(Team.of_runtimes(options.peers))
    rounds = options.rounds or (2 if options.quick else 7)
    steps = [step for case in chosen for step in race.steps(case.name, rounds, SECONDS_PER_ROUND)]
    return Plan(
        [*steps, race.end()], lambda: [row for case in chosen for row in _figures(race, case)]
    )


def _figures(race: Race, case: Case) -> list[Figure]:
    """A figure for each peer; a single one if there is no peer."""
    return race.figures(
        case.name, case.title, case.unit, lambda times: Measure.of_rate(times, case.work), GOAL
    )


BENCHMARK = Benchmark(
    name="kernels",
    title="Kernels",
    explanation="Launching a kernel and waiting for it, from Python, on all cores. All runtimes "
    "compile the same OpenCL C and take turns; results are compared with NumPy first.",
    plan=plan,
    wide=True,
    mean_goal=1.5,
)
