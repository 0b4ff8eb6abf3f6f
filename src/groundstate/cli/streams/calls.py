"""`groundstate stream calls`: every call in text or as JSON."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

from groundstate.capture.describe import NamedCall, named_calls
from groundstate.capture.stream import StreamReader
from groundstate.capture.views.plain import call_data
from groundstate.capture.views.summary import has_failed
from groundstate.cli import errors
from groundstate.cli.streams.opening import (
    UNREADABLE,
    add_view,
    complain,
    damaged,
    find_streams,
    sentence_of,
)

DESCRIPTION = """\
Lists calls with their arguments, what these led to, and the result: number of the record, seconds
since the recording began, thread, call.

examples:
  groundstate stream calls trace --function 'zeMem*'       calls whose name fits a pattern
  groundstate stream calls trace --failed                  calls that answered with an error
  groundstate stream calls trace --records 100-200         by the number of their record
  groundstate stream calls trace --longer-than 0.001       calls that took more than a millisecond
  groundstate stream calls trace --json | jq .function     one JSON object in each line
"""


def add_parser(views: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the view."""
    parser = add_view(
        views, "calls", "list calls with their arguments and results", DESCRIPTION, run
    )
    parser.add_argument(
        "--function",
        action="append",
        default=[],
        metavar="PATTERN",
        help="only functions whose name fits, such as 'zeMem*'; may be given several times",
    )
    parser.add_argument("--thread", type=int, metavar="N", help="only calls of this thread")
    parser.add_argument("--failed", action="store_true", help="only calls that failed")
    parser.add_argument(
        "--records", type=record_range, metavar="FIRST-LAST", help="only records of these numbers"
    )
    parser.add_argument(
        "--longer-than", type=float, metavar="SECONDS", help="only calls that took longer"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object in a line for each call"
    )


def record_range(text: str) -> tuple[int, int]:
    """The first and last number of '5', '5-9', '5-' or '-9'."""
    match = re.fullmatch(r"(\d*)(-?)(\d*)", text)
    if match is None or not (match[1] or match[3]):
        raise argparse.ArgumentTypeError(f"'{text}' is no number or range such as 100-200")
    first = int(match[1] or 0)
    last = first if not match[2] else int(match[3]) if match[3] else 1 << 64
    return first, last


def run(args: argparse.Namespace) -> int:
    """Prints the calls of each process; 1 if some of them could not be read."""
    streams = find_streams(args.recording)
    wanted = selection(args)
    several = len(streams) > 1
    return max([list_stream(path, wanted, args, several=several) for path in streams], default=1)


def selection(args: argparse.Namespace) -> Callable[[NamedCall], bool]:
    """Whether a call is one of those that were asked for."""
    first, last = args.records or (0, 1 << 64)
    shortest = -1 if args.longer_than is None else args.longer_than * 1e9

    def wanted(call: NamedCall) -> bool:
        return (
            first <= call.number <= last
            and (args.thread is None or call.call.thread == args.thread)
            and (not args.failed or has_failed(call))
            and call.call.duration > shortest
            and (not args.function or any(fnmatchcase(call.name, p) for p in args.function))
        )

    return wanted


def list_stream(
    path: Path, wanted: Callable[[NamedCall], bool], args: argparse.Namespace, *, several: bool
) -> int:
    """Prints the calls of one stream."""
    if several and not args.json:
        errors.say(f"== {path.name}")
    names: dict[int, str] = {}
    try:
        with StreamReader(path) as reader:
            for call in filter(wanted, named_calls(reader, names)):
                print_call(path, call, args)
            if not args.json:
                list_unreturned(reader, names)
            if reader.damage is not None:
                return complain(damaged(path, reader.damage))
    except UNREADABLE as problem:
        return complain(sentence_of(problem, path))
    return 0


def print_call(path: Path, call: NamedCall, args: argparse.Namespace) -> None:
    """Prints a call in the way that was asked for."""
    if args.json:
        print(json.dumps({"stream": path.name, **call_data(call)}))
    else:
        seconds = call.call.time / 1e9
        errors.say(f"{call.number:>7} {seconds:12.6f} thread {call.call.thread} {call}")


def list_unreturned(reader: StreamReader, names: dict[int, str]) -> None:
    """Prints the calls that the program was inside when it was killed."""
    for inside in reader.unreturned:
        made = names.get(inside.function, f"function {inside.function}")
        if inside.call is not None and inside.function in names:
            made = NamedCall(-1, made, inside.call).made
        seconds = inside.time / 1e9
        errors.say(f"      - {seconds:12.6f} thread {inside.thread} {made} did not return")
