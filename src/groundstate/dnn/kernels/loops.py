"""Nested loops around lines of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Loops:
    """Loops over ranges, the last one inside.

    >>> Loops([("y", 3)]).around(["acc += y;"])
    ['for (int y = 0; y < 3; ++y) {', '    acc += y;', '}']
    """

    ranges: Sequence[tuple[str, int | str] | tuple[str, str, str]]
    """The name and the end of each, or its name, begin and end."""

    def around(self, lines: Sequence[str]) -> list[str]:
        """The lines in the loops."""
        text = list(lines)
        for each in reversed(self.ranges):
            name, *ends = each
            begin, end = ends if len(ends) == 2 else ("0", ends[0])
            text = [
                f"for (int {name} = {begin}; {name} < {end}; ++{name}) {{",
                *(f"    {line}" for line in text),
                "}",
            ]
        return text


def shared_loop(
    lines: Sequence[str], name: str, count: int, lanes: int, kind: str = "int"
) -> list[str]:
    """A loop whose rounds the lanes of a sub-group share; `lane` says which one it is.

    All lanes go round as often as each other, so that none has to be masked; the rest comes last.

    >>> shared_loop(["acc += k;"], "k", 8, 4)
    ['for (int first = 0; first < 8; first += 4) {', '    const int k = first + lane;', \
'    acc += k;', '}']
    """
    whole = count - count % lanes
    inside = [f"    {line}" for line in lines]
    text: list[str] = []
    if whole:
        text += [f"for ({kind} first = 0; first < {whole}; first += {lanes}) {{"]
        text += [f"    const {kind} {name} = first + lane;", *inside, "}"]
    if count > whole:
        text += [f"if (lane < {count - whole}) {{", f"    const {kind} {name} = {whole} + lane;"]
        text += [*inside, "}"]
    return text
