"""`groundstate record`: runs a Level Zero program and records what it says to the driver."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from groundstate import knobs, standin
from groundstate.capture import place
from groundstate.capture.scripting.script import ScriptError
from groundstate.cli import run as running
from groundstate.cli import script as scripting

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
        help="run a program and record its calls",
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
        "--pages",
        choices=knobs.CAPTURE_PAGES.choices,
        default=knobs.CAPTURE_PAGES.default,
        help="how memory is found that the program has written; 'none' records calls only",
    )
    scripting.add_script_options(parser)
    running.add_driver_options(parser)
    parser.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="PROGRAM ...",
        help="the program and its arguments, unchanged",
    )
    parser.set_defaults(run=record, parser=parser)


def record(args: argparse.Namespace) -> int:
    """Becomes the program with the capture library in front of it."""
    command = running.program_of(args)
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        if place.streams_in(args.out):
            return complain(f"there is a recording in '{args.out}'; choose another folder with -o")
        environment = {
            **os.environ,
            **running.driver_environment(args),
            **place.environment(
                os.environ,
                args.out,
                real_loader=args.real_loader,
                tools=args.tools,
                results=args.results,
                pages=args.pages,
                script=scripting.script_of(args.script, args) if args.script else None,
            ),
        }
    except (ScriptError, standin.LibraryMissing, OSError) as problem:
        return complain(str(problem))
    return running.become(command, environment, "record")


def complain(sentence: str) -> int:
    """Says on standard error what went wrong and hands back the exit status."""
    return running.complain(sentence, 1, "record")
