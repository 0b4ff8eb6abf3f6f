"""`groundstate record`: runs a Level Zero program and records what it says to the driver."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from groundstate import knobs, standin
from groundstate.capture import place
from groundstate.capture.scripting.script import ScriptError
from groundstate.capture.stream import Kind, StreamError, StreamReader
from groundstate.capture.stream.compression import CompressionMissing
from groundstate.cli import errors
from groundstate.cli import run as running
from groundstate.cli import script as scripting
from groundstate.cli.child import Ended, run_child
from groundstate.cli.commands import COMMANDS
from groundstate.cli.folders import output_folder
from groundstate.monitor.words import bytes_text

DESCRIPTION = """\
Runs a program and records every call that it makes, with its structs and results, and the memory
that the program has written before each submission of work.

The recording is a folder with one stream for each process. When the program is killed, all calls
that had returned until then are in it. 'groundstate stream' reads recordings.
"""

EXAMPLES = """\
examples:
  groundstate record -o trace -- ./my_app         into the folder 'trace'
  groundstate record --tools -- ./my_monitor      the zes and zet functions, too
  groundstate record --results -- ./my_app        what the device writes, to compare with later
  groundstate record --script hooks.lua -- ./app  what is called after a script has changed it
  groundstate record --real-loader -- ./my_app    through the loader installed here
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `record` to the commands."""
    parser = subparsers.add_parser(
        "record",
        help=COMMANDS["record"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="groundstate record [options] [--] PROGRAM [ARGUMENT ...]",
    )
    parser.add_argument(
        "-o",
        "--out",
        metavar="DIR",
        type=Path,
        default=Path("recording"),
        help="the folder for the recording; 'recording' unless told",
    )
    parser.add_argument(
        "--tools", action="store_true", help="record the zes and zet functions, too"
    )
    parser.add_argument(
        "--results",
        action="store_true",
        help="record digests of what the device writes, for a player to compare with",
    )
    parser.add_argument(
        "--no-times",
        action="store_true",
        help="do not measure when kernels, copies and fills ran",
    )
    parser.add_argument(
        "--pages",
        choices=knobs.CAPTURE_PAGES.choices,
        default=knobs.CAPTURE_PAGES.default,
        help="how memory is found that the program has written; 'none' records calls only",
    )
    scripting.add_script_options(parser)
    running.add_driver_options(parser)
    running.add_program(parser)
    parser.set_defaults(run=record, parser=parser)


def record(args: argparse.Namespace) -> int:
    """Runs the program with the capture library in front of it, and says what came of it."""
    command = running.program_of(args)
    if args.out.exists() and not args.out.is_dir():
        return complain(f"{args.out}: is a file, not a folder; choose another one with -o")
    try:
        with output_folder(args.out):
            if place.streams_of_folder(args.out):
                sentence = "has a recording already; choose another folder with -o"
                return complain(f"{args.out}: {sentence}")
            ended = run_child(command, environment_of(args), "record")
            if ended.started:
                sentence = outcome(args.out, command[0], ended)
                errors.say(f"groundstate record: {sentence}", file=sys.stderr)
    except (ScriptError, standin.LibraryMissing, OSError) as problem:
        return complain(errors.describe(problem))
    return ended.pass_on()


def environment_of(args: argparse.Namespace) -> dict[str, str]:
    """The variables with which a program is recorded."""
    return {
        **os.environ,
        **running.driver_environment(args),
        **place.environment(
            os.environ,
            args.out,
            real_loader=args.real_loader,
            tools=args.tools,
            results=args.results,
            times=not args.no_times,
            pages=args.pages,
            script=scripting.script_of(args.script, args) if args.script else None,
        ),
    }


def outcome(out: Path, program: str, ended: Ended) -> str:
    """Where the recording is, or why there is none."""
    streams = place.streams_of_folder(out)
    killed = f" ({program} was killed by signal {ended.signal})" if ended.signal else ""
    if not streams:
        return (
            f"nothing was recorded: {program} did not open Level Zero (libze_loader.so.1), or "
            f"opened it by a path of its own{killed}"
        )
    if not any(map(has_calls, streams)):
        return f"{out}: a recording without calls: {program} made none{killed}"
    size = bytes_text(sum(each.stat().st_size for each in out.iterdir() if each.is_file()))
    what = "1 process" if len(streams) == 1 else f"{len(streams)} processes"
    return f"the recording is in {out}: {what}, {size}{killed}"


def has_calls(stream: Path) -> bool:
    """Whether there is a call in a stream."""
    try:
        with StreamReader(stream) as reader:
            calls = any(record.kind == Kind.CALL for record in reader.records())
            return calls or bool(reader.unreturned)
    except (StreamError, OSError, CompressionMissing):
        return True  # whoever reads it will be told


def complain(sentence: str) -> int:
    """Says on standard error what went wrong and hands back the exit status."""
    return errors.complain("record", sentence)
