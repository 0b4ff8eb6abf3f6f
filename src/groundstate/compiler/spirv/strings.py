"""Text in a module: UTF-8, four bytes to a word, with a zero byte behind it."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence

from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.printable import printable


def read_string(words: Sequence[int]) -> tuple[str, int]:
    """The text that some words begin with, and the number of words it takes."""
    packed = words if isinstance(words, array) else array("I", words)
    if sys.byteorder == "big":
        packed = array("I", packed)
        packed.byteswap()
    raw = packed.tobytes()
    end = raw.find(b"\0")
    if end < 0:
        raise InvalidModule("a string has no end")
    return raw[:end].decode("utf-8", "replace"), end // 4 + 1


def read_name(words: Sequence[int]) -> tuple[str, int]:
    """A text by which programs know something; it is written into other texts, too."""
    name, used = read_string(words)
    if not name.isprintable():
        raise InvalidModule(f"the name '{printable(name)}' has a character that cannot be printed")
    return name, used


def string_words(text: str) -> list[int]:
    """The words of a text."""
    raw = text.encode("utf-8") + b"\0"
    raw += bytes(-len(raw) % 4)
    return [int.from_bytes(raw[at : at + 4], "little") for at in range(0, len(raw), 4)]
