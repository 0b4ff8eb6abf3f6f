"""How fast kernels run, against the OpenCL runtimes that drive a CPU, on the same source."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from benchmarks.figures import OURS, Benchmark, Figure, Measure, Options, Plan, Samples, Step
from benchmarks.kernels.cases import CASES, Case
from benchmarks.kernels.team import Member, Team
from benchmarks.programs import MeasuringError

SECONDS_PER_ROUND = 0.15
GOAL = 1.0


@dataclass
class Progress:
    """What has been measured so far."""

    team: Team
    samples: Samples = field(default_factory=Samples)
    mistakes: dict[str, str] = field(default_factory=dict)
    """Why a runtime has no time for a case."""

    def able(self, case: Case) -> list[Member]:
        """Those that compute the right results."""
        return [each for each in self.team.members if _key(case, each.name) not in self.mistakes]


def plan(options: Options) -> Plan:
    """For each kernel: all check their results, then take turns for some rounds."""
    chosen = options.choose(CASES)
    progress = Progress(Team(options.peers))
    rounds = options.rounds or (2 if options.quick else 7)
    steps = []
    for case in chosen:
        steps.append(Step(f"{case.name}: NumPy, checks", partial(_prepare, progress, case)))
        steps += [Step(case.name, partial(_round, progress, case)) for _ in range(rounds)]
        steps.append(Step(case.name, partial(_drop, progress)))
    steps.append(Step("end", progress.team.close))
    return Plan(steps, lambda: [row for case in chosen for row in _figures(progress, case)])


def _key(case: Case, runtime: str) -> str:
    return f"{case.name} {runtime}"


def _prepare(progress: Progress, case: Case) -> None:
    """Every runtime builds the kernel and computes once what NumPy computes."""
    for name, mistake in progress.team.prepare(case).items():
        progress.mistakes[_key(case, name)] = mistake


def _round(progress: Progress, case: Case) -> None:
    for member in progress.able(case):
        answer = member.ask("measure", seconds=SECONDS_PER_ROUND)
        if "error" in answer:
            progress.mistakes[_key(case, member.name)] = answer["error"]
        else:
            progress.samples.add({_key(case, member.name): answer["times"]})


def _drop(progress: Progress) -> None:
    for member in progress.team.members:
        member.ask("drop")


def _figures(progress: Progress, case: Case) -> list[Figure]:
    """A figure for each peer; a single one if there is no peer."""
    mistake = progress.mistakes.get(_key(case, OURS))
    if mistake:
        raise MeasuringError(f"{case.title}: {mistake}")
    ours = Measure.of_rate(progress.samples.times(_key(case, OURS)), case.work)
    figures = []
    for member in progress.team.members[1:]:
        times = progress.samples.times(_key(case, member.name))
        note = progress.mistakes.get(_key(case, member.name), "")
        theirs = Measure.of_rate(times, case.work) if times and not note else None
        figures.append(Figure(case.title, case.unit, ours, member.name, theirs, GOAL, note))
    for missing in progress.team.missing:
        figures.append(Figure(case.title, case.unit, ours, missing.name, None, GOAL, missing.note))
    return figures or [Figure(case.title, case.unit, ours, "")]


BENCHMARK = Benchmark(
    name="kernels",
    title="Kernels",
    explanation="Launching a kernel and waiting for it, from Python, on all cores. All runtimes "
    "compile the same OpenCL C and take turns; results are compared with NumPy first.",
    plan=plan,
    wide=True,
    mean_goal=1.5,
)
