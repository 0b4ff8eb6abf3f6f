"""Copy bandwidth of the device against the host's own copy on all cores at once."""

from __future__ import annotations

from functools import partial

from benchmarks import peers, programs
from benchmarks.figures import Benchmark, Figure, Measure, Options, Plan, Samples, Step, size_name

SIZES = tuple(1 << shift for shift in range(16, 31, 2))
LARGE = 16 << 20
GOAL = 0.95
BYTES_PER_ROUND = 512 << 20

HOST_WAYS = {
    "memcpy": "memcpy on all cores",
    "past-cache": "non-temporal copy on all cores",
    "memcpy-one-core": "memcpy on one core",
}


def plan(options: Options) -> Plan:
    """A process for each size and round; inside it, the device and the host take turns."""
    target = peers.direct()
    samples = {size: Samples() for size in SIZES}

    def step(size: int) -> None:
        copies = max(3, min(300, BYTES_PER_ROUND // size)) // (2 if options.quick else 1)
        program = programs.build("copy")
        measured = programs.run(program, target.library, size, 3, copies, env=target.env)
        samples[size].add(measured)

    rounds = 1 if options.quick else 4
    steps = [
        Step(f"copies of {size_name(size)}", partial(step, size))
        for _ in range(rounds)
        for size in SIZES
    ]
    return Plan(steps, lambda: [_figure(size, samples[size]) for size in SIZES])


def _figure(size: int, samples: Samples) -> Figure:
    way = samples.fastest(HOST_WAYS)
    return Figure(
        case=size_name(size),
        unit="GB/s",
        ours=Measure.of_rate(samples.times("device"), size),
        peer=HOST_WAYS[way],
        theirs=Measure.of_rate(samples.times(way), size),
        goal=GOAL if size >= LARGE else None,
    )


BENCHMARK = Benchmark(
    name="copy",
    title="Host copy bandwidth",
    explanation="zeCommandListAppendMemoryCopy on an immediate list and "
    "zeCommandListHostSynchronize, from C, against the fastest of three ways in which the host "
    "can copy between the same two buffers. GB/s counts each byte once.",
    plan=plan,
)
