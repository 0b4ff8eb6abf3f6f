"""The directive `commands`: the reference of the command line, from the parser of the commands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from groundstate.cli.command_tree import Command, command_tree
from groundstate.cli.commands import make_parser


class Commands(SphinxDirective):
    """A section for each command, with its usage, description, options and examples."""

    def run(self) -> list[nodes.Node]:
        tree = command_tree(make_parser())
        text = "\n".join(line for command in tree.children for line in sections(command))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def sections(command: Command, level: int = 3) -> Iterator[str]:
    """A command and those below it, as Markdown."""
    yield from (f"{'#' * level} {' '.join(command.words)}", "")
    yield from ("```text", " ".join(command.usage.split()), "```", "")
    yield from (prose(command.description), "")
    named = [(f"`{name}`", sentence) for name, sentence in command.arguments if sentence]
    options = [
        (", ".join(f"`{name}{value(option.value)}`" for name in option.names), option.sentence)
        for option in command.options
        if "--help" not in option.names
    ]
    if named or options:
        yield from ("| argument | meaning |", "|---|---|")
        yield from (f"| {cell(name)} | {cell(prose(text))} |" for name, text in named + options)
        yield ""
    yield from examples(command.examples)
    for child in command.children:
        yield from sections(child, level + 1)


def examples(text: str) -> Iterator[str]:
    """Examples of a shell, each below the remark that the help has behind it."""
    for block in filter(None, re.split(r"\n\s*\n", text.strip())):
        title, *commands = block.split("\n")
        if title != "examples:":
            yield from (prose(block), "")
            continue
        yield "```sh"
        for line in commands:
            command, _, remark = line.strip().partition("  ")
            yield from ([f"# {remark.strip()}"] if remark else [])
            yield command
        yield from ("```", "")


def value(name: str) -> str:
    """What an option takes, behind its name."""
    return f" {name}" if name else ""


def prose(text: str) -> str:
    """Help as Markdown: words in angle brackets and options are code, listings stay as they are."""
    blocks = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join(
        f"```text\n{block}\n```" if re.search(r"^  ", block, re.M) else marked(block)
        for block in blocks
    )


def marked(text: str) -> str:
    """A paragraph in which nothing means something to Markdown by accident."""
    words = re.sub(r"([\\*_<>\[\]|])", r"\\\1", text)
    return re.sub(r"(?<![\w\\-])(--?[a-z][\w-]*)", r"`\1`", words)


def cell(text: str) -> str:
    """Text that fits into a cell of a table."""
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def setup(app: Sphinx) -> dict[str, bool]:
    """Adds the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
