"""Other people's documents that this project began with: where they are, and their code blocks.

They are no part of the project. The folder is the one that GROUNDSTATE_SEEDS names, or
`shared/seeds` in a folder above this checkout; without it there are no tests of them.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from ..pages import ROOT

GUIDE = "core-programming-guide.rst"
COUNTERS = "counter-based-event-pools-extension.rst"
LUA = "gits-level-zero-lua-scripting.md"
ONEDNN = "onednn-level-zero-interop-api.txt"
PYZES = "pyzes-readme.md"


def folder() -> Path | None:
    """Where the documents are."""
    if named := os.environ.get("GROUNDSTATE_SEEDS"):
        return Path(named)
    places = (above / "shared" / "seeds" for above in ROOT.parents)
    return next((place for place in places if place.is_dir()), None)


@dataclass(frozen=True)
class SeedBlock:
    """A code block: its number in the document, from 1 on, its line and its text."""

    seed: str
    number: int
    line: int
    text: str


def text_of(seed: str) -> str:
    """The text of a document, or nothing if it is not here."""
    place = folder()
    return (place / seed).read_text(encoding="utf-8") if place is not None else ""


def blocks(seed: str) -> list[SeedBlock]:
    """All code blocks of a document, without indentation and markup."""
    text = text_of(seed)
    if seed.endswith(".rst"):
        return _literal_blocks(seed, text)
    found = re.finditer(r"^```[^\n]*\n(.*?)^```", text, re.M | re.S)
    return [
        SeedBlock(seed, number, text.count("\n", 0, each.start()) + 2, each[1])
        for number, each in enumerate(found, 1)
    ]


def _literal_blocks(seed: str, text: str) -> list[SeedBlock]:
    lines = _rendered(text.splitlines())
    found: list[SeedBlock] = []
    for at, line in enumerate(lines):
        if not line.lstrip().startswith(".. parsed-literal::"):
            continue
        start = next(i for i in range(at + 1, len(lines)) if lines[i].strip())
        indent = _indent(lines[start])
        end = start
        while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) >= indent):
            end += 1
        code = "\n".join(line[indent:] for line in lines[start:end]).rstrip()
        found.append(SeedBlock(seed, len(found) + 1, start + 1, _without_markup(code) + "\n"))
    return found


def _rendered(lines: list[str]) -> list[str]:
    """The lines as the specification's tools print them for its newest version."""
    names = {"${x}": "ze", "${X}": "ZE", "${OneApi}": "oneAPI"}
    shown, wanted = [], True
    for line in lines:
        if match := re.match(r"%(if|else|endif)", line):
            wanted = match[1] != "else"
        elif wanted and not line.startswith("##"):
            for name, value in names.items():
                line = line.replace(name, value)
            shown.append(line)
            continue
        shown.append("")
    return shown


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _without_markup(code: str) -> str:
    """Replaces references such as `:ref:`ze-event-pool-desc-t`` by the names they show."""
    code = re.sub(r":ref:`([^`<]+?)\s*(?:<[^`]*>)?`\\?", _name, code)
    return code.replace("\\;", ";")


def _name(reference: re.Match[str]) -> str:
    name = reference[1]
    return name.replace("-", "_") if re.fullmatch(r"ze[-\w]*-t", name) else name
