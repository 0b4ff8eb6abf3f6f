"""How many times as fast each kernel is on more cores."""

from __future__ import annotations

import os

from benchmarks import peers
from benchmarks.figures import OURS, Benchmark, Figure, Measure, Options, Plan
from benchmarks.kernels.cases import CASES, UNEVEN_CASES, find
from benchmarks.kernels.race import Race
from benchmarks.kernels.team import Member, Team

SECONDS_PER_ROUND = 0.1
GOAL = 0.75
"""What part of its cores' strength the device should give to a kernel: 12 times with 16."""


def thread_counts(cores: int) -> list[int]:
    """One, two, four and so on, and as many as there are cores.

    >>> thread_counts(16), thread_counts(6)
    ([1, 2, 4, 8, 16], [1, 2, 4, 6])
    """
    powers = [1 << power for power in range(cores.bit_length())]
    return sorted({*powers, cores})


def plan(options: Options) -> Plan:
    """A process for each number of threads; they take turns with one kernel after the other."""
    chosen = options.choose({name: name for name in (*CASES, *UNEVEN_CASES)})
    rounds = options.rounds or (2 if options.quick else 7)
    counts = thread_counts(len(os.sched_getaffinity(0)))
    race = Race(Team([_member(count) for count in counts]))
    steps = [step for name in chosen for step in race.steps(name, rounds, SECONDS_PER_ROUND)]
    return Plan(
        [*steps, race.end()],
        lambda: [row for name in chosen for row in _figures(race, name, counts)],
    )


def _member(threads: int) -> Member:
    environment = {**peers.direct().env, "GROUNDSTATE_THREADS": str(threads)}
    return Member(_name(threads), "groundstate", environment)


def _name(threads: int) -> str:
    return OURS if threads == 1 else f"{threads} threads"


def _figures(race: Race, name: str, counts: list[int]) -> list[Figure]:
    """One for each number of threads, beside one thread."""
    case = find(name)
    figures = race.figures(
        name, case.title, case.unit, lambda times: Measure.of_rate(times, case.work)
    )
    return [
        Figure(each.case, each.unit, each.theirs, each.peer, each.ours, GOAL * count, each.note)
        for each, count in zip(figures, counts[1:], strict=False)
    ] or figures


BENCHMARK = Benchmark(
    name="cores",
    title="Cores",
    explanation="Each kernel with one thread (GROUNDSTATE_THREADS=1), and how many times as fast "
    "it is with more. Kernels that are bound by memory end where the machine's memory does. The "
    "groups of uneven cost do the same work in all five cases: the first or the last twentieth of "
    "the groups costs nearly everything, or a group as much as a thirtieth of all.",
    plan=plan,
    speed_up=True,
)
