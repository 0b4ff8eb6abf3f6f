"""The commands: their names, what each does in a few words, and how one is found and parsed.

The module of a command is imported when that command is asked for, and no other: most of them
import the driver or the compiler.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Sequence
from importlib import import_module

from groundstate.cli.parser import Parser
from groundstate.version import __version__

COMMANDS = {
    "info": "show drivers, devices and what they can do",
    "doctor": "say what works here and what is missing",
    "run": "run a Level Zero program on this driver",
    "check": "run a program and report its mistakes",
    "debug": "debug the kernels of a program",
    "profile": "run a program and say why it is slow",
    "env": "print the variables that send programs to this driver",
    "record": "run a program and record its calls",
    "play": "make the calls of a recording again",
    "script": "run a program with its calls hooked by a script",
    "stream": "read a recording",
    "subcapture": "cut a range or one kernel out of a recording",
    "top": "watch devices, engines, memory and processes",
    "metrics": "serve what devices do to Prometheus",
    "dask-worker": "start Dask workers, one for each device",
    "compile": "compile OpenCL C to SPIR-V",
    "dis": "show a SPIR-V module as text",
    "survey": "compile all kernels in libraries",
    "cache": "show or clear the cache of compiled kernels",
    "completion": "print a script that completes commands in a shell",
    "man": "show the manual page",
}
"""What the help lists, in its order. Each is a module of this package, with `add_parser`; a name
with a hyphen is one with an underscore."""

DESCRIPTION = """\
Level Zero for every machine: a driver whose device is the CPU you have.

Programs written for Level Zero (C, C++, SYCL, Python) run on it unchanged, without a GPU.
"""

EXAMPLES = """\
examples:
  groundstate info                          what this machine offers to Level Zero programs
  groundstate doctor                        what works here, and what is missing
  groundstate run -- ./my_app               run a program on the CPU device
  groundstate run --topology 2x4 -- ./app   as if there were two devices of four sub-devices each
  groundstate check -- ./my_app             find out-of-bounds accesses and other mistakes in it
  groundstate debug -- ./my_app             stop in its kernels, step and look at variables
  groundstate profile -- ./my_app           find out what is slow in it, and why
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


def make_parser(names: Collection[str] = tuple(COMMANDS)) -> Parser:
    """The parser of the command line. Only the commands in `names` know their own arguments."""
    parser = Parser(
        prog="groundstate",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"groundstate {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, summary in COMMANDS.items():
        if name in names:
            module = name.replace("-", "_")
            import_module(f"groundstate.cli.{module}").add_parser(commands)
        else:
            commands.add_parser(name, help=summary)
    return parser


def parse(
    arguments: Sequence[str],
) -> tuple[Callable[[argparse.Namespace], int], argparse.Namespace]:
    """The function of the command that was asked for, and its arguments."""
    parser = make_parser(arguments[:1])
    args = parser.parse_args(arguments)
    return getattr(args, "run", lambda _: print_help(parser)), args


def print_help(parser: argparse.ArgumentParser) -> int:
    """Prints the help, for whoever names no command."""
    parser.print_help()
    return 0
