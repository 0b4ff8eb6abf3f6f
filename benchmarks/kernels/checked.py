"""How much slower kernels are in checked mode."""

from __future__ import annotations

from benchmarks import peers
from benchmarks.figures import OURS, Benchmark, Figure, Measure, Options, Plan
from benchmarks.kernels.cases import CASES, Case
from benchmarks.kernels.race import Race
from benchmarks.kernels.team import Member, Team

SECONDS_PER_ROUND = 0.1
PLAIN = "plain"


def benchmark(name: str, title: str, checks: str, goal: float) -> Benchmark:
    """Kernels under some checkers, beside plain mode. The goal is what part of its speed a kernel
    should keep."""

    def plan(options: Options) -> Plan:
        """Two processes, in checked and in plain mode, take turns with one kernel at a time."""
        chosen = options.choose(CASES)
        rounds = options.rounds or (2 if options.quick else 5)
        race = Race(Team([_member(OURS, checks), _member(PLAIN, "0")]))
        steps = [step for case in chosen for step in race.steps(case.id, rounds, SECONDS_PER_ROUND)]
        return Plan(
            [*steps, race.end()],
            lambda: [row for case in chosen for row in _figures(race, case, goal)],
        )

    explanation = f"Each kernel with GROUNDSTATE_CHECK={checks}, and without."
    return Benchmark(name, title, explanation, plan, mean_goal=goal)


def _member(name: str, checks: str) -> Member:
    return Member(name, "groundstate", {**peers.direct().env, "GROUNDSTATE_CHECK": checks})


def _figures(race: Race, case: Case, goal: float) -> list[Figure]:
    return race.figures(
        case.id, case.title, case.unit, lambda times: Measure.of_rate(times, case.work), goal
    )


BENCHMARK = benchmark("checked", "Checked mode", "memory", 1 / 2)
