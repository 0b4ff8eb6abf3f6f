"""From appending an empty barrier to knowing that it is over, against OpenCL on the CPU."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks import peers, programs
from benchmarks.figures import Benchmark, Figure, Measure, Options, Plan, Samples, Step
from benchmarks.peers import Missing, Target

OURS = {
    "event": "immediate list, wait for its event",
    "in-order-event": "in-order immediate list, wait for its event",
    "list": "immediate list, wait for the list",
    "in-order-list": "in-order immediate list, wait for the list",
    "queue": "closed list, execute and wait for the queue",
}
THEIRS = {"finish": "clFinish", "event": "clWaitForEvents"}
GOAL = 1.0


def plan(options: Options) -> Plan:
    """Each round starts each runtime once, ours through both routes."""
    loader = peers.loader()
    routes = [route for route in (loader, peers.direct()) if isinstance(route, Target)]
    opencl = peers.opencl_peers()
    samples = Samples()

    def measure(program: str, target: Target) -> Callable[[], None]:
        def step() -> None:
            built = programs.build(program)
            measured = programs.run(built, target.library, 5, 1000, env=target.env)
            samples.add(measured, f"{target.name} ")

        return step

    ours = [Step(f"barriers, {route.name}", measure("barrier", route)) for route in routes]
    theirs = [
        Step(f"barriers, {peer.name}", measure("opencl_barrier", peer))
        for peer in opencl
        if isinstance(peer, Target)
    ]
    rounds = 1 if options.quick else 6
    return Plan(
        (ours + theirs) * rounds,
        lambda: _figures(routes, opencl, samples),
        peers.loader_notes(loader),
    )


def _figures(
    routes: list[Target], opencl: list[Target | Missing], samples: Samples
) -> list[Figure]:
    figures = []
    for route in routes:
        for way, description in OURS.items():
            times = samples.times(f"{route.name} {way}")
            if times:
                ours = Measure.of_times(times, "µs")
                figures += [
                    _against(f"{description} ({route.name})", ours, peer, samples)
                    for peer in opencl
                ]
    return figures


def _against(case: str, ours: Measure, peer: Target | Missing, samples: Samples) -> Figure:
    if isinstance(peer, Missing):
        return Figure(case, "µs", ours, peer.name, goal=GOAL, note=peer.note)
    fastest = samples.fastest(f"{peer.name} {way}" for way in THEIRS)
    way = THEIRS[fastest.removeprefix(f"{peer.name} ")]
    theirs = Measure.of_times(samples.times(fastest), "µs")
    return Figure(case, "µs", ours, f"{peer.name}, {way}", theirs, goal=GOAL)


BENCHMARK = Benchmark(
    name="barrier",
    title="Latency of an empty barrier",
    explanation="zeCommandListAppendBarrier and a wait, from C, through the Level Zero loader and "
    "directly, against clEnqueueBarrierWithWaitList and the faster of clFinish and "
    "clWaitForEvents through the OpenCL loader. Waits for an event include its reset. A loader "
    "that is too old for zeCommandListHostSynchronize has no such row.",
    plan=plan,
)
