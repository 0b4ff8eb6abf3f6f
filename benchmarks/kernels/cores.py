"""How many times as fast each kernel is on more cores."""

from __future__ import annotations

import os
from functools import partial

from benchmarks import peers, programs
from benchmarks.figures import (
    LIMIT,
    OURS,
    Benchmark,
    Figure,
    Measure,
    Options,
    Plan,
    Samples,
    Step,
)
from benchmarks.kernels.cases import CASES, UNEVEN_CASES
from benchmarks.kernels.catalogue import find
from benchmarks.kernels.irregular import IRREGULAR_CASES
from benchmarks.kernels.race import Race
from benchmarks.kernels.speed import LIMIT_FLAGS, LIMIT_RUNS
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
    known = {name: name for name in (*CASES, *UNEVEN_CASES, *IRREGULAR_CASES)}
    usual = (name for name in known if name not in IRREGULAR_CASES or name.endswith("-skewed"))
    chosen = [known[name] for name in usual] if not options.cases else options.choose(known)
    rounds = options.rounds or (2 if options.quick else 5)
    counts = thread_counts(len(os.sched_getaffinity(0)))
    race, limits = Race(Team([_member(count) for count in counts])), Samples()
    steps = [step for name in chosen for step in race.steps(name, rounds, SECONDS_PER_ROUND)]
    for limit in sorted({_limit(name) for name in chosen} - {""}):
        steps += [Step(limit, partial(_measure_limit, limits, limit, n)) for n in (1, counts[-1])]
    return Plan(
        [*steps, race.end()],
        lambda: [row for name in chosen for row in _figures(race, name, counts, limits)],
    )


def _limit(name: str) -> str:
    """What of `programs/limits.c` is its limit, if anything is."""
    return CASES[name].limit if name in CASES else ""


def _member(threads: int) -> Member:
    environment = {**peers.direct().env, "GROUNDSTATE_THREADS": str(threads)}
    return Member(_name(threads), "groundstate", environment)


def _name(threads: int) -> str:
    return OURS if threads == 1 else f"{threads} threads"


def _measure_limit(limits: Samples, limit: str, threads: int) -> None:
    program = programs.build("limits", *LIMIT_FLAGS)
    measured = programs.run(program, limit, LIMIT_RUNS, env={"OMP_NUM_THREADS": str(threads)})
    limits.add(measured, f"{threads} ")


def _figures(race: Race, name: str, counts: list[int], limits: Samples) -> list[Figure]:
    """One for each number of threads beside one thread, and one for what C gains by all of them."""
    case = find(name)
    figures = race.figures(
        name, case.title, case.unit, lambda times: Measure.of_rate(times, case.work)
    )
    turned = [
        Figure(each.case, each.unit, each.theirs, each.peer, each.ours, GOAL * count, each.note)
        for each, count in zip(figures, counts[1:], strict=False)
    ]
    limit = _limit(name)
    if not turned or not limit:
        return turned or figures
    one, all_ = (Measure.of_rate(limits.times(f"{n} {limit}"), 1.0) for n in (1, counts[-1]))
    return [*turned, Figure(case.title, case.unit, all_, LIMIT, one)]


BENCHMARK = Benchmark(
    name="cores",
    title="Cores",
    explanation="Each kernel with one thread (GROUNDSTATE_THREADS=1), and how many times as fast "
    "it is with more. Kernels that are bound by memory end where the machine's memory does. The "
    "groups of uneven cost do the same work in all five cases: the first or the last twentieth of "
    "the groups costs nearly everything, or a group as much as a thirtieth of all. Limit: how many "
    "times as fast C written by hand is with all threads, which may share cores and do share the "
    "memory. Of the irregular kernels the skewed inputs are measured; --only names others.",
    plan=plan,
    speed_up=True,
)
