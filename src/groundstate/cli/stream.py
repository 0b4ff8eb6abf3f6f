"""`groundstate stream`: reads recordings."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from groundstate.capture.describe import named_calls
from groundstate.capture.place import streams_in
from groundstate.capture.stream import StreamError, StreamReader
from groundstate.capture.stream.compression import CompressionMissing

DESCRIPTION = """\
Reads recordings that 'groundstate record' made.

RECORDING is the folder of a recording, or one stream in it.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `stream` and what it can do to the commands."""
    parser = subparsers.add_parser(
        "stream",
        help="read a recording",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    views = parser.add_subparsers(title="views", metavar="VIEW", required=True)
    calls = views.add_parser("calls", help="list every call with its arguments and its result")
    calls.add_argument("recording", type=Path, metavar="RECORDING")
    calls.set_defaults(run=list_calls)


def list_calls(args: argparse.Namespace) -> int:
    """Prints the calls of each process; 1 if some of them could not be read."""
    try:
        streams = streams_in(args.recording)
    except OSError as problem:
        return complain(str(problem))
    if not streams:
        return complain(f"there is no recording in '{args.recording}'")
    return max([_list_stream(path, heading=len(streams) > 1) for path in streams])


def _list_stream(path: Path, *, heading: bool) -> int:
    if heading:
        print(f"== {path.name}")
    try:
        with StreamReader(path) as reader:
            names: dict[int, str] = {}
            for call in named_calls(reader, names):
                seconds = call.call.time / 1e9
                print(f"{call.number:>7} {seconds:12.6f} thread {call.call.thread} {call}")
            for inside in reader.unreturned:
                name = names.get(inside.function, f"function {inside.function}")
                seconds = inside.time / 1e9
                print(f"      - {seconds:12.6f} thread {inside.thread} {name} did not return")
            if reader.damage is not None:
                return complain(f"{path.name} is damaged {reader.damage}")
    except (StreamError, CompressionMissing, OSError) as problem:
        return complain(f"{path.name}: {problem}")
    return 0


def complain(sentence: str) -> int:
    """Says on standard error what went wrong and hands back the exit status."""
    sys.stdout.flush()
    print(f"groundstate stream: {sentence}", file=sys.stderr)
    return 1
