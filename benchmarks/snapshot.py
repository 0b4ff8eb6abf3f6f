"""What watching costs: a snapshot of everything, on this machine and on recorded ones."""

from __future__ import annotations

import sys
from collections.abc import Callable

from benchmarks import peers, programs
from benchmarks.figures import LIMIT, Benchmark, Figure, Measure, Options, Plan, Samples, Step

MACHINES = programs.ROOT / "tests" / "machines"
HERE = "this machine"
RECORDED = ("laptop", "server")
MOST_MS = 2.0
"""A monitor that looks once a second then uses less than 0.2 % of a CPU."""
PEER = "psutil: CPU times, memory, clock, heat, fans, battery"


def plan(options: Options) -> Plan:
    """Each round starts a process for each machine."""
    samples = Samples()
    direct = peers.direct()

    def on(machine: str) -> Callable[[], None]:
        root = {} if machine == HERE else {"GROUNDSTATE_SYSFS_ROOT": str(MACHINES / machine)}

        def step() -> None:
            script = programs.SOURCES / "snapshots.py"
            env = {**direct.env, **root}
            samples.add(programs.run(sys.executable, script, 200, env=env), f"{machine} ")

        return step

    steps = [Step(f"snapshots of {machine}", on(machine)) for machine in (HERE, *RECORDED)]
    return Plan(steps * (1 if options.quick else 3), lambda: _figures(samples))


def _figures(samples: Samples) -> list[Figure]:
    figures = []
    psutil = Measure.of_times(samples.times(f"{HERE} psutil"), "µs")
    for machine in (HERE, *RECORDED):
        name = machine if machine == HERE else f"a recorded {machine}"
        ours = Measure.of_times(samples.times(f"{machine} snapshot"), "µs")
        figures.append(_against_limit(f"snapshot of {name}", ours))
        if machine == HERE:
            figures.append(Figure(f"snapshot of {name}", "µs", ours, PEER, psutil))
    for name, case in (("since", "what happened between two"), ("json", "one as JSON")):
        ours = Measure.of_times(samples.times(f"{HERE} {name}"), "µs")
        figures.append(Figure(case, "µs", ours, PEER, psutil))
    return figures


def _against_limit(case: str, ours: Measure) -> Figure:
    most = Measure(MOST_MS * 1000, MOST_MS * 1000)
    return Figure(case, "µs", ours, f"{LIMIT}: {MOST_MS:g} ms", most, goal=1.0)


BENCHMARK = Benchmark(
    name="snapshot",
    title="Watching",
    explanation="The CPU time of one `device.sysman.snapshot()`, which reads everything that there "
    "is to know, against psutil, which can tell less. Under 2 ms, a look each second costs less "
    "than 0.2 % of a CPU.",
    plan=plan,
)
