"""Which kernels are meant: ranges of submissions, command lists and kernels."""

from __future__ import annotations

import re
from dataclasses import dataclass

EVERYTHING = "+"
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_LIMIT = 1 << 63


class SelectionError(ValueError):
    """A text that does not say which kernels are meant."""


@dataclass(frozen=True)
class Numbers:
    """Some of the numbers from 1 on: single ones and ranges, or all."""

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def parse(cls, text: str) -> Numbers:
        """
        >>> 7 in Numbers.parse("3,5-9")
        True
        """
        if text == EVERYTHING:
            return cls(((1, _LIMIT),))
        ranges = []
        for part in text.split(","):
            match = _RANGE.fullmatch(part)
            if match is None:
                raise SelectionError(
                    f"{part!r} is no number, no range such as '5-9' and not '+', which means all"
                )
            first, last = int(match[1]), int(match[2] or match[1])
            if first > last or first < 1 or last >= _LIMIT:
                raise SelectionError(f"{part!r} is no range: numbers rise, from 1 on")
            ranges.append((first, last))
        return cls(tuple(ranges))

    @property
    def everything(self) -> bool:
        return self.ranges == ((1, _LIMIT),)

    def __contains__(self, number: int) -> bool:
        return any(first <= number <= last for first, last in self.ranges)


@dataclass(frozen=True)
class Selection:
    """Which submissions, lists and kernels are meant, each by its numbers."""

    submits: Numbers
    lists: Numbers
    kernels: Numbers

    @classmethod
    def parse(cls, text: str) -> Selection:
        """Reads `submit/list/kernel`; what is left out at the end means all.

        >>> Selection.parse("3/1/5-9").kernels.ranges
        ((5, 9),)
        >>> Selection.parse("2/5").kernels.everything
        True
        """
        parts = text.split("/")
        if len(parts) > 3:
            raise SelectionError(
                f"{text!r} has more than three parts: submissions/lists/kernels, such as '3/1/5-9'"
            )
        numbers = [Numbers.parse(part) for part in parts]
        numbers += [Numbers.parse(EVERYTHING)] * (3 - len(numbers))
        return cls(*numbers)

    def includes(self, submit: int, in_list: int, kernel: int) -> bool:
        """Whether a kernel of a list of a submission is meant."""
        return submit in self.submits and in_list in self.lists and kernel in self.kernels
