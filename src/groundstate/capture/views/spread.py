"""How a quantity is spread: count, total, least, median and most, in little memory."""

from __future__ import annotations

import random
from array import array

KEPT = 1 << 17
"""So many values are kept; of more, a fair sample of that size."""
MOST = (1 << 64) - 1


class Spread:
    """Numbers that come one after the other.

    >>> spread = Spread()
    >>> for value in (5, 1, 3):
    ...     spread.add(value)
    >>> spread.count, spread.total, spread.least, spread.median, spread.most
    (3, 9, 1, 3, 5)
    """

    def __init__(self) -> None:
        self.count = 0
        self.total = 0
        self.least = 0
        self.most = 0
        self._kept = array("Q")
        self._chance = random.Random(0)

    def add(self, value: int) -> None:
        """Takes one more value; what needs more than 64 bits counts as the most that has them."""
        value = min(value, MOST)
        self.least = value if not self.count else min(self.least, value)
        self.most = max(self.most, value)
        self.total += value
        self.count += 1
        if len(self._kept) < KEPT:
            self._kept.append(value)
        elif (place := self._chance.randrange(self.count)) < KEPT:
            self._kept[place] = value

    @property
    def median(self) -> int:
        """The middle value, the lower one of two; of many values, that of a sample."""
        return sorted(self._kept)[(len(self._kept) - 1) // 2] if self._kept else 0

    def data(self) -> dict[str, int]:
        """The figures, for JSON."""
        return {
            "count": self.count,
            "total": self.total,
            "min": self.least,
            "median": self.median,
            "max": self.most,
        }
