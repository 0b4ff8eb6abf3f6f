"""What the name of a layout means: the order of dimensions, and the blocks inside.

In "aBcd16b" the letters before the first number are the dimensions from the outermost to the
innermost; a capital one is cut into blocks. What follows are the blocks, each a size and the
dimension that it is cut from, again from the outermost to the innermost.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from groundstate.dnn import tags

UNDEF, ANY = 0, 1


class Layout(NamedTuple):
    """A layout without sizes."""

    order: tuple[int, ...]
    """The dimensions from the outermost to the innermost."""
    blocks: tuple[tuple[int, int], ...]
    """Size and dimension of each inner block, from the outermost to the innermost."""


@cache
def _values() -> dict[str, int]:
    values = {name: value for value, name in enumerate(tags.NAMES)}
    return values | {alias: values[name] for alias, name in tags.ALIASES.items()}


def tag_value(name: str) -> int | None:
    """The number of a layout, by any of its names.

    >>> tag_value("nChw16c") == tag_value("aBcd16b")
    True
    """
    return {"any": ANY, "undef": UNDEF}.get(name, _values().get(name))


def tag_name(value: int) -> str:
    """The canonical name of a layout; empty if there is none of that number."""
    return tags.NAMES[value] if 0 <= value < len(tags.NAMES) else ""


@cache
def layout_of(value: int) -> Layout:
    """The layout that a number stands for.

    >>> layout_of(tag_value("acdb"))
    Layout(order=(0, 2, 3, 1), blocks=())
    """
    return parse(tag_name(value))


def parse(name: str) -> Layout:
    """The layout that a canonical name describes.

    >>> parse("ABc4b16a4b")
    Layout(order=(0, 1, 2), blocks=((4, 1), (16, 0), (4, 1)))
    """
    outer = re.match(r"[a-zA-Z]+?(?=\d|$)", name)
    if outer is None:
        raise ValueError(f"{name!r} is not the name of a layout")
    order = tuple(ord(letter.lower()) - ord("a") for letter in outer[0])
    blocks = tuple(
        (int(size), ord(letter) - ord("a"))
        for size, letter in re.findall(r"(\d+)([a-z])", name[outer.end() :])
    )
    return Layout(order, blocks)
