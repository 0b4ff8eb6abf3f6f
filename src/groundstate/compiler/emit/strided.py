"""Loads at fixed steps that are not those of an array: the lanes share one address.

Vectors of four numbers are read whole, one for each lane, and turned into components in registers:
that is how a kernel transposes.
"""

from __future__ import annotations

from groundstate.compiler.emit.emitter import Emitter
from groundstate.compiler.emit.values import Lanes, Value

QUAD_LANES = 8
"""Lanes whose vectors of four numbers are turned into components together."""
_PAIR = (0, 1, 2, 3, 4, 5, 6, 7)
_LOW, _HIGH = (0, 8, 1, 9, 4, 12, 5, 13), (2, 10, 3, 11, 6, 14, 7, 15)
_FIRST, _SECOND = (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15)


def load_at_steps(emitter: Emitter, pointer: Lanes, stored: str, align: int) -> str:
    """One number for each lane, at fixed steps: no lane needs an address of its own."""
    text, wide = emitter.text, emitter.text.vector_type(stored)
    name = "poison"
    for lane in range(emitter.width):
        each = text.emit(
            f"load {stored}, ptr {_lane_address(emitter, pointer, lane)}, align {align}"
        )
        name = text.emit(f"insertelement {wide} {name}, {stored} {each}, i64 {lane}")
    return name


def _lane_address(emitter: Emitter, pointer: Lanes, lane: int) -> str:
    assert pointer.stride is not None
    if lane == 0:
        return pointer.name
    return emitter.text.emit(f"getelementptr i8, ptr {pointer.name}, i64 {lane * pointer.stride}")


def load_quads(emitter: Emitter, pointer: Lanes, scalar: str, align: int) -> Value:
    """Vectors of four numbers at fixed steps: read whole, then turned in registers."""
    text = emitter.text
    columns: list[list[str]] = [[], [], [], []]
    for first in range(0, emitter.width, QUAD_LANES):
        quads = [
            text.emit(
                f"load <4 x {scalar}>, ptr {_lane_address(emitter, pointer, first + lane)}, "
                f"align {align}"
            )
            for lane in range(QUAD_LANES)
        ]
        rows = [_mix(emitter, scalar, 4, quads[n], quads[n + 4], _PAIR) for n in range(4)]
        low, high = (
            [_mix(emitter, scalar, 8, rows[n], rows[n + 1], picks) for n in (0, 2)]
            for picks in (_LOW, _HIGH)
        )
        for half, place in ((low, 0), (high, 2)):
            for offset, picks in enumerate((_FIRST, _SECOND)):
                turned = _mix(emitter, scalar, 8, half[0], half[1], picks)
                columns[place + offset].append(turned)
    return [Lanes(scalar, _joined(emitter, scalar, each), None) for each in columns]


def _mix(
    emitter: Emitter, scalar: str, count: int, one: str, two: str, picks: tuple[int, ...]
) -> str:
    """A vector of elements picked from two."""
    wide = f"<{count} x {scalar}>"
    chosen = ", ".join(f"i32 {pick}" for pick in picks)
    return emitter.text.emit(
        f"shufflevector {wide} {one}, {wide} {two}, <{len(picks)} x i32> <{chosen}>"
    )


def _joined(emitter: Emitter, scalar: str, parts: list[str]) -> str:
    """Vectors of equal length behind each other."""
    count = QUAD_LANES
    while len(parts) > 1:
        picks = tuple(range(2 * count))
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [_mix(emitter, scalar, count, one, two, picks) for one, two in pairs]
        count *= 2
    return parts[0]
