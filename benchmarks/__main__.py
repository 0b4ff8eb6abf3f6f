"""Runs the benchmarks: `python -m benchmarks`, or `make bench`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from benchmarks import (
    allocation,
    barrier_latency,
    call_cost,
    capture,
    copy_bandwidth,
    dnn,
    machine,
    programs,
    report,
    snapshot,
    start_up,
)
from benchmarks.figures import Figure, Options, Plan
from benchmarks.jax import speed as jax
from benchmarks.kernels import (
    checked,
    checked_memory,
    checked_races,
    checked_uninit,
    compile_time,
    cores,
    first,
    launch,
    oclgrind,
    scaling,
    speed,
)
from benchmarks.kernels.irregular import speed as irregular
from benchmarks.sycl import speed as sycl
from groundstate import knobs

BENCHMARKS = {
    module.BENCHMARK.name: module.BENCHMARK
    for module in (
        speed,
        irregular,
        launch,
        scaling,
        cores,
        checked,
        checked_uninit,
        checked_races,
        checked_memory,
        oclgrind,
        first,
        compile_time,
        copy_bandwidth,
        barrier_latency,
        call_cost,
        allocation,
        start_up,
        snapshot,
        dnn,
        capture,
        sycl,
        jax,
    )
}
RESULTS = Path(__file__).parent / "results"
DOCUMENT = programs.ROOT / "docs" / "reference" / "performance.md"
BUSY = 0.3


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "benchmarks", nargs="*", metavar="BENCHMARK", help=f"which: {', '.join(BENCHMARKS)}"
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for a first look")
    parser.add_argument(
        "--only",
        default="",
        metavar="CASES",
        help="only these cases of a benchmark of kernels: mandelbrot,nbody",
    )
    parser.add_argument("--rounds", type=int, metavar="N", help="how often all take their turn")
    parser.add_argument("--no-peers", action="store_true", help="measure only ours, for tuning")
    parser.add_argument(
        "--max-isa",
        default="",
        choices=knobs.MAX_ISA.choices,
        metavar="ISA",
        help="the newest instruction set that our kernels and Intel's may use: avx2, sse4",
    )
    parser.add_argument(
        "--record", action="store_true", help="write benchmarks/results/<machine>.json"
    )
    parser.add_argument(
        "--document", action="store_true", help="with --record: also put them into the documents"
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the results here")
    parser.add_argument(
        "--markdown", type=Path, metavar="PATH", help="print recorded results as Markdown and stop"
    )
    options = parser.parse_args()
    unknown = [name for name in options.benchmarks if name not in BENCHMARKS]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    return options


def measure(console: Console, name: str, plan: Plan) -> list[Figure]:
    """Takes the steps of a plan one after the other behind a progress bar."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(name, total=len(plan.steps))
        for step in plan.steps:
            progress.update(task, description=f"{step.label:<34}")
            step.run()
            progress.advance(task)
    return plan.figures()


def main() -> int:
    """Runs what was asked for; 1 if something it needs is missing."""
    options = parse()
    if options.markdown is not None:
        print(report.as_markdown(options.markdown), end="")
        return 0
    console = Console() if sys.stdout.isatty() else Console(width=150)
    try:
        failed = run(console, options)
    except (programs.MeasuringError, ValueError) as problem:
        console.print(Text(str(problem), "red"), soft_wrap=True)
        return 1
    return 1 if failed else 0


def run(console: Console, options: argparse.Namespace) -> list[Figure]:
    """Measures, shows a table for each benchmark, writes the results; returns what has failed."""
    here = machine.measure()
    console.print(here.sentence(), highlight=False, soft_wrap=True)
    console.print("A ratio above 1 is ahead of the peer.\n", highlight=False)
    chosen = Options(
        quick=options.quick,
        rounds=options.rounds,
        cases=tuple(filter(None, options.only.split(","))),
        peers=not options.no_peers,
        max_isa=options.max_isa,
    )
    path = options.json or (RESULTS / f"{here.name}.json" if options.record else None)
    failed = []
    for name in options.benchmarks or BENCHMARKS:
        benchmark = BENCHMARKS[name]
        busy = machine.busy_cores()
        if busy > BUSY:
            warning = f"Other programs keep {busy:.1f} cores busy: the ratios are uncertain."
            console.print(Text(warning, "yellow"))
        plan = benchmark.plan(chosen)
        for note in plan.notes:
            console.print(Text(note, "yellow"), soft_wrap=True)
        figures = measure(console, benchmark.title, plan)
        report.show(console, benchmark, figures)
        failed += [figure for figure in figures if figure.ours is None]
        if path is not None:
            report.write(path, here, {name: report.as_json(benchmark, figures, busy)})
    if path is not None:
        console.print(f"Written to {path}", soft_wrap=True)
        if options.document:
            report.update(DOCUMENT, path)
            console.print(f"Written to {DOCUMENT}", soft_wrap=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
