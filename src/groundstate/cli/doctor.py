"""`groundstate doctor`: says what works here, what does not, and what to do about it."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import groupby
from typing import Any

from groundstate.cli.commands import COMMANDS
from groundstate.cli.errors import DONE, FAILED
from groundstate.doctor import installed, loader, places, settings, trial
from groundstate.doctor.finding import Finding, State, findings_of
from groundstate.printable import printable_lines

DESCRIPTION = """\
Says what is installed and what is missing, with the command that installs it; which Level Zero
loader a program would get; which variables are set, and which are misspelt; and whether a kernel
can be compiled and run. The exit status is 1 if something is wrong, not if something is missing
that one can do without.
"""

EXAMPLES = """\
examples:
  groundstate doctor                       everything on one screen
  groundstate doctor --json | jq '.findings[] | select(.state == "wrong")'
"""

PARTS = (installed, loader, settings, places, trial)
MARKS = {State.OK: "ok", State.MISSING: "--", State.WRONG: "!!", State.NOTE: "  "}
COLOURS = {State.OK: "32", State.MISSING: "2", State.WRONG: "1;31", State.NOTE: "33"}
NAME_WIDTH = 17
INDENT = " " * 5
WRAPPING: Any = {"break_long_words": False, "break_on_hyphens": False}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `doctor` to the commands."""
    parser = subparsers.add_parser(
        "doctor",
        help=COMMANDS["doctor"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print the findings for programs")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints what was found."""
    found = (
        finding
        for part in PARTS
        for check in part.CHECKS
        for finding in findings_of(part.SECTION, check)
    )
    if args.json:
        findings = list(found)
        print(json.dumps({"findings": [asdict(each) for each in findings]}, indent=2))
    else:
        findings = []
        for line in screen(keep(found, findings)):
            print(line, flush=True)
    return FAILED if any(each.state is State.WRONG for each in findings) else DONE


def keep(found: Iterator[Finding], findings: list[Finding]) -> Iterator[Finding]:
    """Passes findings on as they come."""
    for each in found:
        findings.append(each)
        yield replace(each, text=printable_lines(each.text), fix=printable_lines(each.fix))


def screen(found: Iterator[Finding]) -> Iterator[str]:
    """The findings to read, each section as soon as it is known."""
    wrong = 0
    for section, findings in groupby(found, key=lambda each: each.section):
        yield section
        for each in findings:
            wrong += each.state is State.WRONG
            yield from lines(each)
    yield ""
    yield f"{wrong} thing{'s' * (wrong != 1)} wrong" if wrong else "Everything works."


def lines(finding: Finding) -> Iterator[str]:
    """One finding, broken where the screen ends, and below it what to do, in one piece to copy."""
    start = f"  {coloured(MARKS[finding.state], finding.state)} {finding.name:<{NAME_WIDTH}}"
    beside = textwrap.wrap(finding.text, columns() - NAME_WIDTH - 6, **WRAPPING)
    if len(finding.name) > NAME_WIDTH or len(max(beside, key=len)) + NAME_WIDTH + 6 > columns():
        yield start.rstrip()
        below = textwrap.wrap(finding.text, columns() - len(INDENT), **WRAPPING)
        yield from (INDENT + line for line in below)
    else:
        yield f"{start} {beside[0]}"
        yield from (INDENT + " " * (NAME_WIDTH + 1) + line for line in beside[1:])
    if finding.fix:
        yield f"{INDENT}-> {finding.fix}"


def columns() -> int:
    """How wide the screen is; a file is as wide as a screen of old."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 80


def coloured(text: str, state: State) -> str:
    """Text in the colour of a state, if a terminal shows it."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{COLOURS[state]}m{text}\x1b[0m"
