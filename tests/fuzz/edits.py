"""Changes of bytes that can be written down, for data that each process has in its own form.

An IPC handle names a process, and a native binary a version of the compiler: a file of either would
be refused at once the next time. So a case says what is changed, in steps:

    ["set", place, value]         the byte at a place
    ["word", place, value]        eight bytes
    ["flip", place, bit]
    ["cut", place, length]        bytes that are left out
    ["again", place, length]      bytes that come twice
    ["end", place]                nothing after a place

A place is a number from 0 to 1, as a share of the whole.
"""

from __future__ import annotations

import random
from typing import Any

Edit = list[Any]

BYTES = (0, 1, 0x7F, 0x80, 0xFF)
WORDS = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**63, 2**64 - 1, 2**64 - 4096)


def some(chance: random.Random, most: int = 4) -> list[Edit]:
    """A few changes."""
    return [_one(chance) for _ in range(chance.randint(1, most))]


def _one(chance: random.Random) -> Edit:
    place = round(chance.random(), 6)
    kind = chance.choice(("set", "set", "word", "word", "flip", "flip", "cut", "again", "end"))
    if kind == "set":
        return [kind, place, chance.choice((*BYTES, chance.randrange(256)))]
    if kind == "word":
        return [kind, place, chance.choice(WORDS)]
    if kind == "flip":
        return [kind, place, chance.randrange(8)]
    if kind == "end":
        return [kind, place]
    return [kind, place, chance.randint(1, 64)]


def apply(edits: list[Edit], data: bytes) -> bytes:
    """The changed bytes.

    >>> apply([["set", 0.5, 0], ["end", 0.75]], b"abcd")
    b'ab\\x00'
    """
    changed = bytearray(data)
    for kind, share, *more in edits:
        place = min(int(share * len(changed)), max(len(changed) - 1, 0))
        if kind == "set":
            changed[place : place + 1] = bytes(more)
        elif kind == "word":
            place -= place % 4
            changed[place : place + 8] = more[0].to_bytes(8, "little")[: len(changed) - place]
        elif kind == "flip" and changed:
            changed[place] ^= 1 << more[0]
        elif kind == "cut":
            del changed[place : place + more[0]]
        elif kind == "again":
            changed[place:place] = changed[place : place + more[0]]
        elif kind == "end":
            del changed[place:]
    return bytes(changed)
