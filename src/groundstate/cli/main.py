"""`groundstate`: finds the command that was asked for and runs it."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from groundstate.cli import (
    cache,
    compile,
    dis,
    env,
    info,
    metrics,
    play,
    record,
    run,
    script,
    stream,
    subcapture,
    survey,
    top,
)
from groundstate.version import __version__

COMMANDS = (
    info,
    run,
    env,
    record,
    play,
    script,
    stream,
    subcapture,
    top,
    metrics,
    compile,
    dis,
    survey,
    cache,
)
"""The modules of the commands, in the order in which the help lists them."""

DESCRIPTION = """\
Level Zero for every machine: a driver whose device is the CPU you have.

Programs written for Level Zero (C, C++, SYCL, Python) run on it unchanged, without a GPU.
"""

EXAMPLES = """\
examples:
  groundstate info                          what this machine offers to Level Zero programs
  groundstate run -- ./my_app               run a program on the CPU device
  groundstate run --topology 2x4 -- ./app   as if there were two devices of four sub-devices each
  eval "$(groundstate env)"                 run everything in this shell on the CPU device
  groundstate record -o trace -- ./my_app   record every call of a program
  groundstate stream calls trace            and list them
  groundstate play trace                    make them again, here or on another driver
  groundstate subcapture trace -o one --kernel gemm   cut one launch out of them
  groundstate script hooks.lua -- ./my_app  change its calls with a script
  groundstate top                           watch devices and the processes that use them
  groundstate compile k.cl -o k.spv         OpenCL C to SPIR-V

'groundstate COMMAND --help' says more about a command.
"""

INTERRUPTED = 130
USAGE_ERROR = 2


class Parser(argparse.ArgumentParser):
    """A parser that answers a mistake with a sentence instead of the whole usage."""

    def error(self, message: str) -> NoReturn:
        """Says what was wrong and where to look, and ends the program."""
        sentence = plain_sentence(message)
        print(f"{self.prog}: {sentence}\nTry '{self.prog} --help'.", file=sys.stderr)
        sys.exit(USAGE_ERROR)


def plain_sentence(message: str) -> str:
    """What argparse says about a mistake, in plainer words where we know some.

    >>> plain_sentence("argument COMMAND: invalid choice: 'inof' (choose from 'info', 'run')")
    "there is no command 'inof'; did you mean 'info'?"
    """
    wrong = re.match(r"argument COMMAND: invalid choice: '(.*)' \(choose from (.*)\)", message)
    if wrong is None:
        return message
    known = re.findall(r"[\w-]+", wrong[2])
    near = difflib.get_close_matches(wrong[1], known, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"the commands are {', '.join(known)}"
    return f"there is no command '{wrong[1]}'; {hint}"


def make_parser() -> Parser:
    """The parser of the whole command line."""
    parser = Parser(
        prog="groundstate",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"groundstate {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        command.add_parser(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status."""
    parser = make_parser()
    args = parser.parse_args(arguments)
    if not hasattr(args, "run"):
        parser.print_help()
        return 0
    try:
        status: int = args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough. Python would complain again when it closes the stream at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


if __name__ == "__main__":
    sys.exit(main())
