"""`groundstate play`: makes the calls of a recording again, on this driver or any other."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from groundstate import standin
from groundstate.capture import place
from groundstate.capture.play import Options, Player, PlayError, Report
from groundstate.capture.scripting.script import ScriptError
from groundstate.capture.stream import StreamError, StreamReader
from groundstate.capture.stream.compression import CompressionMissing
from groundstate.cli import run as running
from groundstate.cli import script as scripting

DESCRIPTION = """\
Makes the calls of a recording again and compares what they answer with what was recorded.

Handles and addresses are mapped to present ones. What is missing here (devices, queues, memories)
is mapped to what there is, and noted. The exit status is 1 if something was not as recorded.
"""

EXAMPLES = """\
examples:
  groundstate play trace                         on this driver
  groundstate play --driver libze_intel_gpu.so.1 trace
  groundstate play --script performance trace    with a script that hooks the calls
  groundstate play --topology 2x2 --json trace   on two devices of two sub-devices each
"""

SHOWN = 20
_PROBLEMS = (
    PlayError,
    ScriptError,
    StreamError,
    CompressionMissing,
    OSError,
    standin.LibraryMissing,
)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `play` to the commands."""
    parser = subparsers.add_parser(
        "play",
        help="make the calls of a recording again",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("recording", type=Path, metavar="RECORDING")
    parser.add_argument(
        "--driver", metavar="PATH", help="the Level Zero library to play on: a driver or a loader"
    )
    parser.add_argument(
        "--tools",
        action="store_true",
        help="make the zes and zet calls, too; they can change settings of the machine",
    )
    parser.add_argument("--json", action="store_true", help="print the report for programs")
    scripting.add_script_options(parser)
    running.add_driver_options(parser)
    parser.set_defaults(run=play, parser=parser)


def play(args: argparse.Namespace) -> int:
    """Plays the streams of a recording; 1 if something was not as recorded."""
    try:
        library = _library(args)
        streams = place.streams_in(args.recording)
        if not streams:
            return complain(f"there is no recording in '{args.recording}'")
        reports = [_played(path, library, Options(tools=args.tools)) for path in streams]
    except _PROBLEMS as problem:
        return complain(str(problem))
    if args.json:
        print(json.dumps([report.as_json() for report in reports], indent=2))
    else:
        for report in reports:
            _print(report)
    return 0 if all(report.same and report.damage is None for report in reports) else 1


def _library(args: argparse.Namespace) -> str:
    """The library to play on, with the variables set that it reads when it is opened."""
    os.environ.update(running.driver_environment(args))
    following = args.driver
    if not following:
        following = str(place.machine_loader() if args.real_loader else place.driver())
    if not args.script:
        return str(following)
    script = scripting.script_of(args.script, args, stream=args.recording)
    os.environ.update(place.script_environment(str(following), script))
    return str(place.library())


def _played(path: Path, library: str, options: Options) -> Report:
    with StreamReader(path) as reader:
        player = Player(reader, library, options)
        try:
            return player.run()
        finally:
            player.close()


def _print(report: Report) -> None:
    print(
        f"{report.stream}: {report.calls} calls in {report.seconds:.3f} s, "
        f"{report.left_out} left out, {report.count} not as recorded"
    )
    for difference in report.differences[:SHOWN]:
        print(difference)
    if report.count > SHOWN:
        print(f"        ... {report.count - SHOWN} more; --json has them")
    for note, times in report.notes.items():
        print(f"  note: {note}" + (f" ({times} times)" if times > 1 else ""))
    if report.damage is not None:
        print(f"  the stream is damaged {report.damage}; what was before that was played")


def complain(sentence: str) -> int:
    """Says on standard error what went wrong and hands back the exit status."""
    sys.stdout.flush()
    return running.complain(sentence, 2, "play")
