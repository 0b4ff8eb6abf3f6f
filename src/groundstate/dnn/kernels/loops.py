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
