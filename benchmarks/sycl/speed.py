"""How fast dpnp is on our device, against Intel's OpenCL runtime for CPUs, in one run."""

from __future__ import annotations

from functools import partial

from benchmarks.figures import OURS, Benchmark, Figure, Measure, Options, Plan, Samples, Step
from benchmarks.kernels.race import Race
from benchmarks.peers import Missing
from benchmarks.start_up import wall_time
from benchmarks.sycl import devices
from benchmarks.sycl.cases import CASES, Case
from benchmarks.sycl.devices import SyclDevice

SECONDS_PER_ROUND = 0.1
ROUNDS = 5
GOAL = 0.5
FIRST = "first"
FIRST_TITLE = "ones(10).sum() in a new process"
FIRST_PROGRAM = "import dpnp; assert dpnp.ones(10).sum() == 10"


def plan(options: Options) -> Plan:
    """For each case: both check their results, then take turns for some rounds."""
    chosen = options.choose({**CASES, FIRST: None})
    cases = [case for case in chosen if case is not None]
    rounds = options.rounds or (2 if options.quick else ROUNDS)
    as_gpu = Race(devices.team(devices.ours(), options.peers))
    as_cpu = Race(devices.team(devices.ours_as_cpu(), options.peers))
    steps = []
    for case in cases:
        steps += as_gpu.steps(case.name, rounds, SECONDS_PER_ROUND)
        if case.by_library:
            steps += as_cpu.steps(case.name, rounds, SECONDS_PER_ROUND)
    samples = Samples()
    peers = devices.peers(options.peers)
    if None in chosen:
        steps += _first_steps(samples, peers) * (rounds + 1)

    def figures() -> list[Figure]:
        rows = [row for case in cases for row in _figures(as_gpu, case, "")]
        by_library = [case for case in cases if case.by_library]
        rows += [row for case in by_library for row in _figures(as_cpu, case, ", as a CPU")]
        return rows + ([_first_figure(samples, peers)] if None in chosen else [])

    return Plan([*steps, as_gpu.end(), as_cpu.end()], figures)


def _figures(race: Race, case: Case, kind: str) -> list[Figure]:
    return race.figures(
        case.name, case.title + kind, "µs", lambda times: Measure.of_times(times, "µs"), GOAL
    )


def _first_steps(samples: Samples, peers: list[SyclDevice | Missing]) -> list[Step]:
    """Each device once. The first round fills the caches on disk."""

    def measure(device: SyclDevice) -> None:
        command = [str(devices.python()), "-c", FIRST_PROGRAM]
        samples.add({device.name: [wall_time(command, device.env)]})

    found = [devices.ours(), *(peer for peer in peers if isinstance(peer, SyclDevice))]
    return [Step(FIRST_TITLE, partial(measure, device)) for device in found]


def _first_figure(samples: Samples, peers: list[SyclDevice | Missing]) -> Figure:
    def measured(name: str) -> Measure:
        return Measure.of_times(samples.times(name)[1:], "ms")

    ours = measured(OURS)
    if not peers:
        return Figure(FIRST_TITLE, "ms", ours, "")
    (peer,) = peers
    theirs = measured(peer.name) if isinstance(peer, SyclDevice) else None
    note = peer.note if isinstance(peer, Missing) else ""
    return Figure(FIRST_TITLE, "ms", ours, peer.name, theirs, GOAL, note)


BENCHMARK = Benchmark(
    name="sycl",
    title="dpnp",
    explanation="One operation or a chain of them from Python until the result is there, each with "
    "a new array for each result, through the SYCL runtime on our Level Zero device and on the CPU "
    "device of Intel's OpenCL runtime. Both take turns; results are compared with NumPy first. "
    "Products and random numbers are oneMKL's, which brings kernels for GPUs here and its code for "
    "CPUs there; as a CPU: the same with GROUNDSTATE_DEVICE_TYPE=both and "
    "ONEAPI_DEVICE_SELECTOR=level_zero:cpu. The last row is the time of a whole process, with what "
    "earlier ones have left in the caches on disk.",
    plan=plan,
    wide=True,
    mean_goal=1.0,
)
