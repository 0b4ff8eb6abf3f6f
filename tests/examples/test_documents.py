"""Names, links, commands and options in the README and in docs exist; tests/documents runs them."""

from __future__ import annotations

import argparse
import re
from functools import cache
from pathlib import Path

import pytest

import groundstate as gs
from groundstate.cli.commands import make_parser

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *(ROOT / "docs" / "howto" / name for name in ("python.md", "dnn.md"))]
EVERY_PAGE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def anchors(page: Path) -> set[str]:
    """What links can name in a page: its headings, as they are spelt in addresses."""
    headings = re.findall(r"^#+ (.+)", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text):
        there = page.parent / target if target else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_exist(page: Path) -> None:
    for name in re.findall(r"\bgs\.(\w+(?:\.\w+)?)", page.read_text(encoding="utf-8")):
        thing: object = gs
        for part in name.split("."):
            thing = getattr(thing, part)


@cache
def all_commands() -> dict[str, set[str]]:
    """The options of each command, by its name."""
    return commands(make_parser(), "groundstate")


def commands(parser: argparse.ArgumentParser, name: str) -> dict[str, set[str]]:
    """The options of a command and of those below it."""
    found = {name: set(parser._option_string_actions)}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, below in action.choices.items():
                found |= commands(below, f"{name} {word}")
    return found


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_their_options_exist(page: Path) -> None:
    known = all_commands()
    text = page.read_text(encoding="utf-8")
    for line in re.findall(r"(?:^|`|\$ |bin/)(groundstate(?: [a-z]+)+\b(?!:)[^`\n]*)", text, re.M):
        words = line.partition(" -- ")[0].partition(" #")[0].split()
        name = next(
            (n for i in (3, 2) if len(words) >= i and (n := " ".join(words[:i])) in known), ""
        )
        assert name, line
        for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", " ".join(words)):
            assert option in known[name], line
