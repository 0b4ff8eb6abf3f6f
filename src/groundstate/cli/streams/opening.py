"""What all views share: finding a recording's streams, and saying what is wrong with them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from groundstate.capture.place import streams_in
from groundstate.capture.stream import StreamError
from groundstate.capture.stream.compression import CompressionMissing
from groundstate.cli import errors

UNREADABLE = (StreamError, CompressionMissing, OSError)
"""What opening or reading a stream may raise, each with a sentence for people."""


def add_view(
    views: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    sentence: str,
    description: str,
    run: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    """A view's parser with the recording that it reads."""
    parser = views.add_parser(
        name,
        help=sentence,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("recording", type=Path, metavar="RECORDING")
    parser.set_defaults(run=run, parser=parser)
    return parser


def find_streams(recording: Path) -> list[Path]:
    """The streams of a recording; an empty list after saying why there are none."""
    try:
        return streams_in(recording)
    except (StreamError, OSError) as problem:
        complain(sentence_of(problem, recording))
        return []


def sentence_of(problem: Exception, path: Path) -> str:
    """Path and reason, if the problem is one with a recording or a stream of it.

    A reader of our output who has seen enough is no problem: that is raised again.
    """
    if isinstance(problem, BrokenPipeError):
        raise problem
    if isinstance(problem, OSError) and problem.filename is not None:
        return errors.describe(problem)
    return errors.describe(problem, path if isinstance(problem, UNREADABLE) else None)


def damaged(path: Path, damage: object) -> str:
    """The sentence for a stream that is good up to some place."""
    return f"{path}: damaged {damage}"


def complain(sentence: str) -> int:
    """Says on standard error what went wrong and hands back the exit status."""
    return errors.complain("stream", sentence)


def print_json(data: Any) -> None:
    """Prints data for scripts."""
    print(json.dumps(data, indent=2))
