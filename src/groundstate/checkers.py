"""The checkers of checked mode by name, and as the bits that C and the compiler know them by."""

from __future__ import annotations

from groundstate.native_layouts import CHECKERS

TYPE_CHECKING = False  # as in driver/platform.py
if TYPE_CHECKING:
    from collections.abc import Iterable


def check_bits(names: Iterable[str]) -> int:
    """The bits of some checkers."""
    return sum(1 << CHECKERS.index(name) for name in set(names))


def check_names(bits: int) -> tuple[str, ...]:
    """The checkers of some bits."""
    return tuple(name for number, name in enumerate(CHECKERS) if bits >> number & 1)
