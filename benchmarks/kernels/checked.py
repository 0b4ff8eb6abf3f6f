"""How much slower kernels are in checked mode."""

from __future__ import annotations

from benchmarks import peers
from benchmarks.figures import OURS, Benchmark, Figure, Measure, Options, Plan
from benchmarks.kernels.cases import CASES, Case
from benchmarks.kernels.race import Race
from benchmarks.kernels.team import Member, Team

SECONDS_PER_ROUND = 0.1
CHECKED = "plain"
GOAL = 0.5
"""What part of its speed a kernel should keep."""


def plan(options: Options) -> Plan:
    """Two processes, in checked and in plain mode, take turns with one kernel after the other."""
    chosen = options.choose(CASES)
    rounds = options.rounds or (2 if options.quick else 5)
    race = Race(Team([_member(OURS, "memory"), _member(CHECKED, "0")]))
    steps = [step for case in chosen for step in race.steps(case.id, rounds, SECONDS_PER_ROUND)]
    return Plan(
        [*steps, race.end()], lambda: [row for case in chosen for row in _figures(race, case)]
    )


def _member(name: str, checks: str) -> Member:
    return Member(name, "groundstate", {**peers.direct().env, "GROUNDSTATE_CHECK": checks})


def _figures(race: Race, case: Case) -> list[Figure]:
    return race.figures(
        case.id, case.title, case.unit, lambda times: Measure.of_rate(times, case.work), GOAL
    )


BENCHMARK = Benchmark(
    name="checked",
    title="Checked mode",
    explanation="Each kernel with GROUNDSTATE_CHECK=memory, and without.",
    plan=plan,
    mean_goal=0.5,
)
