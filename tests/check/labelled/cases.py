"""What a labelled case is: a kernel, what it is given, and the kind of mistake that it makes.

Arguments are words: `ints:64` is an allocation of 64 integers that hold their own numbers,
`ints:64+8` a pointer to the ninth of them, `bytes:64+1` one that is aligned to nothing; `local:64`
are bytes of local memory; `freed:64` was an allocation; `null` is a null pointer, and a number
itself. Nobody has written the integers of `device:64`, `shared:64` and `host:64`, nor the second
half of those of `half-device:64` and `half-shared:64`. `image` is an image of 8 rows of 64 floats,
`image:r8uint` one of that format; `same:0` is the image that argument 0 is, `view:0` a view of it,
and `memory:0` the memory in which it lies. 64 work-items run in groups of 16.
"""

from __future__ import annotations

from dataclasses import dataclass

GROUPS, GROUP_SIZE = 4, 16
ITEMS = GROUPS * GROUP_SIZE
Extent = int | tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """One labelled kernel."""

    name: str
    """Of the kernel, too."""
    kind: str
    """Of the mistake; empty if there is none."""
    arguments: tuple[str | int, ...]
    source: str
    groups: Extent = GROUPS
    size: Extent = GROUP_SIZE


def wrong(name: str, kind: str, *arguments: str | int, source: str) -> Case:
    """A kernel that makes a mistake."""
    return Case(name, kind, arguments, source.replace("$", name))


def right(name: str, *arguments: str | int, source: str) -> Case:
    """A kernel that makes none."""
    return Case(name, "", arguments, source.replace("$", name))
