"""What all views share: finding a recording's streams, and saying what is wrong with them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from groundstate.capture.place import streams_in
from groundstate.capture.stream import StreamError
from groundstate.capture.stream.compression import CompressionMissing

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
    parser.set_defaults(run=run)
    return parser


def find_streams(recording: Path) -> list[Path]:
    """The streams of a recording; an empty list after saying why there are none."""
    try:
        found = streams_in(recording)
    except OSError as problem:
        complain(str(problem))
        return []
    if not found:
        complain(f"there is no recording in '{recording}'")
    return found


def complain(sentence: str) -> int:
    """Says on standard error what went wrong and hands back the exit status."""
    sys.stdout.flush()
    print(f"groundstate stream: {sentence}", file=sys.stderr)
    return 1


def print_json(data: Any) -> None:
    """Prints data for scripts."""
    print(json.dumps(data, indent=2))
