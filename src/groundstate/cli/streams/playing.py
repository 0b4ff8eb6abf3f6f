"""What views share that play a recording: on which library, with which settings."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from groundstate import standin
from groundstate.capture import place
from groundstate.capture.play import Options, PlayError
from groundstate.capture.structure import SelectionError
from groundstate.capture.views.device_times import Durations
from groundstate.capture.views.play_process import PlayEnded, PlayProcess, Side
from groundstate.capture.views.timing import measure
from groundstate.cli import errors
from groundstate.cli import run as running
from groundstate.cli.progress import as_markup, is_watched
from groundstate.cli.streams.opening import UNREADABLE, complain, find_streams
from groundstate.cli.trust import add_trust_option, native_environment

UNPLAYABLE = (PlayEnded, PlayError, SelectionError, standin.LibraryMissing, *UNREADABLE)
"""What playing may raise, each with a sentence for people."""


def add_play_options(parser: argparse.ArgumentParser) -> None:
    """On what a recording is played."""
    parser.add_argument(
        "--driver", metavar="PATH", help="the Level Zero library to play on: a driver or a loader"
    )
    running.add_driver_options(parser)
    add_trust_option(parser)


def side_of(args: argparse.Namespace, stream: Path) -> Side:
    """A stream with the library and the variables that the options say."""
    library = args.driver or str(place.machine_loader() if args.real_loader else place.driver())
    environment = running.driver_environment(args) | native_environment(args)
    return Side(stream, library, environment, options=Options(trust_native=args.trust_native))


def add_measure_option(parser: argparse.ArgumentParser) -> None:
    """Whether to play in order to know how long commands take."""
    parser.add_argument(
        "--play",
        action="store_true",
        help="play the recording and measure kernels and copies whose times were not recorded",
    )
    add_play_options(parser)


def measured(args: argparse.Namespace, streams: list[Path]) -> dict[Path, Durations]:
    """What kernels and copies take when they are played now, if that was asked for."""
    found: dict[Path, Durations] = {}
    for path in streams if args.play else ():
        with progress(f"playing {path.name}"), PlayProcess(side_of(args, path), measure) as process:
            done = process.result()
        found[path] = done["durations"]
        for note in done["notes"]:
            errors.say(f"note: {path.name}: {note}", file=sys.stderr)
    return found


def only_stream(recording: Path) -> Path | None:
    """The stream of a recording of one process; None after saying why there is not one."""
    streams = find_streams(recording)
    if len(streams) > 1:
        names = ", ".join(path.name for path in streams[:8])
        complain(f"{recording}: has {len(streams)} processes; choose one of its streams: {names}")
    return streams[0] if len(streams) == 1 else None


@contextlib.contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """A line that says what is being done and how far it is, where somebody watches."""
    if not is_watched():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(as_markup(what)) as status:
        yield lambda said: status.update(as_markup(said))
