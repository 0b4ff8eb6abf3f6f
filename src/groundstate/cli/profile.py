"""`groundstate profile`: runs a program and says where its time goes, and why."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from groundstate import knobs, standin
from groundstate.cli import errors
from groundstate.cli import run as running
from groundstate.cli.child import run_child
from groundstate.cli.commands import COMMANDS
from groundstate.cli.output import create
from groundstate.profiler import html, report, roof, screen, trace
from groundstate.profiler.recorded import Recorded
from groundstate.profiler.session import Collected

DESCRIPTION = """\
Runs a program and says where the time of its kernels and calls goes, and why.

For each kernel: its time, GFLOP/s and GB/s beside what this machine can do, the lanes that work,
how it accesses memory, the lines that take the time, and what holds it up, in a sentence. For the
host: the time in calls, when the device was idle and why, and copies that could overlap.

The program needs no change. Lines are named where modules have debug information: 'groundstate
compile -g', 'clang -g', 'icpx -g'. The first launch of each kernel counts what it does, and its
time is left out; --no-counters measures times alone, at a cost of a few percent at most.

What the machine can do is measured once, and takes a second. The exit status is the program's.
"""

EXAMPLES = """\
examples:
  groundstate profile -- ./my_app --size 1024
  groundstate profile --html profile.html -- ./my_app    with a roofline and a flame graph
  groundstate profile --trace trace.json -- ./my_app     for ui.perfetto.dev
  groundstate profile --json -o profile.json -- ./my_app for scripts
  groundstate profile --no-counters -- ./my_app          times only
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `profile` to the commands."""
    parser = subparsers.add_parser(
        "profile",
        help=COMMANDS["profile"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="groundstate profile [options] [--] PROGRAM [ARGUMENT ...]",
    )
    parser.add_argument(
        "--kernels",
        metavar="N",
        type=running.positive,
        default=screen.DETAILED,
        help=f"tell of so many kernels in detail; {screen.DETAILED} unless told",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the profile as JSON on standard output, in one line after the program's own",
    )
    parser.add_argument(
        "-o", "--out", metavar="FILE", type=Path, help="write the profile into this file instead"
    )
    parser.add_argument(
        "--html", metavar="FILE", type=Path, help="also write it as a page for a browser"
    )
    parser.add_argument(
        "--trace",
        metavar="FILE",
        type=Path,
        help="also write calls, kernels and copies over time, for Perfetto and about:tracing",
    )
    parser.add_argument(
        "--no-counters",
        action="store_true",
        help="count nothing: no rates, no accesses, and fewer reasons, but no launch is slowed",
    )
    parser.add_argument(
        "--no-roof", action="store_true", help="do not measure what this machine can do"
    )
    running.add_driver_options(parser)
    running.add_program(parser)
    parser.set_defaults(run=profile, parser=parser)


def profile(args: argparse.Namespace) -> int:
    """Runs the program, tells what it did, and passes its end on."""
    command = running.program_of(args)
    try:
        with contextlib.ExitStack() as opened:
            out = opened.enter_context(create(args.out)) if args.out else None
            page = opened.enter_context(create(args.html)) if args.html else None
            events = opened.enter_context(create(args.trace)) if args.trace else None
            collected = opened.enter_context(Collected())
            changes = running.driver_environment(args)
            environment = os.environ | changes | collected.environment(not args.no_counters)
            ended = run_child(command, environment, "profile")
            if not ended.started:
                return ended.pass_on()
            processes = collected.read()
            values = document(args, processes, command)
            if args.json:
                print(json.dumps(values), file=out or sys.stdout, flush=True)
            else:
                screen.show(values, out or sys.stderr, args.kernels)
            if page is not None:
                page.write(html.page(values))
            if events is not None:
                trace.write(processes, events)
    except (standin.LibraryMissing, ValueError) as problem:
        return errors.complain("profile", errors.describe(problem))
    return ended.pass_on()


def document(
    args: argparse.Namespace, processes: list[Recorded], command: list[str]
) -> dict[str, Any]:
    """The profile, beside what the machine can do."""
    workers = max((each.workers for each in processes), default=0)
    found = None
    if workers and not args.no_roof:
        chosen = {
            knobs.TOPOLOGY.name: args.topology,
            knobs.MEMORY.name: args.memory,
            knobs.THREADS.name: args.threads,
        }
        machine = {name: str(value) for name, value in chosen.items() if value is not None}
        found = roof.roof(os.environ | machine, workers)
    return report.document(processes, found, command)
