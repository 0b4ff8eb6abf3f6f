"""Accesses of lanes that have each other's addresses: one vector, whose lanes change places.

A speculation says so by its `swap` (codegen/values.py). The mask changes places, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.values import Lanes, LaneText


@contextmanager
def exchanging(emitter: Emitter, pointer: Lanes, where: Lanes) -> Iterator[str]:
    """While an access is written for lanes in another order: with their mask in that order. Gives
    the order, or nothing if it is that of the lanes."""
    speculation, mask = pointer.speculation, emitter.mask
    swap = speculation.swap if speculation is not None and not where.is_vector else ""
    if swap and mask is not None:
        emitter.mask = exchanged_mask(emitter.text, mask, swap)
    try:
        yield swap
    finally:
        emitter.mask = mask


def exchanged(text: LaneText, type_: str, vector: str, swap: str) -> str:
    """Each lane of a vector gets what the lane has whose number differs in the bits of `swap`, an
    i32 that is the same for all lanes and mostly has one bit."""
    wide, bit = text.vector_type(type_), 1
    while bit < text.width:
        picks = [lane ^ bit for lane in range(text.width)]
        other = text.shuffle(wide, vector, picks)
        is_set = text.emit(f"and i32 {swap}, {bit}")
        moves = text.emit(f"icmp ne i32 {is_set}, 0")
        vector = text.emit(f"select i1 {moves}, {wide} {other}, {wide} {vector}")
        bit *= 2
    return vector


def exchanged_mask(text: LaneText, mask: str, swap: str) -> str:
    """The same for a mask. Mask registers are exchanged as numbers, because there are no
    instructions that move their bits."""
    bits = text.vector_type("i1")
    if not text.target.has_mask_registers:
        wide = text.vector_type("i32")
        words = exchanged(text, "i32", text.emit(f"sext {bits} {mask} to {wide}"), swap)
        return text.emit(f"icmp ne {wide} {words}, zeroinitializer")
    whole, bit = f"i{text.width}", 1
    number = text.emit(f"bitcast {bits} {mask} to {whole}")
    while bit < text.width:
        low = sum(1 << lane for lane in range(text.width) if not lane & bit)
        down = text.emit(f"lshr {whole} {number}, {bit}")
        down = text.emit(f"and {whole} {down}, {low}")
        up = text.emit(f"and {whole} {number}, {low}")
        up = text.emit(f"shl {whole} {up}, {bit}")
        other = text.emit(f"or {whole} {down}, {up}")
        is_set = text.emit(f"and i32 {swap}, {bit}")
        moves = text.emit(f"icmp ne i32 {is_set}, 0")
        number = text.emit(f"select i1 {moves}, {whole} {other}, {whole} {number}")
        bit *= 2
    return text.emit(f"bitcast {whole} {number} to {bits}")
