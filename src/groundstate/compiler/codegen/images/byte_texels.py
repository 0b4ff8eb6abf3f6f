"""The most common texels: four channels of eight bits each that stand for 0 to 1, in any order.

They are one word, and are mixed as numbers from 0 to 255, which is what takes the time when an
image is scaled or filtered.
"""

from __future__ import annotations

from groundstate.compiler.codegen.images.texels import addresses_at, gather, halves
from groundstate.compiler.codegen.images.views import READING, UNORM, WRITING, View
from groundstate.compiler.codegen.routines import Results, at_least, at_most, splat
from groundstate.compiler.math.vec import Vec, like

ONE_CHANNEL = 0x00080000
"""Bits of word 0, eight of them."""
ALL_BUT_SHIFT, ALL_BUT_PLACE = 0xFFFF00FF, 0x00FF00FF
"""What must be so in an entry of `reading`, and of `writing`."""
ALL_SOURCES = 0b1111
TO_ONE = 1.0 / 255.0


def _twice(number: int) -> int:
    return number << 32 | number


def is_read(view: View) -> Vec:
    """True if texels are four bytes, and each channel is one of them."""
    return _has_bytes(view, "reading", ALL_BUT_SHIFT)


def is_written(view: View) -> Vec:
    """True if texels are four bytes, and each is one of the channels."""
    used = view.get("kind").constant(0)
    for number in range(4):
        source = view.channel(WRITING, number).source
        used = used | (used.constant(1) << (source & 31))
    return _has_bytes(view, "writing", ALL_BUT_PLACE) & used.equals(ALL_SOURCES)


def _has_bytes(view: View, table: str, mask: int) -> Vec:
    kind = view.get("texel_bytes").equals(4) & view.get("kind").equals(UNORM)
    plain = kind & view.get("is_srgb").equals(0)
    for half in (table, f"{table}_rest"):
        plain = plain & (view.get(half) & _twice(mask)).equals(_twice(ONE_CHANNEL))
    return plain


def fetch_pairs(view: View, offsets: Vec) -> Results:
    """The words of texels, and of those to the right of them."""
    return halves(gather(addresses_at(view, offsets), "i64"))


def decode_bytes(view: View, word: Vec) -> Results:
    """The channels of texels, from 0 to 255."""
    results = []
    for number in range(4):
        shift = splat(view.channel(READING, number).shift, word.t)
        results.append(((word >> shift) & 255).int_to_float("float"))
    return tuple(results)


def encode_bytes(view: View, texel: list[Vec]) -> Vec:
    """The words of texels."""
    t = like(texel[0].t, "i32")
    word = Vec(view.text, t, "").constant(0)
    channels = [view.channel(WRITING, number) for number in range(4)]
    for number, value in enumerate(texel):
        shift = channels[0].shift
        for channel in channels[1:]:
            shift = channel.source.equals(number).choose(channel.shift, shift)
        scaled = (at_most(at_least(value, 0.0), 1.0) * 255.0).rint()
        whole = Vec(view.text, t, view.text.emit(f"fptosi {value.t} {scaled.name} to {t}"))
        word = word | (whole << splat(shift & 31, t))
    return word
