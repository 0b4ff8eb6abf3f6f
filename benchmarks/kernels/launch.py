"""From launching an empty kernel to knowing that it has run, against OpenCL on the CPU."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks import peers, programs
from benchmarks.figures import OURS, Benchmark, Figure, Measure, Options, Plan, Samples, Step
from benchmarks.kernels.cases import EMPTY, SOURCES
from benchmarks.kernels.team import Member, Team
from benchmarks.peers import Missing, Target
from benchmarks.programs import MeasuringError
from groundstate.compiler.opencl.frontend import compile_opencl

WAYS = {
    "list": "immediate list, wait for the list",
    "event": "immediate list, wait for its event",
    "queue": "closed list, execute and wait for the queue",
}
THEIR_WAYS = ("finish", "event")
PYTHON = "Python, immediate list, wait for the list"
GOAL = 1.0


def plan(options: Options) -> Plan:
    """In each round each runtime is measured from C in a new process, then from Python."""
    samples, team = Samples(), Team.of_runtimes(options.peers)
    loader = peers.loader()
    routes = [route for route in (loader, peers.direct()) if isinstance(route, Target)]
    found = [peer for peer in peers.opencl_peers() if isinstance(peer, Target) and options.peers]
    kernel = programs.BUILT / "empty.spv"

    def prepare() -> None:
        kernel.parent.mkdir(parents=True, exist_ok=True)
        kernel.write_bytes(compile_opencl(EMPTY.source))
        for name, mistake in team.prepare(EMPTY.name).items():
            raise MeasuringError(f"{name}: {mistake}")

    def from_c(program: str, target: Target, source: Path) -> None:
        built = programs.build(program)
        measured = programs.run(built, target.library, source, 5, 1000, env=target.env)
        samples.add(measured, f"{target.name} ")

    def from_python(member: Member) -> None:
        samples.add({f"{member.name} Python": member.ask("latency", launches=1000)["times"]})

    source = SOURCES / "empty.cl"
    turn = [
        *(Step(f"C, {route.name}", partial(from_c, "launch", route, kernel)) for route in routes),
        *(
            Step(f"C, {peer.name}", partial(from_c, "opencl_launch", peer, source))
            for peer in found
        ),
        *(Step(f"Python, {each.name}", partial(from_python, each)) for each in team.members),
    ]
    rounds = options.rounds or (1 if options.quick else 6)
    return Plan(
        [Step("empty kernel: build", prepare), *turn * rounds, Step("end", team.close)],
        lambda: _figures(samples, routes, found, team.missing),
        peers.loader_notes(loader),
    )


def _figures(
    samples: Samples, routes: list[Target], found: list[Target], missing: list[Missing]
) -> list[Figure]:
    figures = []
    for route in routes:
        for way, description in WAYS.items():
            times = samples.times(f"{route.name} {way}")
            if times:
                case = f"C, {description} ({route.name})"
                theirs = {peer.name: _best(samples, peer.name) for peer in found}
                figures += _row(case, times, theirs, missing)
    theirs = {peer.name: samples.times(f"{peer.name} Python") for peer in found}
    return figures + _row(PYTHON, samples.times(f"{OURS} Python"), theirs, missing)


def _best(samples: Samples, peer: str) -> list[float]:
    """A peer at its strongest: whichever way to wait is faster."""
    return samples.times(samples.fastest(f"{peer} {way}" for way in THEIR_WAYS))


def _row(
    case: str, times: list[float], theirs: dict[str, list[float]], missing: list[Missing]
) -> list[Figure]:
    ours = Measure.of_times(times, "µs")
    figures = [
        Figure(case, "µs", ours, name, Measure.of_times(peer_times, "µs"), GOAL)
        for name, peer_times in theirs.items()
    ]
    figures += [Figure(case, "µs", ours, peer.name, None, GOAL, peer.note) for peer in missing]
    return figures or [Figure(case, "µs", ours, "")]


BENCHMARK = Benchmark(
    name="launch",
    title="Launch and wait of an empty kernel",
    explanation="One group of 64 work-items of a kernel that does nothing. Ours through the Level "
    "Zero loader and directly; a loader that is too old for zeCommandListHostSynchronize has no "
    "such row. The peers with clEnqueueNDRangeKernel and the faster of clFinish and "
    "clWaitForEvents; from Python with pyopencl, arguments set beforehand.",
    plan=plan,
    wide=True,
)
