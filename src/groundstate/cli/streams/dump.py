"""`groundstate stream dump`: buffers and images before and after kernels."""

from __future__ import annotations

import argparse
from pathlib import Path

from groundstate.capture.structure import Selection
from groundstate.capture.views.dump import DumpOrder, dump
from groundstate.capture.views.play_process import PlayProcess
from groundstate.cli import errors
from groundstate.cli.folders import output_folder
from groundstate.cli.streams.opening import add_view, complain, damaged, print_json, sentence_of
from groundstate.cli.streams.playing import (
    UNPLAYABLE,
    add_play_options,
    only_stream,
    progress,
    side_of,
)

DESCRIPTION = """\
Plays a recording and writes what kernels had before and after they ran, a folder for each run:
buffers as .npy files with the types that the kernel's source gives its arguments, images as .npy
and PNG, and layout.json, which says what is what.

Kernels are named, or numbered as submission/list/kernel: '3/1/5-9' is the kernels 5 to 9 in list 1
as submission 3 runs it, '3' all kernels of submission 3, '+/+/7' kernel 7 wherever it runs.

examples:
  groundstate stream dump trace --kernel scale -o scale      every run of a kernel, at most 16
  groundstate stream dump trace --first 1 --all-memory -o all
  groundstate stream dump trace --range 3/1/5 -o out         one run
  python -c "import numpy; print(numpy.load('out/3-1-5-scale/after/argument0-x.npy'))"
"""


def add_parser(views: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the view."""
    parser = add_view(
        views, "dump", "write buffers and images before and after kernels", DESCRIPTION, run
    )
    parser.add_argument(
        "-o", "--out", type=Path, default=Path("dump"), metavar="DIR",
        help="the folder to write into (default: dump)",
    )  # fmt: skip
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--kernel", metavar="NAME", help="only kernels of this name")
    which.add_argument("--range", metavar="S/L/K", help="only kernels of these numbers")
    parser.add_argument(
        "--first", type=int, default=16, metavar="N", help="at most N runs (default: 16)"
    )
    parser.add_argument(
        "--all-memory", action="store_true", help="all allocations, not only the arguments"
    )
    parser.add_argument(
        "--limit", type=int, default=4096, metavar="MIB", help="at most so much memory at a time"
    )
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")
    add_play_options(parser)


def run(args: argparse.Namespace) -> int:
    """Writes the folders; 1 if there were none to write, or something went wrong."""
    stream = only_stream(args.recording)
    if stream is None:
        return 1
    try:
        if args.range is not None:
            Selection.parse(args.range)
        order = DumpOrder(
            out=args.out.resolve(),
            kernel=args.kernel,
            selection=args.range,
            first=max(1, args.first),
            all_memory=args.all_memory,
            limit=max(1, args.limit) << 20,
        )
        with (
            output_folder(args.out),
            progress(f"playing {stream.name}"),
            PlayProcess(side_of(args, stream), dump, order) as process,
        ):
            done = process.result()
    except UNPLAYABLE as problem:
        return complain(sentence_of(problem, stream))
    if args.json:
        print_json(done)
    else:
        for folder in done["folders"]:
            errors.say(args.out / Path(folder).name)
        for note in done["notes"]:
            errors.say(f"note: {note}")
    if done["damage"] is not None:
        return complain(damaged(stream, done["damage"]))
    if not done["folders"]:
        return complain(f"{stream}: no run of such a kernel could be looked at")
    return 0
