"""`groundstate man`: the manual page, made from the parser of the commands."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

from groundstate import knobs
from groundstate.cli import errors
from groundstate.cli.command_tree import Command, command_tree
from groundstate.cli.commands import COMMANDS, make_parser
from groundstate.version import __version__

DESCRIPTION = """\
Shows the manual page: every command with its options, exit statuses and environment variables. Into
a file or a pipe it is written as man takes it.
"""

EXAMPLES = """\
examples:
  groundstate man                      read it
  groundstate man > groundstate.1      keep it for man -l
"""

STATUSES = {
    errors.DONE: "It was done.",
    errors.FAILED: "It could not be done, or the answer is no: a file is missing or damaged, a "
    "kernel does not compile, a recording plays differently.",
    errors.USAGE_ERROR: "The command line makes no sense.",
    errors.NOT_EXECUTABLE: "The program to run cannot be started.",
    errors.NOT_FOUND: "There is no such program to run.",
    errors.INTERRUPTED: "Ctrl-C was pressed.",
}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `man` to the commands."""
    parser = subparsers.add_parser(
        "man",
        help=COMMANDS["man"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Has man show the page on a terminal, or prints its source."""
    text = page()
    if sys.stdout.isatty() and shutil.which("man") is not None:
        return subprocess.run(["man", "-l", "-"], input=text, text=True, check=False).returncode
    print(text, end="")
    return 0


def page() -> str:
    """The source of the page."""
    return "\n".join(lines(command_tree(make_parser()))) + "\n"


def lines(tree: Command) -> Iterator[str]:
    """The page from the title to the end."""
    first, _, rest = tree.description.strip().partition("\n")
    yield f'.TH GROUNDSTATE 1 "" "groundstate {__version__}" "User Commands"'
    yield from (".SH NAME", f"groundstate \\- {escaped(first.rstrip('.'))}")
    yield from (".SH SYNOPSIS", ".B groundstate", escaped("COMMAND [options]"))
    yield from (".SH DESCRIPTION", *list(paragraphs(rest))[1:])
    yield ".SH OPTIONS"
    yield from option_lines(tree)
    yield ".SH COMMANDS"
    for command in tree.all():
        if command is not tree:
            yield from command_lines(command)
    yield ".SH EXIT STATUS"
    for status, sentence in STATUSES.items():
        yield from (".TP", f".B {status}", escaped(sentence))
    yield ".SH ENVIRONMENT"
    for knob in knobs.KNOBS:
        default = f" Default: {knob.described_default()}."
        yield from (".TP", f".B {escaped(knob.name)}", escaped(plain(knob.sentence + default)))
    yield from (".SH EXAMPLES", *list(example_lines(tree.examples))[1:])


def command_lines(command: Command) -> Iterator[str]:
    """One command: how it is called, what it does, and its options."""
    yield f".SS {escaped(' '.join(command.words[1:]))}"
    yield from (".nf", f"\\fB{escaped(' '.join(command.usage.split()))}\\fR", ".fi")
    yield from paragraphs(command.description)
    yield from argument_lines(command)
    yield from option_lines(command)
    yield from example_lines(command.examples)


def argument_lines(command: Command) -> Iterator[str]:
    for name, sentence in command.arguments:
        if sentence:
            yield from (".TP", f".I {escaped(name)}", escaped(sentence))


def option_lines(command: Command) -> Iterator[str]:
    for option in command.options:
        if "--help" in option.names and len(command.words) > 1:
            continue
        names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in option.names)
        value = f" \\fI{escaped(option.value)}\\fR" if option.value else ""
        yield from (".TP", names + value, escaped(option.sentence))


def example_lines(text: str) -> Iterator[str]:
    """Examples, as they stand."""
    if text.strip():
        yield from (".PP", ".nf", *(escaped(line) for line in text.rstrip().splitlines()), ".fi")


def paragraphs(text: str) -> Iterator[str]:
    """Text whose paragraphs are separated by empty lines."""
    for each in re.split(r"\n\s*\n", text.strip()):
        yield from (".PP", escaped(" ".join(each.split())))


def plain(text: str) -> str:
    """A sentence of the documentation without the marks of Markdown."""
    return text.replace("`", "")


def escaped(text: str) -> str:
    """Text in which nothing means something to roff."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + safe if safe[:1] in (".", "'") else safe
