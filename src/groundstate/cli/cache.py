"""`groundstate cache`: shows or empties the folder of compiled kernels."""

from __future__ import annotations

import argparse

from groundstate import knobs
from groundstate.cli.commands import COMMANDS
from groundstate.cli.errors import say
from groundstate.compiler.cache import disk

DESCRIPTION = """\
Shows where compiled kernels are kept between runs, and how much there is; --clear removes them.
Nothing is lost by that but the time to compile them again.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `cache` to the commands."""
    parser = subparsers.add_parser(
        "cache",
        help=COMMANDS["cache"],
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--clear", action="store_true", help="remove everything in it")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints the state of the cache, or clears it."""
    folder = knobs.cache_folder()
    if folder is None:
        why = (
            f"switched off by {knobs.CACHE.name}"
            if knobs.CACHE.text()
            else "nowhere: no home folder"
        )
        say(f"The cache is {why}.")
        return 0
    if args.clear:
        say(f"Freed {readable(disk.clear())} in {folder}.")
        return 0
    count, size = disk.size()
    entries = "entry" if count == 1 else "entries"
    say(folder, f"{count} {entries}, {readable(size)} of at most {readable(disk.limit())}")
    return 0


def readable(size: int) -> str:
    """A number of bytes for people.

    >>> readable(1536)
    '1.5 KiB'
    """
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
