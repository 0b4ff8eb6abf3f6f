"""What one API call costs, from C and from Python, against a call that does nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable

from benchmarks import peers, programs
from benchmarks.figures import Benchmark, Figure, Measure, Options, Plan, Samples, Step
from benchmarks.peers import Target

CALLS = (
    "zeEventQueryStatus",
    "zeMemGetAllocProperties",
    "zeCommandListAppendBarrier",
    "zeEventCreate+Destroy",
    "zeDeviceGetProperties",
    "zeDriverGetProperties",
    "zeDeviceGet",
)
COUNTED = "Counting the time of a launch"
WAYS = {
    "direct": ("C, direct", "empty C function"),
    "loader": ("C, loader", "empty C function"),
    "python raw": ("Python, groundstate.ze", "empty C function through ctypes"),
    "python object": ("Python, objects", "empty C function through ctypes"),
}


def plan(options: Options) -> Plan:
    """Each round starts one process for each way to call; inside it, the calls take turns."""
    samples = Samples()
    direct, loader = peers.direct(), peers.loader()
    empty = programs.build("empty", "-shared", "-fPIC", output="libempty.so")

    def from_c(target: Target) -> Callable[[], None]:
        def step() -> None:
            built = programs.build("calls")
            measured = programs.run(built, target.library, empty, 5, 20000, env=target.env)
            samples.add(measured, f"{target.name} ")

        return step

    def counters() -> None:
        built = programs.build("counters")
        samples.add(programs.run(built, 5, 100000, env=direct.env))

    def from_python() -> None:
        script = programs.SOURCES / "calls.py"
        measured = programs.run(sys.executable, script, empty, 5, 5000, env=direct.env)
        samples.add(measured, "python ")

    steps = [Step("calls from C", from_c(direct)), Step("counters of activity", counters)]
    if isinstance(loader, Target):
        steps.append(Step("calls from C through the loader", from_c(loader)))
    steps.append(Step("calls from Python", from_python))
    return Plan(
        steps * (1 if options.quick else 5), lambda: _figures(samples), peers.loader_notes(loader)
    )


def _figures(samples: Samples) -> list[Figure]:
    figures = []
    for call in CALLS:
        for way, (description, peer) in WAYS.items():
            times = samples.times(f"{way} {call}")
            if times:
                ours = Measure.of_times(times, "ns")
                empty = samples.times(f"{way} empty") or samples.times(f"python empty {call}")
                theirs = Measure.of_times(empty, "ns")
                figures.append(Figure(f"{call} ({description})", "ns", ours, peer, theirs))
    counted = Measure.of_times(samples.times("counted"), "ns")
    clock = Measure.of_times(samples.times("clock"), "ns")
    figures.append(Figure(COUNTED, "ns", counted, "two readings of the clock", clock))
    return figures


BENCHMARK = Benchmark(
    name="calls",
    title="Cost of one API call",
    explanation="A loop around each call against the same loop around a call of a function that "
    "does nothing in a library of its own. The Python half answers the first zeDeviceGetProperties "
    "and zeDriverGetProperties, and the C half all that follow. The last row is the part of a "
    "launch that counts how long the device is busy, for system management.",
    plan=plan,
)
