"""Changes words of SPIR-V whatever they mean: what a reader has to get over."""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable

SMALL = (0, 1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 22, 24, 31, 32, 33, 48, 63, 64, 65, 127, 128)
INTERESTING = (
    *SMALL,
    255,
    256,
    0x7FFF,
    0xFFFF,
    0x10000,
    0x3FFFFF,
    0x3F800000,
    0x7F7FFFFF,
    0x7F800000,
    0x7FC00001,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFE,
    0xFFFFFFFF,
)


def flip_bit(data: bytes, chance: random.Random) -> bytes:
    return set_word(data, chance, lambda word: word ^ 1 << chance.randrange(32))


def interesting_word(data: bytes, chance: random.Random) -> bytes:
    return set_word(data, chance, lambda _: chance.choice(INTERESTING))


def set_word(data: bytes, chance: random.Random, change: Callable[[int], int]) -> bytes:
    words = array("I", data[: len(data) // 4 * 4])
    if words:
        at = chance.randrange(len(words))
        words[at] = change(words[at])
    return words.tobytes()


def remove_words(data: bytes, chance: random.Random) -> bytes:
    words = array("I", data[: len(data) // 4 * 4])
    at = chance.randrange(len(words) + 1)
    del words[at : at + chance.randrange(1, 4)]
    return words.tobytes()


def cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def swap_bytes(data: bytes, chance: random.Random) -> bytes:
    del chance
    words = array("I", data[: len(data) // 4 * 4])
    words.byteswap()
    return words.tobytes()


RAW_CHANGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    flip_bit,
    flip_bit,
    interesting_word,
    interesting_word,
    remove_words,
    cut,
    swap_bytes,
)
