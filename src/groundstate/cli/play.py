"""`groundstate play`: makes the calls of a recording again, on this driver or any other."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from groundstate import knobs, standin
from groundstate.capture import place
from groundstate.capture.play import Options, Player, PlayError
from groundstate.capture.play.pointers_inside import places_in
from groundstate.capture.play.together import Member
from groundstate.capture.scripting.script import ScriptError
from groundstate.capture.stream import StreamError, StreamReader
from groundstate.capture.stream.compression import CompressionMissing
from groundstate.cli import errors, play_together
from groundstate.cli import run as running
from groundstate.cli import script as scripting
from groundstate.cli.commands import COMMANDS
from groundstate.cli.folders import output_folder
from groundstate.cli.progress import bar
from groundstate.cli.streams.opening import damaged, sentence_of
from groundstate.cli.trust import add_trust_option, native_environment

DESCRIPTION = """\
Makes the calls of a recording again and compares what they answer with what was recorded.

Handles and addresses are mapped to present ones. What is missing here (devices, queues, memories)
is mapped to what there is, and noted. Memory that the device writes is compared, too, if it was
recorded with 'record --results'. The exit status is 1 if something was not as recorded, or if the
recording cannot be played.

The kernels of a recording run with your rights, like those of any program: play what you trust.
Native modules, which are machine code, are only played if a driver of yours has made them, or with
--trust-native.
"""

EXAMPLES = """\
examples:
  groundstate play trace                         on this driver
  groundstate play --driver libze_intel_gpu.so.1 trace
  groundstate play --topology 2x2 --json trace   on two devices of two sub-devices each
  groundstate play --checked trace               with the loader's validation layer in between
  groundstate play --script performance trace    with a script in between
