"""The commands and their options as plain data, for what is made from the parser: shell completions
and the manual page."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Option:
    """An option such as `-o DIR` or `--json`."""

    names: tuple[str, ...]
    value: str
    """What it takes, such as DIR; empty if it takes nothing."""
    choices: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class Command:
    """A command, or one below it such as `stream calls`, or the program itself."""

    words: tuple[str, ...]
    """From `groundstate` on."""
    summary: str
    usage: str
    description: str
    examples: str
    options: tuple[Option, ...]
    arguments: tuple[tuple[str, str], ...]
    """What is named without an option, and what it is."""
    children: tuple[Command, ...] = field(default=())

    def all(self) -> Iterator[Command]:
        """This one and all below it."""
        yield self
        for child in self.children:
            yield from child.all()


def command_tree(parser: argparse.ArgumentParser, summary: str = "") -> Command:
    """What a parser knows."""
    words = tuple(parser.prog.split())
    options, arguments, children = [], [], []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            arguments.append((f"{action.metavar}", ""))
            summaries = {each.dest: each.help or "" for each in action._choices_actions}
            for name, below in action.choices.items():
                children.append(command_tree(below, summaries[name]))
        elif action.help == argparse.SUPPRESS:
            continue
        elif action.option_strings:
            options.append(option_of(action))
        else:
            arguments.append((str(action.metavar or action.dest), sentence_of(action)))
    usage = parser.usage or " ".join([*words, "[options]", *(name for name, _ in arguments)])
    description, examples = parser.description or "", parser.epilog or ""
    return Command(
        words,
        summary,
        usage,
        description,
        examples,
        tuple(options),
        tuple(arguments),
        tuple(children),
    )


def option_of(action: argparse.Action) -> Option:
    """An option with what it takes."""
    takes = action.nargs != 0
    value = str(action.metavar or action.dest.upper()) if takes else ""
    if takes and action.choices is not None and action.metavar is None:
        value = "|".join(map(str, action.choices))
    choices = tuple(str(each) for each in action.choices or ())
    return Option(tuple(action.option_strings), value, choices, sentence_of(action))


def sentence_of(action: argparse.Action) -> str:
    """The help of an argument, in which %% stands for %."""
    return (action.help or "").replace("%%", "%")
