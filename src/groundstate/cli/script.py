"""`groundstate script`: runs a Level Zero program with some of its calls replaced by a script."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from groundstate import knobs, standin
from groundstate.capture import place
from groundstate.capture.scripting import script as scripts
from groundstate.cli import errors
from groundstate.cli import run as running
from groundstate.cli.commands import COMMANDS

DESCRIPTION = """\
Runs a program with a script in front of the driver.

A function of the script with the name of an API function takes that function's place: it gets
the arguments, may change them, and calls on with drvl0.<function>. Calls that the script has no
function for cost nothing. Scripts are written in Lua 5.4 (FILE.lua), where those made for GITS run
unchanged, or in Python (FILE.py); docs/howto/scripting.md says what they can do.

A script runs inside the program, with all of your rights: Lua scripts have the whole standard
library (files, programs, modules), and can read and write the program's memory. Run one that you do
not trust with --sandbox, in which it can only look on.
"""

EXAMPLES = """\
examples:
  groundstate script hooks.lua -- ./my_app            with a script of yours
  groundstate script performance -- ./my_app          with a script that comes with the package
  groundstate script --list                           which those are
  groundstate script inject_build_options --script-args="-ze-opt-disable" -- ./my_app
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `script` to the commands."""
    parser = subparsers.add_parser(
        "script",
        help=COMMANDS["script"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="groundstate script [options] SCRIPT [--] PROGRAM [ARGUMENT ...]",
    )
    parser.add_argument("--list", action="store_true", help="list the bundled scripts")
    parser.add_argument("--json", action="store_true", help="the list as JSON")
    add_script_settings(parser)
    running.add_driver_options(parser)
    parser.add_argument(
        "script", nargs="?", metavar="SCRIPT", help="a file, or the name of a bundled script"
    )
    running.add_program(parser)
    parser.set_defaults(run=script, parser=parser)


def add_script_settings(parser: argparse.ArgumentParser) -> None:
    """Adds the options of every command that can run a script."""
    parser.add_argument(
        "--script-args", metavar="TEXT", default="", help="what gits.getArgsStr() hands the script"
    )
    parser.add_argument(
        "--script-out",
        metavar="DIR",
        type=Path,
        help="the folder for files that the script writes; the current one unless told",
    )
    parser.add_argument(
        "--stop-on-error",
        action="store_true",
        help="end the program when the script fails, instead of passing the call on",
    )
    parser.add_argument(
        "--sandbox",
        action="store_true",
        help="for a script (in Lua) that you do not trust: it may look on and print, but has no "
        "files, programs or modules, changes nothing, and has little time and memory",
    )


def add_script_options(parser: argparse.ArgumentParser) -> None:
    """Adds `--script` and its settings to a command that runs without one, too."""
    parser.add_argument(
        "--script",
        metavar="SCRIPT",
        help="a file, or the name of a bundled script, that hooks calls; see 'groundstate script'",
    )
    add_script_settings(parser)


def script_of(name: str, args: argparse.Namespace, *, stream: Path | None = None) -> scripts.Script:
    """The script that was asked for; raises ScriptError if there is none."""
    sandbox = args.sandbox or knobs.SCRIPT_SANDBOX.get()
    path = scripts.find_for(name, sandbox=sandbox)
    if args.script_out is not None:
        args.script_out.mkdir(parents=True, exist_ok=True)
    out, stop = args.script_out, args.stop_on_error
    return scripts.Script(path, args.script_args, out, stream, stop, sandbox)


def script(args: argparse.Namespace) -> int:
    """Becomes the program with the capture library and the script in front of it."""
    if args.list or args.json:
        return list_bundled(args.json)
    if args.script is None:
        args.parser.error("name a script, or --list to see which there are")
    take_options_behind_script(args)
    command = running.program_of(args)
    try:
        chosen = script_of(args.script, args)
        environment = {
            **os.environ,
            **running.driver_environment(args),
            **place.environment(os.environ, None, real_loader=args.real_loader, script=chosen),
        }
    except (scripts.ScriptError, standin.LibraryMissing, OSError) as problem:
        return errors.complain("script", errors.describe(problem))
    return running.become(command, environment, "script")


def take_options_behind_script(args: argparse.Namespace) -> None:
    """Parses the options between the script and `--`, which argparse takes for the program."""
    if "--" not in args.command or not args.command[0].startswith("-"):
        return
    place = args.command.index("--")
    options, program = args.command[:place], args.command[place:]
    args.parser.parse_args([*options, args.script, *program], namespace=args)


def list_bundled(as_json: bool) -> int:
    """Prints the bundled scripts and what each of them does."""
    found = {name: scripts.summary(path) for name, path in scripts.bundled().items()}
    if as_json:
        print(json.dumps(found, indent=2))
        return 0
    width = max(map(len, found))
    for name, sentence in found.items():
        errors.say(f"{name:{width}}  {sentence}")
    return 0
