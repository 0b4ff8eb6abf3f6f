"""`groundstate stream`: reads recordings."""

from __future__ import annotations

import argparse

from groundstate.cli.commands import COMMANDS
from groundstate.cli.streams import calls, diff, dump, info, stats, timeline

VIEWS = (info, calls, stats, timeline, dump, diff)
"""The modules of the views, in the order in which the help lists them."""

DESCRIPTION = """\
Reads recordings that 'groundstate record' made.

RECORDING is the folder of a recording, or one stream in it. A damaged stream is read up to the
damage, which is reported, and the exit status is 1.
"""

EXAMPLES = """\
examples:
  groundstate stream info trace                  what was recorded, and whether it is whole
  groundstate stream calls trace --failed        every call that answered with an error
  groundstate stream stats trace                 where the time went
  groundstate stream timeline trace              a picture of it, for a browser
  groundstate stream dump trace --kernel scale   buffers before and after a kernel
  groundstate stream diff trace --right topology=2x2

'groundstate stream VIEW --help' says more about a view.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `stream` and what it can do to the commands."""
    parser = subparsers.add_parser(
        "stream",
        help=COMMANDS["stream"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    views = parser.add_subparsers(title="views", metavar="VIEW", required=True)
    for view in VIEWS:
        view.add_parser(views)
