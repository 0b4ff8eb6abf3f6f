"""How the time grows with the number of work-items, and shrinks with the number of cores."""

from __future__ import annotations

import os

from benchmarks import peers
from benchmarks.figures import OURS, Benchmark, Figure, Measure, Options, Plan
from benchmarks.kernels.cases import CASES, SCALING_CASES, Case
from benchmarks.kernels.race import Race
from benchmarks.kernels.team import Member, Team

SECONDS_PER_ROUND = 0.15
ONE_THREAD = "ours, one thread"
CORES_CASE = CASES["nbody"]
EFFICIENCY = 0.9
"""What part of its cores' strength the device should give to n-body: 1.8 times with two."""


def plan(options: Options) -> Plan:
    """All runtimes with more and more work-items; ours with all threads and with one."""
    rounds = options.rounds or (2 if options.quick else 7)
    sizes = Race(Team.of_runtimes(options.peers))
    environment = peers.direct().env
    one = {**environment, "GROUNDSTATE_THREADS": "1"}
    threads = Race(
        Team([Member(OURS, "groundstate", environment), Member(ONE_THREAD, "groundstate", one)])
    )
    steps = [
        *(step for name in SCALING_CASES for step in sizes.steps(name, rounds, SECONDS_PER_ROUND)),
        sizes.end(),
        *threads.steps(CORES_CASE.name, rounds, SECONDS_PER_ROUND),
        threads.end(),
    ]
    return Plan(steps, lambda: [*_size_figures(sizes), *_thread_figures(threads)])


def _size_figures(race: Race) -> list[Figure]:
    def figures(name: str, case: Case) -> list[Figure]:
        def per_item(times: list[float]) -> Measure:
            return Measure.of_times([time / case.work for time in times], "ns")

        return race.figures(name, case.title, "ns per item", per_item)

    return [each for name, case in SCALING_CASES.items() for each in figures(name, case)]


def _thread_figures(race: Race) -> list[Figure]:
    cores = len(os.sched_getaffinity(0))
    title = f"{CORES_CASE.title}, {cores} threads against one"
    return race.figures(
        CORES_CASE.name,
        title,
        CORES_CASE.unit,
        lambda times: Measure.of_rate(times, CORES_CASE.work),
        EFFICIENCY * cores if cores > 1 else None,
    )


BENCHMARK = Benchmark(
    name="scaling",
    title="Scaling",
    explanation="A kernel of 64 multiply-adds for each work-item, from a thousand work-items to a "
    "hundred million, launched and waited for from Python: the time for each of them. Then n-body "
    "on all cores against one worker thread (GROUNDSTATE_THREADS=1).",
    plan=plan,
    wide=True,
)
