"""From the start of a process to an initialised driver, against Python and OpenCL."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping

from benchmarks import peers, programs
from benchmarks.figures import Benchmark, Figure, Measure, Options, Plan, Samples, Step
from benchmarks.peers import Missing, Target

BARE_PYTHON = "python -c pass"
PYTHON_INIT = "from groundstate import ze; assert ze.zeInit(0) == 0"
CASES = {
    "direct": "zeInit from C, direct",
    "loader": "zeInit from C, through the loader",
    "Python": "zeInit from Python",
}


def plan(options: Options) -> Plan:
    """Each round starts one process of each kind."""
    samples = Samples()
    direct, loader, opencl = peers.direct(), peers.loader(), peers.opencl_peers()

    def step(name: str, command: list[str], env: Mapping[str, str]) -> Step:
        return Step(f"start of {name}", lambda: samples.add({name: [wall_time(command, env)]}))

    def program(name: str, target: Target) -> Step:
        return step(target.name, [str(programs.build(name)), target.library], target.env)

    steps = [
        step(BARE_PYTHON, [sys.executable, "-c", "pass"], {}),
        step("Python", [sys.executable, "-c", PYTHON_INIT], direct.env),
        program("start", direct),
    ]
    steps += [program("start", loader)] if isinstance(loader, Target) else []
    steps += [program("opencl_start", peer) for peer in opencl if isinstance(peer, Target)]
    rounds = 3 if options.quick else 20
    return Plan(steps * rounds, lambda: _figures(opencl, samples), peers.loader_notes(loader))


def wall_time(command: list[str], env: Mapping[str, str]) -> float:
    """Nanoseconds from starting a process until it has ended."""
    environment = programs.clean_environment(env)
    start = time.perf_counter_ns()
    done = subprocess.run(command, env=environment, capture_output=True)
    passed = time.perf_counter_ns() - start
    if done.returncode != 0:
        raise programs.MeasuringError(f"{command} failed: {done.stderr.decode(errors='replace')}")
    return float(passed)


def _figures(opencl: list[Target | Missing], samples: Samples) -> list[Figure]:
    figures = []
    for name, case in CASES.items():
        if not samples.times(name):
            continue
        ours = Measure.of_times(samples.times(name), "ms")
        bare = Measure.of_times(samples.times(BARE_PYTHON), "ms")
        figures.append(Figure(case, "ms", ours, BARE_PYTHON, bare))
        figures += [_against_opencl(case, ours, peer, samples) for peer in opencl]
    return figures


def _against_opencl(case: str, ours: Measure, peer: Target | Missing, samples: Samples) -> Figure:
    if isinstance(peer, Missing):
        return Figure(case, "ms", ours, peer.name, note=peer.note)
    theirs = Measure.of_times(samples.times(peer.name), "ms")
    return Figure(case, "ms", ours, f"{peer.name}, clGetPlatformIDs", theirs)


BENCHMARK = Benchmark(
    name="start",
    title="Start-up",
    explanation="Wall time of a fresh process that initialises the driver and ends, against a "
    "Python that does nothing and against a process that calls clGetPlatformIDs and ends.",
    plan=plan,
)
