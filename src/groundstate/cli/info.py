"""`groundstate info`: shows the drivers and devices of this machine."""

from __future__ import annotations

import argparse
import json

from groundstate import knobs, standin
from groundstate.cli.commands import COMMANDS
from groundstate.cli.errors import complain, describe

DESCRIPTION = """\
Shows the Level Zero drivers of this machine, their devices and what these can do: Groundstate's own
driver, and those that the system's loader finds, side by side.
"""

EXAMPLES = """\
examples:
  groundstate info                                   a tree to read
  groundstate info --verbose                         with every limit, identity and extension
  groundstate info --json | jq '.drivers[].devices[].name'
  GROUNDSTATE_TOPOLOGY=2x2 groundstate info          the same machine cut into pieces
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `info` to the commands."""
    parser = subparsers.add_parser(
        "info",
        help=COMMANDS["info"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print everything as one JSON object")
    how.add_argument(
        "-v", "--verbose", action="store_true", help="also show limits, identities and extensions"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints what there is."""
    from groundstate import core  # here, because 'groundstate run' should start at once

    try:
        standin.library()
        drivers = core.drivers()
    except (OSError, RuntimeError, core.LevelZeroError) as problem:
        return complain("info", describe(problem))
    from groundstate.cli.console import make_console
    from groundstate.cli.facts import machine_facts
    from groundstate.cli.tree import print_machine

    if args.json:
        print(json.dumps(machine_facts(drivers), indent=2))
        return 0
    print_machine(make_console(), drivers, knobs_in_use(), verbose=args.verbose)
    return 0


def knobs_in_use() -> dict[str, str]:
    """The variables that are set and change what is shown."""
    return {knob.name: knob.text() for knob in knobs.KNOBS if knob.text()}
