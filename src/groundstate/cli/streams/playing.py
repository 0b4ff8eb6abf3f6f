"""What views share that play a recording: on which library, with which settings."""

from __future__ import annotations

import argparse
from pathlib import Path

from groundstate import standin
from groundstate.capture import place
from groundstate.capture.play import PlayError
from groundstate.capture.structure import SelectionError
from groundstate.capture.views.apart import PlayEnded, Side
from groundstate.cli import run as running
from groundstate.cli.streams.opening import UNREADABLE, complain, find_streams

TROUBLE = 2
UNPLAYABLE = (PlayEnded, PlayError, SelectionError, standin.LibraryMissing, *UNREADABLE)
"""What playing may raise, each with a sentence for people."""


def add_play_options(parser: argparse.ArgumentParser) -> None:
    """On what a recording is played."""
    parser.add_argument(
        "--driver", metavar="PATH", help="the Level Zero library to play on: a driver or a loader"
    )
    running.add_driver_options(parser)


def side_of(args: argparse.Namespace, stream: Path) -> Side:
    """A stream with the library and the variables that the options say."""
    library = args.driver or str(place.machine_loader() if args.real_loader else place.driver())
    return Side(stream, library, running.driver_environment(args))


def only_stream(recording: Path) -> Path | None:
    """The stream of a recording of one process; None after saying why there is not one."""
    streams = find_streams(recording)
    if len(streams) > 1:
        names = ", ".join(path.name for path in streams[:8])
        complain(f"'{recording}' has {len(streams)} processes; choose one of its streams: {names}")
    return streams[0] if len(streams) == 1 else None
