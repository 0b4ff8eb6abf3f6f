"""`groundstate stream timeline`: a recording as a picture, or as a trace for other viewers."""

from __future__ import annotations

import argparse
from pathlib import Path

from groundstate.capture.views.page import page_of
from groundstate.capture.views.spans import Timeline
from groundstate.capture.views.timeline import CALL_LIMIT, timeline_of
from groundstate.capture.views.trace import write_trace
from groundstate.cli import errors
from groundstate.cli.output import create
from groundstate.cli.progress import bar
from groundstate.cli.streams.opening import add_view, complain, find_streams, sentence_of
from groundstate.cli.streams.playing import UNPLAYABLE, add_measure_option, measured, progress

DESCRIPTION = """\
Draws threads and queues on one time axis: calls, waits, submissions, kernels and copies.

The page is one file that works without a network, in any browser. The trace is for
https://ui.perfetto.dev and chrome://tracing.

When a command ran was measured by the device while the program was recorded. What could not be
measured then (graphs, mutable lists, recordings of older versions) gets an even share of the time
from its submission until the program saw it done, which the picture marks as estimated. With
--play, the recording is played and how long such commands take is measured.

examples:
  groundstate stream timeline trace                       writes timeline.html
  groundstate stream timeline trace -o run.html           into another file
  groundstate stream timeline trace -o run.json           a trace for Perfetto or Chrome
  groundstate stream timeline trace --play                kernels measured, not estimated
"""


def add_parser(views: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the view."""
    parser = add_view(
        views, "timeline", "draw threads, queues and kernels over time", DESCRIPTION, run
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        default=Path("timeline.html"),
        metavar="FILE",
        help="the file to write: a page if its name ends in .html, a trace if in .json "
        "(default: timeline.html)",
    )
    parser.add_argument(
        "--calls",
        type=int,
        default=CALL_LIMIT,
        metavar="N",
        help=f"show the first N calls of each process (default: {CALL_LIMIT})",
    )
    add_measure_option(parser)


def run(args: argparse.Namespace) -> int:
    """Writes the picture of what could be read; 1 if that was not everything."""
    if args.out.suffix not in (".html", ".json"):
        args.parser.error(f"'{args.out}': the name of the file must end in .html or .json")
    streams = find_streams(args.recording)
    if not streams:
        return 1
    try:
        found = timeline_of(
            streams,
            args.recording.resolve().name,
            limit=max(0, args.calls),
            durations=measured(args, streams),
            bar=bar,
        )
        if found.count:
            with progress(f"writing {args.out}"):
                write(found, args.out)
    except UNPLAYABLE as problem:
        return complain(sentence_of(problem, args.recording))
    if not found.count and not found.problems:
        return complain(f"{args.recording}: there is nothing to draw: the program made no calls")
    for note in found.notes:
        errors.say(note)
    if found.count:
        rest = ", all that could be read" if found.problems else ""
        errors.say(f"{found.count:,} spans are in {args.out}{rest}")
    return max(map(complain, found.problems), default=0)


def write(found: Timeline, out: Path) -> None:
    """Writes the file."""
    with create(out) as file:
        if out.suffix == ".json":
            write_trace(found, file)
        else:
            file.write(page_of(found))
