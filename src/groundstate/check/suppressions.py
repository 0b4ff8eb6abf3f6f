"""Findings that somebody knows of and does not want to hear about, from a file.

Each line names a kind, and may narrow it to a file of the source and a kernel. All three may have
wildcards. Whatever follows a # says why.

>>> known = parse("out-of-bounds-read file=vendor/*.cl kernel=conv_*  # reported to the vendor")
>>> str(known[0])
'out-of-bounds-read file=vendor/*.cl kernel=conv_*'
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from groundstate.check.kinds import KINDS
from groundstate.compiler.light_dataclass import light_dataclass

if TYPE_CHECKING:
    from groundstate.findings import Finding


class SuppressionError(ValueError):
    """A line of the file makes no sense."""


@light_dataclass()
class Suppression:
    """One line of the file."""

    kind: str
    file: str = "*"
    kernel: str = "*"

    def matches(self, finding: Finding) -> bool:
        """Whether this is one of the findings that nobody wants to hear about."""
        from fnmatch import fnmatchcase

        if not fnmatchcase(finding.kind, self.kind):
            return False
        if not fnmatchcase(finding.kernel or "", self.kernel):
            return False
        return self.file == "*" or any(_is_file(each.file, self.file) for each in finding.places)

    def __str__(self) -> str:
        narrowed = {"file": self.file, "kernel": self.kernel}
        return " ".join([self.kind, *(f"{n}={v}" for n, v in narrowed.items() if v != "*")])


def parse(text: str, name: str = "suppressions") -> list[Suppression]:
    """The lines of a file; SuppressionError says which one is wrong."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if words:
            found.append(_parse_line(words, f"{name}:{number}"))
    return found


def read(path: str | os.PathLike[str]) -> list[Suppression]:
    """The suppressions of a file."""
    with open(path, encoding="utf-8") as file:
        try:
            text = file.read()
        except UnicodeDecodeError as problem:
            raise SuppressionError(f"{os.fspath(path)}: is not text") from problem
    return parse(text, os.fspath(path))


def is_suppressed(finding: Finding, suppressions: Sequence[Suppression]) -> bool:
    """Whether some line matches the finding."""
    return any(each.matches(finding) for each in suppressions)


def _parse_line(words: list[str], where: str) -> Suppression:
    from fnmatch import fnmatchcase

    kind, *rest = words
    if "=" in kind:
        raise SuppressionError(
            f"{where}: a line begins with a kind such as out-of-bounds-read, or *"
        )
    if not any(fnmatchcase(each, kind) for each in KINDS):
        raise SuppressionError(f"{where}: there is no kind '{kind}'; {_hint(kind)}")
    narrowed: dict[str, str] = {}
    for word in rest:
        name, _, value = word.partition("=")
        if name not in ("file", "kernel") or not value or name in narrowed:
            raise SuppressionError(
                f"{where}: '{word}' is not understood; expected file=PATTERN or kernel=PATTERN"
            )
        narrowed[name] = value
    return Suppression(kind, **narrowed)


def _hint(kind: str) -> str:
    """The kinds that somebody may have meant; all of them if none is like it."""
    from difflib import get_close_matches

    near = get_close_matches(kind.lower(), KINDS, n=3)
    return f"did you mean {' or '.join(near)}?" if near else f"the kinds are {', '.join(KINDS)}"


def _is_file(path: str, pattern: str) -> bool:
    """Whether a path, or its last components, match a pattern."""
    from fnmatch import fnmatchcase

    return fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}")
