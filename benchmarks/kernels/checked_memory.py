"""How much more memory a program takes in checked mode with all of its usual checkers."""

from __future__ import annotations

from functools import partial

from benchmarks import peers
from benchmarks.figures import OURS, Benchmark, Figure, Measure, Options, Plan, Samples, Step
from benchmarks.kernels.cases import CASES, Case
from benchmarks.kernels.team import Member, Team

PLAIN = "plain"
CHECKS = {OURS: "memory,uninit,races,sync,host", PLAIN: "0"}
GOAL = 1 / 4
SECONDS = 0.1


def plan(options: Options) -> Plan:
    """A process in checked mode and one in plain mode for each kernel say how much they had."""
    chosen = options.choose(CASES)
    samples, mistakes = Samples(), dict[str, str]()

    def step(case: Case) -> None:
        environment = peers.direct().env
        team = Team(
            [
                Member(name, "groundstate", {**environment, "GROUNDSTATE_CHECK": checks})
                for name, checks in CHECKS.items()
            ]
        )
        mistakes[case.id] = team.prepare(case.id).get(OURS, "")
        for member in team.members:
            member.ask("measure", seconds=SECONDS)
            samples.add({f"{member.name} {case.id}": member.ask("peak")["mebibytes"]})
        team.close()

    steps = [Step(case.id, partial(step, case)) for case in chosen]
    return Plan(steps, lambda: [_figure(case, samples, mistakes[case.id]) for case in chosen])


def _figure(case: Case, samples: Samples, mistake: str) -> Figure:
    if mistake:
        return Figure(case.title, "MiB", None, PLAIN, goal=GOAL, note=mistake)
    ours, theirs = (samples.times(f"{name} {case.id}") for name in CHECKS)
    measures = (Measure(min(each), min(each), max(each)) for each in (ours, theirs))
    return Figure(case.title, "MiB", next(measures), PLAIN, next(measures), GOAL)


BENCHMARK = Benchmark(
    name="checked-memory",
    title="Memory of checked mode",
    explanation="What a process has in memory at most that runs one kernel with "
    "GROUNDSTATE_CHECK=1, and without. Both hold what NumPy needs to check the result.",
    plan=plan,
    mean_goal=GOAL,
)
