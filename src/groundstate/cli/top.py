"""`groundstate top`: shows what the devices do, live, once, or as JSON."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from groundstate.cli.commands import COMMANDS
from groundstate.cli.errors import complain
from groundstate.cli.monitoring import (
    add_device_option,
    open_source,
    say_what_to_install,
    seconds,
)

if TYPE_CHECKING:
    from groundstate.monitor.readings import Reading

DESCRIPTION = """\
Shows the devices of this machine as they work: engines, memory, clocks, heat, power, and the
processes that use them. Press ? for the keys.
"""

EXAMPLES = """\
examples:
  groundstate top                           live, until q is pressed
  groundstate top --device 1 --interval 5   one device, every five seconds
  groundstate top --once                    plain text, for a log or a mail
  groundstate top --json | jq '.devices[].engines[] | select(.group == "all") | .utilisation'

The shares of --once and --json are those of one --interval, for which they wait; with --interval 0
they do not wait, and shares are not known.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `top` to the commands."""
    parser = subparsers.add_parser(
        "top",
        help=COMMANDS["top"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--once", action="store_true", help="print one reading as text")
    how.add_argument("--json", action="store_true", help="print one reading as JSON")
    parser.add_argument(
        "--interval",
        type=seconds,
        default=1.0,
        metavar="SECONDS",
        help="the time between two readings (default: 1)",
    )
    add_device_option(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Shows readings in the way that was asked for."""
    read = open_source("top", args.device)
    if read is None:
        return 1
    if args.json or args.once:
        return print_once(read, args)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return complain("top", "this is no terminal; --once and --json work without one")
    if args.interval <= 0:
        return complain("top", "the screen needs an --interval of more than 0 seconds")
    try:
        from groundstate.monitor.app import TopApp
    except ImportError as problem:
        return say_what_to_install("top", problem)
    TopApp(read, args.interval, args.device).run()
    return 0


def print_once(read: Callable[[], Reading], args: argparse.Namespace) -> int:
    """Prints one reading, compared with one an interval earlier."""
    from groundstate.monitor import plain

    reading = read()
    if args.interval > 0:
        time.sleep(args.interval)
        reading = read()
    if args.device is not None:
        chosen = tuple(each for each in reading.devices if each.number == args.device)
        reading = replace(reading, devices=chosen)
    # A command line may have letters that this terminal or file has not got.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    text = json.dumps(reading.as_dict(), indent=2) + "\n" if args.json else plain.text(reading)
    print(text, end="")
    return 0
