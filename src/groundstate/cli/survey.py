"""`groundstate survey`: compiles all kernels in libraries, and says which cannot be."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from groundstate.announce import Announced
from groundstate.cli.commands import COMMANDS
from groundstate.cli.errors import complain, describe, say
from groundstate.cli.progress import is_watched
from groundstate.cli.run import positive
from groundstate.compiler.target import SUBGROUP_SIZES
from groundstate.survey.files import Collection, Found, collect
from groundstate.survey.report import Report
from groundstate.survey.state import State
from groundstate.survey.trial import BEST, COMPILED, FAILED

DESCRIPTION = """\
Finds the SPIR-V modules in shared objects of SYCL programs, in wheels and in .spv files, compiles
each kernel for this machine, and says how long that takes and what cannot be compiled.

Nothing is run, and nothing is put into the cache of compiled kernels. A module that needs another
one of its file is linked with it, as the runtime would do. The exit status is 1 if a module fails
or none is found.
"""

EXAMPLES = """\
examples:
  groundstate survey k.spv                               one module
  groundstate survey .venv/lib/python3.11/site-packages  all libraries of an environment
  groundstate survey dpnp-0.20.0-*.whl --sample 200      200 modules of a wheel
  groundstate survey libs --width 16 --width 1           for 16 work-items side by side, and for one
  groundstate survey libs --state libs.jsonl             goes on where it was stopped
  groundstate survey libs --scheduler tcp://10.0.0.1:8786    on the machines of a Dask cluster
  groundstate survey libs --save broken --json           keeps what fails; report for programs
"""

if TYPE_CHECKING:
    from groundstate.survey.conduct import CompileAll

LIMIT_S = 120
NAMED = 8
"""So many files are named in a sentence."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `survey` to the commands."""
    parser = subparsers.add_parser(
        "survey",
        help=COMMANDS["survey"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help="a library, a wheel, a .spv file, or a folder"
    )
    parser.add_argument(
        "--width",
        dest="widths",
        metavar="LANES",
        type=int,
        choices=SUBGROUP_SIZES,
        action="append",
        help="compile for so many work-items side by side: 1, 4, 8, 16 or 32; may be given more "
        "than once (default: what the device would take)",
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=positive,
        default=len(os.sched_getaffinity(0)),
        help="compile so many modules at the same time (default: one for each CPU)",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="compile on the workers of a Dask cluster, such as tcp://10.0.0.1:8786, instead of on "
        "this machine (docs/howto/clusters.md)",
    )
    parser.add_argument(
        "--limit",
        metavar="SECONDS",
        type=positive,
        default=LIMIT_S,
        help=f"give a module up after so much processor time (default: {LIMIT_S})",
    )
    parser.add_argument(
        "--sample",
        metavar="N",
        type=positive,
        help="only N modules, the same ones each time, as if drawn by lot",
    )
    parser.add_argument(
        "--state", metavar="FILE", type=Path, help="keep results in a file, and use those in it"
    )
    parser.add_argument(
        "--save",
        metavar="FOLDER",
        type=Path,
        help="write what is not compiled as .spv files",
    )
    parser.add_argument("--json", action="store_true", help="print the report for programs")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Conducts a survey and prints the report."""
    from groundstate.survey.conduct import conduct

    try:
        compile_all = compiler_for(args)
    except (ImportError, OSError, ValueError) as problem:
        return complain("survey", f"no workers at {args.scheduler}: {problem}")
    missing = [path for path in args.paths if not os.path.exists(path)]
    if missing:
        return complain("survey", f"{missing[0]}: no such file")
    with Announced("looking for modules"):
        collection = collect(map(Path, args.paths))
    if not collection.modules and not collection.problems:
        return complain("survey", nothing_in(args.paths))
    chosen = choose(collection, args.sample)
    widths = widths_of(args)
    try:
        with State(args.state, widths) as state, counter(len(chosen)) as progress:
            before, start = len(state.outcomes), time.monotonic()
            conduct(collection, chosen, state, compile_all, progress)
            report = Report(
                collection,
                chosen,
                state.outcomes,
                widths,
                compiled_now=len(state.outcomes) - before,
                wall_s=time.monotonic() - start,
            )
        if args.save is not None:
            save(report, args.save)
    except OSError as problem:
        return complain("survey", describe(problem))
    if args.json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        say(*report.lines())
    return int(bool(report.counts[FAILED] or collection.problems))


def widths_of(args: argparse.Namespace) -> tuple[int, ...]:
    """The numbers of lanes that were asked for, or the one that stands for the device's choice."""
    return tuple(dict.fromkeys(args.widths or [BEST]))


def compiler_for(args: argparse.Namespace) -> CompileAll:
    """What compiles modules: processes of this machine, or the workers of a Dask cluster."""
    widths, limit_s = widths_of(args), args.limit
    if args.scheduler is not None:
        from groundstate.dask.survey import Workers

        return partial(Workers(args.scheduler).compile_all, widths, limit_s)
    from groundstate.survey.crew import compile_all

    jobs = args.jobs
    return lambda tasks, known: compile_all(tasks, widths, jobs, limit_s, known)


def nothing_in(paths: list[str]) -> str:
    """What to say of files without modules."""
    named = ", ".join(paths[:NAMED]) + (", ..." if len(paths) > NAMED else "")
    return (
        f"{named}: no SPIR-V module was found; name shared objects of SYCL programs, wheels, .spv "
        "files, or folders with some"
    )


def choose(collection: Collection, count: int | None) -> list[Found]:
    """All modules or some, by digest: as good as dice, so that what is done so far is a sample."""
    return sorted(collection.modules.values(), key=lambda each: each.digest)[:count]


def save(report: Report, folder: Path) -> None:
    """Writes the modules that were not compiled."""
    folder.mkdir(parents=True, exist_ok=True)
    for found in report.chosen:
        if report.outcomes[found.digest].result != COMPILED:
            (folder / f"{found.digest[:16]}.spv").write_bytes(found.data)


@contextmanager
def counter(total: int) -> Iterator[Callable[[int], None]]:
    """A bar with the rate and the time that is left, if somebody looks."""
    if not is_watched():
        yield lambda number: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("modules", total=total, rate="")

        def advance(number: int) -> None:
            speed = progress.tasks[task].speed
            rate = f"{speed:.1f} a second" if speed else ""
            progress.update(task, completed=number, rate=rate)

        yield advance
