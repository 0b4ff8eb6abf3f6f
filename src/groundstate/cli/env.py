"""`groundstate env`: prints the variables that send programs to this driver, for a shell."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Callable

from groundstate import standin
from groundstate.cli.commands import COMMANDS
from groundstate.cli.errors import complain
from groundstate.cli.run import add_driver_options, driver_environment

DESCRIPTION = """\
Prints the environment variables with which any Level Zero program runs on Groundstate's driver, in
the words of your shell. 'groundstate run' does the same for one program.
"""

EXAMPLES = """\
examples:
  eval "$(groundstate env)"                   bash, zsh, dash
  groundstate env --shell fish | source       fish
  eval `groundstate env --shell csh`          csh, tcsh
  groundstate env --json                      for programs
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `env` to the commands."""
    parser = subparsers.add_parser(
        "env",
        help=COMMANDS["env"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_driver_options(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--shell", choices=sorted(WRITERS), default="sh", help="whose words to use (default: sh)"
    )
    how.add_argument("--json", action="store_true", help="print one JSON object instead")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints the variables; the shell does the rest."""
    try:
        variables = driver_environment(args)
    except standin.LibraryMissing as problem:
        return complain("env", str(problem))
    if args.json:
        print(json.dumps(variables, indent=2))
        return 0
    write = WRITERS[args.shell]
    for name, value in variables.items():
        print(write(name, value))
    return 0


def sh_line(name: str, value: str) -> str:
    """One assignment for the shells of the Bourne family."""
    return f"export {name}={shlex.quote(value)}"


def fish_line(name: str, value: str) -> str:
    """One assignment for fish, in whose single quotes only \\ and ' are special."""
    quoted = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"set -gx {name} '{quoted}'"


def csh_line(name: str, value: str) -> str:
    """One assignment for csh, which looks for history (!) and line ends even inside quotes."""
    quoted = value.replace("'", "'\\''").replace("!", "\\!").replace("\n", "\\\n")
    return f"setenv {name} '{quoted}';"


WRITERS: dict[str, Callable[[str, str], str]] = {"sh": sh_line, "fish": fish_line, "csh": csh_line}
