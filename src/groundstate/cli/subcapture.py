"""`groundstate subcapture`: cuts a small recording out of a large one."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict
from pathlib import Path

from groundstate import standin
from groundstate.capture import place
from groundstate.capture.play import Options, PlayError
from groundstate.capture.play.pointers_inside import places_in
from groundstate.capture.stream import StreamError, StreamReader
from groundstate.capture.stream.compression import CompressionMissing
from groundstate.capture.structure import Selection, SelectionError
from groundstate.capture.subcapture import (
    CutError,
    Outcome,
    cut_by_kernel,
    cut_by_selection,
    subcapture,
)
from groundstate.capture.subcapture.cutter import Chooser
from groundstate.cli import errors
from groundstate.cli import run as running
from groundstate.cli.commands import COMMANDS
from groundstate.cli.folders import output_folder
from groundstate.cli.progress import bar
from groundstate.cli.streams.opening import damaged, sentence_of
from groundstate.cli.trust import add_trust_option, native_environment

DESCRIPTION = """\
Cuts a range out of a recording, or a single launch of a kernel: a small recording of its own.

It has the calls that make what the range uses, the contents of memory where the range begins, and
the range. To find those contents the recording is played up to there. 'groundstate play' plays the
result as any other recording, here or on another driver.

A range is submissions/lists/kernels, each a number, several (3,5-9) or all (+). Executions of lists
and immediate lists count as submissions, lists count when they are made, kernels when they are
appended, all from 1; 'groundstate subcapture --list RECORDING' shows them. Everything from the
first kernel that is meant to the last one is taken.
"""

EXAMPLES = """\
examples:
  groundstate subcapture --list trace                       what runs in a recording
  groundstate subcapture trace -o small --range 3/1/5-9     kernels 5 to 9 of list 1 in submission 3
  groundstate subcapture trace -o small --range 7           all of submission 7
  groundstate subcapture trace -o one --kernel gemm         the first launch of a kernel, alone
  groundstate subcapture trace -o one --kernel gemm --occurrence 12