"""

SHOWN = 20
PROBLEMS = (
    PlayError,
    StreamError,
    CompressionMissing,
    OSError,
    ScriptError,
    standin.LibraryMissing,
)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `play` to the commands."""
    parser = subparsers.add_parser(
        "play",
        help=COMMANDS["play"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("recording", type=Path, metavar="RECORDING")
    parser.add_argument("--json", action="store_true", help="print the report for programs")
    _add_manner(parser)
    _add_pointers(parser)
    _add_libraries(parser)
    add_trust_option(parser)
    parser.set_defaults(run=play, parser=parser)


def _add_manner(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--one-thread",
        action="store_true",
        help="make all calls in the order in which they returned, instead of in as many threads "
        "as the program had",
    )
    parser.add_argument(
        "--real-speed",
        action="store_true",
        help="make no call earlier than the program did, instead of as fast as possible",
    )
    parser.add_argument(
        "--tools",
        action="store_true",
        help="make the zes and zet calls, too; they can change settings of the machine",
    )
    parser.add_argument(
        "--patience",
        metavar="SECONDS",
        type=float,
        default=Options.patience,
        help="how long to wait for what was ready in the recording; 60 unless told",
    )
    parser.add_argument(
        "--memory-limit",
        metavar="MIB",
        type=running.positive,
        default=Options.memory_limit >> 20,
        help="how much memory may stand in for the program's own; 16384 MiB unless told",
    )


def _add_pointers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scan-pointers",
        action="store_true",
        help="take every word that is written to memory for an address if it could be one, for "
        "kernels that follow addresses in buffers",
    )
    parser.add_argument(
        "--pointer-at",
        metavar="ADDRESS|FILE",
        action="append",
        default=[],
        help="a recorded address in a buffer where there is an address, or a JSON file with a list "
        'of them and of {"address": ..., "stride": ..., "count": ...}; may come more than once',
    )


def _add_libraries(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--driver", metavar="PATH", help="the Level Zero library to play on: a driver or a loader"
    )
    parser.add_argument(
        "--checked",
        action="store_true",
        help="play through the machine's loader with its validation layer switched on",
    )
    parser.add_argument(
        "--record", metavar="DIR", type=Path, help="record what is played into another folder"
    )
    scripting.add_script_options(parser)
    running.add_driver_options(parser)
    parser.add_argument("--together", help=argparse.SUPPRESS)


def play(args: argparse.Namespace) -> int:
    """Plays the streams of a recording; 1 if something was not as recorded."""
    try:
        streams = place.streams_in(args.recording)
        options = options_of(args)
        with output_folder(args.record), _apart(args.json and len(streams) == 1):
            if len(streams) > 1:
                reports = play_together.play(args, streams)
            else:
                reports = [_played(streams[0], prepared_library(args), options, args.together)]
    except PROBLEMS as problem:
        return complain(sentence_of(problem, args.recording))
    if args.json:
        print(json.dumps(reports, indent=2))
    else:
        for report in reports:
            _print(report)
    for stream, report in zip(streams, reports, strict=True):
        if report["damage"] is not None:
            complain(f"{damaged(stream, report['damage'])}; what comes before that was played")
    return 0 if all(report["same"] and report["damage"] is None for report in reports) else 1


def options_of(args: argparse.Namespace) -> Options:
    """How to play, as the command line says."""
    return Options(
        threads=not args.one_thread,
        real_speed=args.real_speed,
        tools=args.tools,
        scan_pointers=args.scan_pointers,
        pointers_at=places_in(args.pointer_at),
        patience=args.patience,
        memory_limit=args.memory_limit << 20,
        trust_native=args.trust_native,
    )


def prepared_library(args: argparse.Namespace) -> str:
    """The library to play on, with the variables set that it reads when it is opened."""
    real_loader = args.real_loader or args.checked
    os.environ.update(running.driver_environment(args))
    os.environ.update(native_environment(args))
    os.environ["ZE_ENABLE_ALT_DRIVERS"] = str(place.driver())
    if args.checked:
        os.environ["ZE_ENABLE_VALIDATION_LAYER"] = "1"
        os.environ["ZE_ENABLE_PARAMETER_VALIDATION"] = "1"
    library = args.driver or str(place.machine_loader() if real_loader else place.driver())
    if args.script is None and args.record is None:
        return str(library)
    script = None
    if args.script is not None:
        script = scripting.script_of(args.script, args, stream=args.recording)
    os.environ[knobs.CAPTURE_TOOLS.name] = str(int(args.tools))
    os.environ.update(place.player_environment(str(library), args.record, script))
    return str(place.library())


def _played(path: Path, library: str, options: Options, together: str | None) -> dict[str, Any]:
    with StreamReader(path) as reader, _member(together, options) as member:
        player = Player(reader, library, options, member)
        try:
            with bar(path.name, 0 if member else len(reader)) as progress:
                return player.run(progress=member.advance if member else progress).as_json()
        finally:
            player.close()


@contextmanager
def _apart(needed: bool) -> Iterator[None]:
    """Sends what kernels print to standard error, where standard output is for programs."""
    if not needed:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _member(together: str | None, options: Options) -> Any:
    """This process among the others that play with it."""
    if together is None:
        return nullcontext(None)
    folder, _, number = together.rpartition(":")
    return Member(Path(folder), int(number), options.patience)


def _print(report: dict[str, Any]) -> None:
    errors.say(
        f"{report['stream']}: {report['calls']} calls in {report['seconds']:.3f} s, "
        f"{report['left_out']} left out, {report['memory_compared']} pieces of memory compared, "
        f"{report['difference_count']} not as recorded"
    )
    for each in report["differences"][:SHOWN]:
        errors.say(f"{each['number']:>7} {each['function']}: {each['sentence']}")
    if report["difference_count"] > SHOWN:
        errors.say(f"        ... {report['difference_count'] - SHOWN} more; --json has them")
    for each in report["notes"]:
        times = f" ({each['times']} times)" if each["times"] > 1 else ""
        errors.say(f"  note: {each['note']}{times}")


def complain(sentence: str) -> int:
    """Says on standard error what went wrong and hands back the exit status."""
    return errors.complain("play", sentence)
