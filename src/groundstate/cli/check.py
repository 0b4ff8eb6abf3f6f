"""`groundstate check`: runs a program in checked mode and tells what was found."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from groundstate import findings, knobs, standin
from groundstate.check import suppressions
from groundstate.check.collected import Collected
from groundstate.check.sarif import sarif_log
from groundstate.cli import errors
from groundstate.cli import run as running
from groundstate.cli.child import Ended, run_child
from groundstate.cli.commands import COMMANDS
from groundstate.cli.output import create
from groundstate.cli.vary import run_varied, seeds
from groundstate.compiler.light_dataclass import replace
from groundstate.findings import Finding

FOUND = 86
"""The exit status for findings in a program that itself ended with 0."""
LOOK_S = 0.1
"""How long a finding may wait to be shown."""

DESCRIPTION = f"""\
Runs a program in checked mode: the device watches every access of every work-item and every call,
and reports each mistake with its place in the source, the kernel and the work-item.

The program needs no change and no other compiler. Lines are named where modules have debug
information: 'groundstate compile -g', 'clang -g', 'icpx -g'. A wrong access is left out, a read
gives 0, and the kernel goes on; --stop ends the work instead, so that what follows is no
consequence of the first mistake.

The exit status is that of the program. If that is 0 and something was found, it is {FOUND}.
"""

EXAMPLES = """\
examples:
  groundstate check -- ./my_app --size 1024
  groundstate check --only memory -- ./my_app      one kind of mistakes
  groundstate check --also arithmetic -- ./my_app  overflow, division by zero, NaN, too
  groundstate check --stop -- ./my_app             lose the context at the first one
  groundstate check --sarif check.sarif -- ./app   for code review and editors
  groundstate check --vary 1..8 -- ./my_app        does it rely on an order of work-groups?
  groundstate check --device uhd-770 -- ./my_app   would it run on this GPU?
  groundstate check --suppress known.txt -- ./app  but for what is known
  groundstate check --json -o check.json -- ./app  for scripts

