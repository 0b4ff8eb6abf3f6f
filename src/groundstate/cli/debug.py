"""`groundstate debug`: a debugger for kernels, in a terminal and for editors."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from types import FrameType

from groundstate import knobs, standin
from groundstate.cli import run as running
from groundstate.cli.commands import COMMANDS
from groundstate.cli.errors import complain, describe

DESCRIPTION = """\
Debugs the kernels of a program: breakpoints, single steps forwards and back, variables of one
work-item and of all, and who wrote to an element of a buffer.

A launch with something to stop at is executed one work-item at a time, unoptimised, on the
program's own memory; all others run at full speed. OpenCL C that the program compiles keeps its
variables. SPIR-V has them if it was compiled so: 'groundstate compile -O0 -g'.

With --dap it speaks the Debug Adapter Protocol on standard input and output, for editors; the
editor names the program.
"""

EXAMPLES = """\
examples:
  groundstate debug -- ./my_app                 commands as in gdb; 'help' lists them
  groundstate debug -x commands.txt -- ./my_app read commands from a file first
  groundstate debug --dap                       for an editor
  groundstate debug --dap --port 4711           the same over TCP, on this machine alone
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `debug` to the commands."""
    parser = subparsers.add_parser(
        "debug",
        help=COMMANDS["debug"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="groundstate debug [options] [--] PROGRAM [ARGUMENT ...]",
    )
    parser.add_argument(
        "--dap", action="store_true", help="speak the Debug Adapter Protocol, for editors"
    )
    parser.add_argument(
        "--port",
        metavar="N",
        type=running.port,
        help="with --dap: listen on this port of 127.0.0.1 instead, for one editor "
        "(0: any that is free)",
    )
    parser.add_argument(
        "-x",
        "--commands",
        metavar="FILE",
        help="do what the lines of this file say, then read further commands",
    )
    running.add_driver_options(parser)
    running.add_program(parser)
    parser.set_defaults(run=run, parser=parser)


def run(args: argparse.Namespace) -> int:
    """Reads commands, or what an editor says."""
    try:
        changes = running.driver_environment(args)
    except standin.LibraryMissing as problem:
        return complain("debug", str(problem))
    environment = {knobs.ERRORS.name: "serious", **os.environ, **changes}
    try:
        _raise_at_signals()
        return debug(args, environment)
    except Signalled as ending:
        signal.signal(ending.number, signal.SIG_DFL)
        os.kill(os.getpid(), ending.number)
        return 128 + ending.number


class Signalled(BaseException):
    """Somebody wants the debugger to end, and so the program that it debugs."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _raise_at_signals() -> None:
    for which in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(which) is signal.SIG_DFL:
            signal.signal(which, _signalled)


def _signalled(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # once is enough
    raise Signalled(number)


def debug(args: argparse.Namespace, environment: dict[str, str]) -> int:
    """Debugs a program with these variables, by commands or for an editor."""
    if args.dap:
        return _adapter(args, environment)
    if args.port is not None:
        args.parser.error("--port is for --dap")
    command = running.program_of(args)
    try:
        first = commands_of(args.commands) if args.commands is not None else []
    except (OSError, UnicodeDecodeError) as problem:
        return complain("debug", describe(problem, args.commands))
    return _terminal(command, environment, first)


def commands_of(path: str) -> list[str]:
    """The lines of a file of commands."""
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    return [line for line in lines if line and not line.startswith("#")]


def _terminal(command: list[str], environment: dict[str, str], first: list[str]) -> int:
    from groundstate.debug.program import Program
    from groundstate.debug.terminal import Terminal

    program = Program()

    def start() -> None:
        program.close()
        program.process = None
        try:
            program.start(command, environment, knobs.DEBUG.name, stdin=subprocess.DEVNULL)
        except OSError as problem:
            if problem.filename != command[0]:
                raise
            sentence, terminal.status = running.why_not_started(problem, command[0])
            raise ValueError(sentence) from problem

    terminal = Terminal(program, start, sys.stdin, sys.stdout)
    try:
        if all(terminal.echo(line) for line in first):
            return terminal.loop()
        return terminal.status or 0
    finally:
        program.close()


def _adapter(args: argparse.Namespace, environment: dict[str, str]) -> int:
    from groundstate.debug.adapter import Adapter, serve_port

    if args.command:
        args.parser.error("with --dap, the editor names the program")
    if args.port is not None:
        try:
            return serve_port(args.port, environment)
        except OSError as problem:
            why = describe(problem, f"cannot listen at 127.0.0.1:{args.port}")
            return complain("debug", f"{why}; try another --port")
    return Adapter(sys.stdin.buffer, sys.stdout.buffer, environment).serve()