"""

UNREADABLE = (StreamError, CompressionMissing, OSError, standin.LibraryMissing, PlayError)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `subcapture` to the commands."""
    parser = subparsers.add_parser(
        "subcapture",
        help=COMMANDS["subcapture"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("recording", type=Path, metavar="RECORDING")
    parser.add_argument(
        "-o", "--out", metavar="DIR", type=Path, help="the folder for the new recording"
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--range", metavar="RANGE", help="submissions/lists/kernels, such as 3/1/5-9")
    what.add_argument("--kernel", metavar="NAME", help="one launch of the kernel of that name")
    what.add_argument("--list", action="store_true", help="list what runs, with its numbers")
    parser.add_argument(
        "--occurrence",
        metavar="N",
        type=int,
        default=1,
        help="with --kernel: which launch of that name, from 1 on; the first unless told",
    )
    parser.add_argument(
        "--process",
        metavar="PID",
        type=int,
        help="which process is meant, if the recording has several",
    )
    parser.add_argument(
        "--all-memory",
        action="store_true",
        help="keep all memory, also what no argument of the range's kernels leads to",
    )
    parser.add_argument(
        "--scan-pointers",
        action="store_true",
        help="memory holds addresses of other memory: find and map them",
    )
    parser.add_argument(
        "--pointer-at",
        metavar="ADDRESS|FILE",
        action="append",
        default=[],
        help="a recorded address where memory holds an address, or a JSON file with a list, "
        "as for 'groundstate play'",
    )
    parser.add_argument(
        "--patience",
        metavar="SECONDS",
        type=float,
        default=10.0,
        help="how long to wait for work that was submitted before the range; 10 unless told",
    )
    parser.add_argument("--driver", metavar="PATH", help="the library to play on; ours unless told")
    parser.add_argument("--json", action="store_true", help="print the outcome for programs")
    running.add_driver_options(parser)
    add_trust_option(parser)
    parser.set_defaults(run=cut, parser=parser)


def cut(args: argparse.Namespace) -> int:
    """Cuts, or lists what there is to cut."""
    try:
        stream = _stream_of(args)
        if args.list:
            return _list(stream, as_json=args.json)
        if args.out is None:
            args.parser.error("say with -o into which folder the new recording goes")
        choose, title = _chooser(args)
        with output_folder(args.out):
            if place.streams_of_folder(args.out):
                raise CutError(
                    f"there is a recording in '{args.out}'; choose another folder for -o"
                )
            outcome = _cut(args, stream, choose, title)
    except (CutError, SelectionError, *UNREADABLE) as problem:
        return complain(sentence_of(problem, args.recording))
    if outcome.differences:
        complain(
            f"{len(outcome.differences)} calls before the range were not as recorded, so what the "
            f"cut begins with may be wrong; the first: {outcome.differences[0]}"
        )
    if args.json:
        print(json.dumps(asdict(outcome), indent=2))
    else:
        kernels = f"{len(outcome.kernels)} kernel{'s' if len(outcome.kernels) != 1 else ''}"
        errors.say(
            f"{args.out}: {kernels}, {outcome.records} records, {outcome.size} bytes; "
            f"{outcome.calls_before} calls before the range are kept"
        )
    return 0


def _cut(args: argparse.Namespace, stream: Path, choose: Chooser, title: str) -> Outcome:
    os.environ.update(running.driver_environment(args))
    os.environ.update(native_environment(args))
    os.environ["ZE_ENABLE_ALT_DRIVERS"] = str(place.driver())
    library = args.driver or (place.machine_loader() if args.real_loader else place.driver())
    with StreamReader(stream) as reader:
        records = len(reader)
    with bar("playing up to the range", records) as progress:
        return subcapture(
            stream,
            args.out / stream.name,
            choose,
            library=str(library),
            options=Options(
                scan_pointers=args.scan_pointers,
                pointers_at=places_in(args.pointer_at),
                patience=args.patience,
                trust_native=args.trust_native,
            ),
            others=[each for each in place.streams_in(args.recording) if each != stream],
            all_memory=args.all_memory,
            title=title,
            progress=progress,
        )


def _stream_of(args: argparse.Namespace) -> Path:
    streams = place.streams_in(args.recording)
    if args.process is not None:
        streams = [path for path in streams if path.stem.endswith(f"-{args.process}")]
        if not streams:
            raise CutError(f"the recording has no process {args.process}")
    if len(streams) > 1:
        names = ", ".join(path.name for path in streams)
        raise CutError(f"the recording has several processes; choose with --process: {names}")
    return streams[0]


def _chooser(args: argparse.Namespace) -> tuple[Chooser, str]:
    if args.range is not None:
        selection = Selection.parse(args.range)
        title = f"range {args.range}"
        return lambda recorded: cut_by_selection(recorded.submissions, selection, args.range), title
    if args.occurrence < 1:
        raise CutError("occurrences count from 1")
    title = f"kernel {args.kernel}, occurrence {args.occurrence}"
    return lambda recorded: cut_by_kernel(recorded.submissions, args.kernel, args.occurrence), title


def _list(stream: Path, *, as_json: bool) -> int:
    """Prints every kernel that runs, with its place."""
    from groundstate.capture.structure import Outline

    with StreamReader(stream) as reader:
        outline = Outline(reader)
    rows = [
        {
            "place": f"{submission.number}/{batch.list.number}/{launch.number}",
            "kernel": launch.kernel,
            "groups": launch.groups,
            "group_size": launch.group_size,
            "submitted_by": submission.call,
            "appended_by": launch.call,
        }
        for submission in outline.submissions.submissions
        for batch, launch in submission.launches()
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        for row in rows:
            groups, size = _sizes(row["groups"]), _sizes(row["group_size"])
            errors.say(f"{row['place']:>12}  {row['kernel']:<32} {groups} groups of {size}")
    if outline.problem is not None:
        return complain(damaged(stream, outline.problem))
    return 0


def _sizes(sizes: object) -> str:
    if not isinstance(sizes, tuple):
        return "?"
    return "x".join(str(size) for size in sizes)


def complain(sentence: str) -> int:
    """Says on standard error what went wrong and hands back the exit status."""
    return errors.complain("subcapture", sentence)