A line of the file for --suppress is a kind, and may name a file and a kernel. Each may have
wildcards, and what follows a # says why:
  out-of-bounds-read file=vendor/*.cl kernel=conv_*   # reported to the vendor
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `check` to the commands."""
    parser = subparsers.add_parser(
        "check",
        help=COMMANDS["check"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="groundstate check [options] [--] PROGRAM [ARGUMENT ...]",
    )
    parser.add_argument(
        "--only",
        metavar="LIST",
        type=checkers,
        help=f"look only for these: a list of {', '.join(knobs.CHECK.words)}, with commas between",
    )
    parser.add_argument(
        "--also",
        metavar="LIST",
        type=checkers,
        help="look for these, too, which are by option: "
        + ", ".join(word for word in knobs.CHECK.words if word not in knobs.CHECK.usual),
    )
    parser.add_argument(
        "--vary",
        metavar="SEED",
        type=seeds,
        default=(),
        help="vary the order of groups and sub-groups, the size of sub-groups, and what memory "
        "holds that nobody has written, by a seed. With several (1..8) the program runs once as it "
        "is and once for each, and it is said which ended differently or printed something else",
    )
    parser.add_argument(
        "--device",
        metavar="GPU",
        choices=knobs.CHECK_DEVICE.choices[1:],
        help="report what this GPU could not run: " + ", ".join(knobs.CHECK_DEVICE.choices[1:]),
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="also report device memory that the program itself reads or writes, which only a "
        "discrete GPU forbids",
    )
    parser.add_argument(
        "--same-values",
        action="store_true",
        help="also report work-items that write the same value to one place with nothing that "
        "orders them",
    )
    when = parser.add_mutually_exclusive_group()
    when.add_argument(
        "--stop",
        action="store_true",
        help="stop a kernel at its first mistake; its context is lost "
        "(ZE_RESULT_ERROR_DEVICE_LOST)",
    )
    when.add_argument(
        "--continue",
        dest="go_on",
        action="store_true",
        help="go on after a mistake, as without --stop, whatever GROUNDSTATE_CHECK_STOP says",
    )
    parser.add_argument(
        "--max",
        metavar="N",
        type=running.positive,
        default=100,
        help="show no more findings than these; 100 unless told. All are counted",
    )
    parser.add_argument(
        "--suppress",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="do not report what the lines of this file name; may be given several times",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the findings as JSON on standard output, in one line after the program's own",
    )
    parser.add_argument(
        "-o", "--out", metavar="FILE", type=Path, help="write the findings into this file instead"
    )
    parser.add_argument(
        "--sarif", metavar="FILE", type=Path, help="also write them into this file as SARIF 2.1.0"
    )
    running.add_driver_options(parser)
    running.add_program(parser)
    parser.set_defaults(run=check, parser=parser)


def checkers(text: str) -> str:
    """An argument such as `memory,host`."""
    named = [each.strip() for each in text.lower().split(",") if each.strip()]
    for each in named or [text]:
        if each not in knobs.CHECK.words:
            known = ", ".join(knobs.CHECK.words)
            raise argparse.ArgumentTypeError(f"'{each}' is not one of {known}")
    return ",".join(named)


def check(args: argparse.Namespace) -> int:
    """Runs the program, tells what was found, and passes its end on."""
    command = running.program_of(args)
    try:
        known = [line for path in args.suppress for line in suppressions.read(path)]
        with contextlib.ExitStack() as opened:
            out = opened.enter_context(create(args.out)) if args.out else None
            sarif = opened.enter_context(create(args.sarif)) if args.sarif else None
            collected = opened.enter_context(Collected(known))
            shown = Shown(collected, args.max, None if args.json else out or sys.stderr)
            environment = environment_of(args, collected)
            differences: list[str] = []
            if len(args.vary) > 1:
                ended, differences = run_varied(command, environment, args.vary, shown.look)
            else:
                ended = run_child(command, environment, "check", started=shown.start)
            shown.finish()
            if not ended.started:
                return ended.pass_on()
            if sarif is not None:
                json.dump(sarif_log(collected, command, ended.status), sarif, indent=2)
            if args.json:
                values = document(collected, command, ended, args.vary, differences)
                json.dump(values, out or sys.stdout)
                print(file=out or sys.stdout, flush=True)
            elif shown.left_out:
                errors.say(f"{shown.left_out} more not shown (--max {args.max})", file=sys.stderr)
            for difference in differences:
                errors.say(f"groundstate check: {difference}", file=sys.stderr)
            summary = outcome(collected, command[0], ended) + varied(args.vary, differences)
            errors.say(f"groundstate check: {summary}", file=sys.stderr)
            found = bool(collected.findings or differences)
    except (suppressions.SuppressionError, standin.LibraryMissing, ValueError) as problem:
        return errors.complain("check", errors.describe(problem))
    return FOUND if found and ended.status == 0 else ended.pass_on()


def environment_of(args: argparse.Namespace, collected: Collected) -> dict[str, str]:
    """The variables with which a program is checked."""
    changes = running.driver_environment(args) | collected.environment()
    more = [args.also, "portability" if args.device else None]
    named = [args.only or ",".join(knobs.CHECK.usual), *(each for each in more if each)]
    changes[knobs.CHECK.name] = ",".join(named) if len(named) > 1 else args.only or "1"
    if args.device:
        changes[knobs.CHECK_DEVICE.name] = args.device
    if len(args.vary) == 1:
        changes[knobs.CHECK_VARY.name] = str(args.vary[0])
    if args.stop or args.go_on:
        changes[knobs.CHECK_STOP.name] = str(int(args.stop))
    if args.same_values:
        changes[knobs.CHECK_SAME_VALUES.name] = "1"
    if args.strict:
        changes[knobs.CHECK_STRICT.name] = "1"
    if args.suppress:
        changes[knobs.CHECK_SUPPRESS.name] = os.pathsep.join(
            str(path.absolute()) for path in args.suppress
        )
    return {knobs.ERRORS.name: "serious", **os.environ, **changes}


class Shown:
    """Shows findings while the program runs."""

    def __init__(self, collected: Collected, most: int, to: TextIO | None) -> None:
        self._collected = collected
        self._most = most
        self._to = to
        self._colour = to is not None and to.isatty() and not knobs.NO_COLOR.get()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow)
        self._count = 0

    @property
    def left_out(self) -> int:
        """How many there were that are not shown."""
        return max(self._count - self._most, 0)

    def start(self) -> None:
        """Begins to look, when the program has begun."""
        self._thread.start()

    def finish(self) -> None:
        """Shows what is left, when the program has ended."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()
        self.look()

    def look(self) -> None:
        """Shows what is new."""
        self._show(self._collected.read())

    def _follow(self) -> None:
        while not self._ended.wait(LOOK_S):
            self.look()

    def _show(self, new: Sequence[Finding]) -> None:
        for finding in new:
            self._count += 1
            if self._to is not None and self._count <= self._most:
                first = replace(finding, count=1)  # how often it happens, the end tells
                text = findings.render(first, colour=self._colour)
                with contextlib.suppress(OSError):  # nobody reads: that is no reason to end
                    print(text + "\n", file=self._to, flush=True)


def outcome(collected: Collected, program: str, ended: Ended) -> str:
    """The line at the end."""
    killed = f" ({program} was killed by signal {ended.signal})" if ended.signal else ""
    told, suppressed = collected.findings, collected.suppressed
    beside = f", {len(suppressed)} suppressed" if suppressed else ""
    if told or suppressed:
        return f"{findings.summary(told)}{beside}{killed}"
    if not collected.checkers:
        return (
            f"nothing was checked: {program} did not open Level Zero (libze_loader.so.1), or "
            f"opened it by a path of its own{killed}"
        )
    return f"no findings ({', '.join(collected.checkers)} checked){killed}"


def varied(wanted: Sequence[int], differences: Sequence[str]) -> str:
    """What the last line says of schedules that varied."""
    if not wanted:
        return ""
    if len(wanted) == 1:
        return f"; schedules varied by seed {wanted[0]}"
    which = f"seeds {wanted[0]} to {wanted[-1]}"
    if not differences:
        return f"; it ended and printed the same with {which}"
    return f"; {len(differences)} of {which} ended or printed something else"


def document(
    collected: Collected,
    command: Sequence[str],
    ended: Ended,
    seeds: Sequence[int] = (),
    differences: Sequence[str] = (),
) -> dict[str, Any]:
    """What --json prints."""
    return {
        **({"seeds": list(seeds), "differences": list(differences)} if seeds else {}),
        "program": list(command),
        "exit_status": ended.status,
        "checkers": list(collected.checkers),
        "summary": findings.summary(collected.findings),
        "findings": [each.as_json() for each in collected.findings],
        "suppressed": [each.as_json() for each in collected.suppressed],
    }
