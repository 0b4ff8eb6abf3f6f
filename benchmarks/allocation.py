"""Allocating and freeing device, host and shared memory against malloc and free."""

from __future__ import annotations

from functools import partial

from benchmarks import peers, programs
from benchmarks.figures import Benchmark, Figure, Measure, Options, Plan, Samples, Step, size_name

SIZES = (4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 1 << 30)
KINDS = ("device", "host", "shared")
TOUCHED_BYTES_PER_ROUND = 256 << 20


def plan(options: Options) -> Plan:
    """A process for each size and round; inside it, malloc and the driver take turns."""
    target = peers.direct()
    samples = {size: Samples() for size in SIZES}

    def step(size: int) -> None:
        touched = max(1, min(500, TOUCHED_BYTES_PER_ROUND // size))
        program = programs.build("allocation")
        measured = programs.run(program, target.library, size, 4, 300, touched, env=target.env)
        samples[size].add(measured)

    steps = [
        Step(f"allocations of {size_name(size)}", partial(step, size))
        for _ in range(1 if options.quick else 4)
        for size in SIZES
    ]
    return Plan(steps, lambda: [figure for size in SIZES for figure in _figures(size, samples)])


def _figures(size: int, samples: dict[int, Samples]) -> list[Figure]:
    unit = "µs"

    def figure(kind: str, how: str) -> Figure:
        ours, theirs = (samples[size].times(f"{name}-{how}") for name in (kind, "malloc"))
        return Figure(
            case=f"{size_name(size)} {kind}, {how}",
            unit=unit,
            ours=Measure.of_times(ours, unit),
            peer="malloc + free",
            theirs=Measure.of_times(theirs, unit),
        )

    return [figure(kind, how) for how in ("untouched", "touched") for kind in KINDS]


BENCHMARK = Benchmark(
    name="allocation",
    title="Allocation and free",
    explanation="zeMemAlloc* and zeMemFree in a loop, from C, against malloc and free in the same "
    "loop. Touched: every byte is written in between, so that the cost of getting pages from the "
    "system is included.",
    plan=plan,
)
