"""Accesses at fixed steps that are not those of an array: the lanes share one address.

Vectors of four numbers are read whole, one for each lane, and turned into components in registers:
that is how a kernel transposes. Every second or fourth number is picked from vectors of what lies
between the first and the last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.values import Lanes, Value

QUAD_LANES = 8
"""Lanes whose numbers of four bytes are picked from vectors together."""
Picker = Callable[[Emitter, str, list[tuple[str, int]]], str]


def load_at_steps(emitter: Emitter, pointer: Lanes, stored: str, align: int) -> str:
    """One number for each lane, at fixed steps: no lane needs an address of its own."""
    text, wide = emitter.text, emitter.text.vector_type(stored)
    if stored in ("float", "i32") and emitter.width % QUAD_LANES == 0:
        if pointer.stride == 8:
            return _pick(emitter, pointer, stored, align, _pick_seconds)
        if pointer.stride == 16:
            return _pick(emitter, pointer, stored, align, _pick_fourths)
    name = "poison"
    for lane in range(emitter.width):
        each = text.emit(
            f"load {stored}, ptr {_lane_address(emitter, pointer, lane)}, align {align}"
        )
        name = text.emit(f"insertelement {wide} {name}, {stored} {each}, i64 {lane}")
    return name


def store_at_steps(emitter: Emitter, pointer: Lanes, stored: str, name: str, align: int) -> None:
    """Writes one number of each lane at fixed steps, the first lane first."""
    text, wide = emitter.text, emitter.text.vector_type(stored)
    for lane in range(emitter.width):
        each = text.emit(f"extractelement {wide} {name}, i64 {lane}")
        place = _lane_address(emitter, pointer, lane)
        text.do(f"store {stored} {each}, ptr {place}, align {align}")


def _lane_address(emitter: Emitter, pointer: Lanes, lane: int) -> str:
    if pointer.stride is None:
        return emitter.text.lane(pointer, lane)
    if lane == 0:
        return pointer.name
    return emitter.text.emit(f"getelementptr i8, ptr {pointer.name}, i64 {lane * pointer.stride}")


def _pick(emitter: Emitter, pointer: Lanes, stored: str, align: int, pick: Picker) -> str:
    """Numbers of four bytes that lie near each other, from vectors of all that lies there.

    Nothing is read behind the last number that is wanted: the last vector lies further in front,
    and what is wanted of it is further back."""
    assert pointer.stride is not None
    count = pointer.stride // 4
    groups = []
    for first in range(0, emitter.width, QUAD_LANES):
        vectors = []
        for vector in range(count):
            is_last = first + QUAD_LANES == emitter.width and vector == count - 1
            shift = count - 1 if is_last else 0
            offset = first * pointer.stride + vector * 4 * QUAD_LANES - 4 * shift
            place = emitter.text.emit(f"getelementptr i8, ptr {pointer.name}, i64 {offset}")
            loaded = emitter.text.emit(
                f"load <{QUAD_LANES} x {stored}>, ptr {place}, align {align}"
            )
            vectors.append((loaded, shift))
        groups.append(pick(emitter, stored, vectors))
    return emitter.text.concatenate(stored, groups, QUAD_LANES)


def _pick_seconds(emitter: Emitter, scalar: str, vectors: list[tuple[str, int]]) -> str:
    """Every second number of two vectors, from the one on that is given with each."""
    (one, m), (two, n) = vectors
    picks = (m, m + 2, n + 8, n + 10, m + 4, m + 6, n + 12, n + 14)
    mixed = _mix(emitter, scalar, 8, one, two, picks)
    return _mix(emitter, scalar, 8, mixed, "poison", (0, 1, 4, 5, 2, 3, 6, 7))


def _pick_fourths(emitter: Emitter, scalar: str, vectors: list[tuple[str, int]]) -> str:
    """Every fourth number of four vectors, from the one on that is given with each."""
    pairs = []
    for (one, m), (two, n) in (vectors[:2], vectors[2:]):
        picks = (m, m, n + 8, n + 8, m + 4, m + 4, n + 12, n + 12)
        pairs.append(_mix(emitter, scalar, 8, one, two, picks))
    mixed = _mix(emitter, scalar, 8, pairs[0], pairs[1], (0, 2, 8, 10, 4, 6, 12, 14))
    return _mix(emitter, scalar, 8, mixed, "poison", (0, 4, 1, 5, 2, 6, 3, 7))


def load_quads(emitter: Emitter, pointer: Lanes, scalar: str, align: int) -> list[Value]:
    """Vectors of four numbers, at fixed steps or anywhere: read whole, then turned in registers."""
    lanes, turn = _turned_together(emitter, scalar), _TURNS[scalar].turn
    columns: list[list[str]] = [[], [], [], []]
    for first in range(0, emitter.width, lanes):
        places = [_lane_address(emitter, pointer, first + lane) for lane in range(lanes)]
        for column, turned in zip(columns, turn(emitter, places, scalar, align), strict=True):
            column.append(turned)
    wholes = [emitter.text.concatenate(scalar, each, lanes) for each in columns]
    return [Lanes(scalar, whole, None) for whole in wholes]


def _turn_words(emitter: Emitter, places: list[str], scalar: str, align: int) -> list[str]:
    """The components of vectors of numbers of four bytes, at as many places as a register has
    numbers: each quarter of it, four numbers, is turned for itself."""
    lanes = len(places)
    quads = [_load_part(emitter, place, 0, f"<4 x {scalar}>", align) for place in places]
    rows = [emitter.text.concatenate(scalar, quads[row::4], 4) for row in range(4)]
    low, high = (
        [_mix_fours(emitter, scalar, lanes, rows[n], rows[n + 1], picks) for n in (0, 2)]
        for picks in ((0, _OTHER, 1, _OTHER + 1), (2, _OTHER + 2, 3, _OTHER + 3))
    )
    return [
        _mix_fours(emitter, scalar, lanes, half[0], half[1], picks)
        for half in (low, high)
        for picks in ((0, 1, _OTHER, _OTHER + 1), (2, 3, _OTHER + 2, _OTHER + 3))
    ]


def store_quads(
    emitter: Emitter, pointer: Lanes, scalar: str, columns: list[str], align: int
) -> None:
    """Writes vectors of four words at fixed steps: turned in registers, then written whole."""
    text, width, lanes = emitter.text, emitter.width, _turned_together(emitter, scalar)
    chunks = [text.split(scalar, each, width, lanes) for each in columns]
    for first, some in zip(range(0, width, lanes), zip(*chunks, strict=True), strict=True):
        low, high = (
            [_mix_fours(emitter, scalar, lanes, some[n], some[n + 1], picks) for n in (0, 2)]
            for picks in ((0, _OTHER, 1, _OTHER + 1), (2, _OTHER + 2, 3, _OTHER + 3))
        )
        turned = [
            _mix_fours(emitter, scalar, lanes, half[0], half[1], picks)
            for half in (low, high)
            for picks in ((0, 1, _OTHER, _OTHER + 1), (2, 3, _OTHER + 2, _OTHER + 3))
        ]
        quads = zip(*(text.split(scalar, each, lanes, 4) for each in turned), strict=True)
        for lane, quad in enumerate(each for four in quads for each in four):
            place = _lane_address(emitter, pointer, first + lane)
            text.do(f"store <4 x {scalar}> {quad}, ptr {place}, align {align}")


def store_pairs(
    emitter: Emitter, pointer: Lanes, scalar: str, columns: list[str], align: int
) -> None:
    """Writes vectors of two words at fixed steps, each as a number of 64 bits."""
    width = emitter.width
    picks = tuple(part * width + lane for lane in range(width) for part in range(2))
    pairs = emitter.text.shuffle(f"<{width} x {scalar}>", columns[0], picks, columns[1])
    wide = emitter.text.vector_type("i64")
    whole = emitter.text.emit(f"bitcast <{2 * width} x {scalar}> {pairs} to {wide}")
    store_at_steps(emitter, pointer, "i64", whole, align)


_OTHER = 4
"""From here on `_mix_fours` picks from the second vector."""


def _mix_fours(
    emitter: Emitter, scalar: str, count: int, one: str, two: str, picks: tuple[int, ...]
) -> str:
    """Of each four elements of two vectors the same ones."""
    every = [
        first + (pick if pick < _OTHER else count + pick - _OTHER)
        for first in range(0, count, 4)
        for pick in picks
    ]
    return _mix(emitter, scalar, count, one, two, tuple(every))


def _turn_doubles(emitter: Emitter, places: list[str], scalar: str, align: int) -> list[str]:
    """The components of four vectors of numbers of eight bytes, at four places."""
    columns = []
    for offset in (0, 16):
        pairs = [_load_part(emitter, place, offset, f"<2 x {scalar}>", align) for place in places]
        rows = [_mix(emitter, scalar, 2, pairs[n], pairs[n + 2], (0, 1, 2, 3)) for n in (0, 1)]
        for picks in ((0, 4, 2, 6), (1, 5, 3, 7)):
            columns.append(_mix(emitter, scalar, 4, rows[0], rows[1], picks))
    return columns


def _load_part(emitter: Emitter, place: str, offset: int, type_: str, align: int) -> str:
    if offset:
        place = emitter.text.emit(f"getelementptr i8, ptr {place}, i64 {offset}")
    return emitter.text.emit(f"load {type_}, ptr {place}, align {align}")


class _Turn(NamedTuple):
    """How vectors of four numbers of a type are turned."""

    together: tuple[int, ...]
    """Numbers of lanes whose vectors can be turned together, the most first."""
    turn: Callable[[Emitter, list[str], str, int], list[str]]


_WORDS, _DOUBLES = _Turn((16, 8), _turn_words), _Turn((4,), _turn_doubles)
_TURNS = {"float": _WORDS, "i32": _WORDS, "double": _DOUBLES, "i64": _DOUBLES}


def _turned_together(emitter: Emitter, scalar: str) -> int:
    """How many lanes have their vectors turned together: those of one register, if possible."""
    fitting = [each for each in _TURNS[scalar].together if emitter.width % each == 0]
    most = max(emitter.context.target.lanes, fitting[-1]) if fitting else 0
    return next((each for each in fitting if each <= most), 0)


def turns_quads(emitter: Emitter, scalar: str) -> bool:
    """True if vectors of four numbers of a type can be read by `load_quads`."""
    return scalar in _TURNS and _turned_together(emitter, scalar) > 0


def _mix(
    emitter: Emitter, scalar: str, count: int, one: str, two: str, picks: tuple[int, ...]
) -> str:
    """A vector of elements picked from two."""
    return emitter.text.shuffle(f"<{count} x {scalar}>", one, picks, two)
