"""`groundstate run`: runs any Level Zero program on this driver."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys

from groundstate import knobs, standin
from groundstate.cli.commands import COMMANDS
from groundstate.cli.errors import NOT_EXECUTABLE, NOT_FOUND, complain, describe

DESCRIPTION = """\
Runs a program on Groundstate's driver, whatever Level Zero drivers the machine has or lacks.

The driver takes the loader's place for that one process and what it starts, so a program linked
against libze_loader.so.1, a SYCL runtime, or a Python package that opens it, finds the CPU as its
Level Zero device. Nothing on the machine is changed. The program's exit status is passed on.

Many programs show a number where something fails. So the driver prints a sentence on standard
error for what a program that works does not meet, each reason once; --quiet turns that off.
"""

EXAMPLES = """\
examples:
  groundstate run -- ./my_app --size 1024
  groundstate run --topology 2x4 -- ./multi_gpu_test      two devices of four sub-devices each
  groundstate run --real-loader -- ./my_app               through the loader installed here
  groundstate run --as-cpu -- python3 with_dpnp.py        where oneMKL shall be fast
  groundstate run --any-path -- python3 with_pyzes.py     even if it opens the loader by a path
"""

OF_A_LOADER = (
    "ZE_ENABLE_LOADER_DEBUG_TRACE",
    "ZE_ENABLE_LOADER_INTERCEPT",
    "ZE_ENABLE_VALIDATION_LAYER",
    "ZEL_ENABLE_LOADER_LOGGING",
)
"""Variables that ask for what only a real loader has."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `run` to the commands."""
    parser = subparsers.add_parser(
        "run",
        help=COMMANDS["run"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="groundstate run [options] [--] PROGRAM [ARGUMENT ...]",
    )
    add_driver_options(parser)
    parser.add_argument(
        "--any-path",
        action="store_true",
        help="take the loader's place also where the program opens it by a path instead of its "
        "name, as pyzes does, even if there is no such file (needs glibc; set as LD_AUDIT)",
    )
    parser.add_argument(
        "--quiet",
        action="store_true",
        help="do not print the driver's own sentence when a kernel faults, memory is missing or a "
        "module cannot be built (GROUNDSTATE_ERRORS; 1 prints every failure)",
    )
    add_program(parser)
    parser.set_defaults(run=run, parser=parser)


def add_machine_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say how the machine is divided."""
    parser.add_argument(
        "--topology",
        metavar="DxS",
        type=topology,
        help="divide the cores into D devices of S sub-devices each, such as 2x4",
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        type=size,
        help="how much memory the devices have together, such as 8G",
    )


def add_program(parser: argparse.ArgumentParser) -> None:
    """Adds the program to run, for all commands that run one: its options are its own."""
    parser.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="PROGRAM ...",
        help="the program and its arguments, unchanged",
    )


def add_driver_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that `run` and `env` share."""
    parser.add_argument(
        "--real-loader",
        action="store_true",
        help="keep the machine's own Level Zero loader and have it load the driver",
    )
    add_machine_options(parser)
    parser.add_argument(
        "--threads", metavar="N", type=positive, help="how many worker threads the devices share"
    )
    parser.add_argument(
        "--as-cpu",
        action="store_true",
        help="show SYCL programs a CPU instead of a GPU; oneMKL, in dpnp for example, then runs "
        "its own code for CPUs, which multiplies matrices several times faster",
    )


def topology(text: str) -> str:
    """An argument such as `2` or `2x4`."""
    if not re.fullmatch(r"[1-9]\d*(x[1-9]\d*)?", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of devices such as 2, or 2x4")
    return text


def size(text: str) -> str:
    """An argument such as `512M` or `8G`."""
    if not re.fullmatch(r"\d+(\.\d+)?[KMGT]?(i?B)?", text, re.IGNORECASE):
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 512M or 8G")
    return text


def positive(text: str) -> int:
    """An argument that counts something."""
    if not re.fullmatch(r"[1-9]\d*", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of 1 or more")
    return int(text)


def port(text: str) -> int:
    """An argument that is the number of a port; 0 is any that is free."""
    value = int(text) if text.isdecimal() else -1
    if not 0 <= value < 1 << 16:
        raise argparse.ArgumentTypeError(f"'{text}' is not a port from 0 to 65535")
    return value


def driver_environment(args: argparse.Namespace, *, any_path: bool = False) -> dict[str, str]:
    """The variables to set for the options of `add_driver_options`."""
    changes = standin.environment(os.environ, real_loader=args.real_loader, any_path=any_path)
    for option, knob in (
        (args.topology, knobs.TOPOLOGY),
        (args.memory, knobs.MEMORY),
        (args.threads, knobs.THREADS),
    ):
        if option is not None:
            changes[knob.name] = str(option)
    if args.as_cpu:
        changes |= standin.AS_CPU
    return changes


def run(args: argparse.Namespace) -> int:
    """Becomes the program; returns only if that was not possible."""
    command = program_of(args)
    if args.any_path and args.real_loader:
        args.parser.error("--any-path takes the place of the loader that --real-loader keeps")
    try:
        changes = driver_environment(args, any_path=args.any_path)
    except standin.LibraryMissing as problem:
        return complain("run", str(problem))
    wanted = [name for name in OF_A_LOADER if os.environ.get(name, "0") not in ("", "0")]
    if wanted and not (args.real_loader or args.quiet):
        print(
            f"groundstate: {', '.join(wanted)}: only a real loader knows this; "
            "run the program with --real-loader",
            file=sys.stderr,
        )
    if args.quiet:
        changes[knobs.ERRORS.name] = "0"
    return become(command, {knobs.ERRORS.name: "serious", **os.environ, **changes})


def program_of(args: argparse.Namespace) -> list[str]:
    """The program that was named and its arguments; ends with a sentence if there is none."""
    command: list[str] = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        args.parser.error(f"name a program to run: {args.parser.prog} -- PROGRAM")
    return command


def become(command: list[str], environment: dict[str, str], name: str = "run") -> int:
    """Becomes a program; returns only if that was not possible."""
    sys.stdout.flush()
    sys.stderr.flush()
    restore_signals()
    try:
        os.execvpe(command[0], command, environment)
    except OSError as problem:
        sentence, status = why_not_started(problem, command[0])
        return complain(name, sentence, status=status)


def why_not_started(problem: OSError, program: str) -> tuple[str, int]:
    """The sentence for a program that could not be started, and the exit status."""
    if not isinstance(problem, FileNotFoundError):
        return f"cannot start {describe(problem, program)}", NOT_EXECUTABLE
    if os.path.exists(program):  # a script whose interpreter is missing
        return f"cannot start {program}: its first line, #!, names no program", NOT_EXECUTABLE
    return f"there is no program '{program}' here or on PATH", NOT_FOUND


def restore_signals() -> None:
    """Gives signals that Python ignores back their meaning, which a new program inherits."""
    for which in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(which, signal.SIG_DFL)
