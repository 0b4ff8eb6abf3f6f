"""How much faster checked mode is than Oclgrind, a simulator that finds the same mistakes.

Small launches: Oclgrind needs a second for what takes others a hundredth of a millisecond.
"""

from __future__ import annotations

from benchmarks import peers
from benchmarks.figures import OURS, Benchmark, Measure, Options, Plan
from benchmarks.kernels.cases import OCLGRIND_CASES
from benchmarks.kernels.race import Race
from benchmarks.kernels.team import Member, Team
from benchmarks.peers import Target

SECONDS_PER_ROUND = 0.1
GOAL = 1000.0
MODES = (("memory", {}), ("memory,races,sync", {"OCLGRIND_DATA_RACES": "1"}))
"""What we look for, and the variables with which Oclgrind does so, too."""


def plan(options: Options) -> Plan:
    """Takes turns with Oclgrind, first without and then with races."""
    chosen = options.choose(OCLGRIND_CASES)
    rounds = options.rounds or (1 if options.quick else 2)
    races = {checks: Race(_team(checks, settings)) for checks, settings in MODES}
    steps = [
        step
        for race in races.values()
        for case in chosen
        for step in race.steps(case.id, rounds, SECONDS_PER_ROUND)
    ]
    return Plan(
        [*steps, *(race.end() for race in races.values())],
        lambda: [
            figure
            for checks, race in races.items()
            for case in chosen
            for figure in race.figures(
                case.id,
                f"{case.title}: {checks}",
                case.unit,
                lambda times, work=case.work: Measure.of_rate(times, work),  # type: ignore[misc]
                GOAL,
            )
        ],
    )


def _team(checks: str, settings: dict[str, str]) -> Team:
    ours = Member(OURS, "groundstate", {**peers.direct().env, "GROUNDSTATE_CHECK": checks})
    peer = peers.oclgrind()
    if not isinstance(peer, Target):
        return Team([ours], [peer])
    environment = {**peer.env, **settings, "PYOPENCL_NO_CACHE": "1"}
    return Team([ours, Member(peer.name, "opencl", environment)])


BENCHMARK = Benchmark(
    name="oclgrind",
    title="Checked mode and Oclgrind",
    explanation="Small launches of kernels under GROUNDSTATE_CHECK, and in Oclgrind with the same "
    "checks.",
    plan=plan,
    mean_goal=GOAL,
)
