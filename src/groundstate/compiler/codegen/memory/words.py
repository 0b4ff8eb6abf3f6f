"""Vectors of small numbers that are one or two machine words together, such as pixels and points.

Where those of all lanes lie next to each other, they are one vector of words, one for each lane:
components are shifted out of it and into it, and no lane needs another one's. Where each lane has
an address of its own, a word is one gather or scatter for several components.
"""

from __future__ import annotations

from collections.abc import Iterator

from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.memory.gathers import gather, scatter
from groundstate.compiler.codegen.memory.masked import load_masked, store_masked
from groundstate.compiler.codegen.memory.nontemporal import store_vector
from groundstate.compiler.codegen.memory.strided import load_at_steps
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.spirv.types import Array, Vector, member_count

WORD_BYTES = (4, 8)
HALF_WORD_BITS = 32


def is_word(type_: Vector | Array) -> bool:
    """True if the vector of one lane is shifted apart and together as one word."""
    return type_.size in WORD_BYTES and type_.element.size < WORD_BYTES[0]


def load_words(emitter: Emitter, pointer: Lanes, type_: Vector | Array, align: int) -> Value:
    """The components of vectors that lie next to each other."""
    text, word = emitter.text, f"i{8 * type_.size}"
    wide = text.vector_type(word)
    if emitter.mask is None:
        whole = text.emit(f"load {wide}, ptr {pointer.name}, align {align}")
    else:
        whole = load_masked(emitter, wide, pointer.name, align, emitter.mask)
    return _components(emitter, whole, word, type_)


def load_words_at_steps(
    emitter: Emitter, pointer: Lanes, type_: Vector | Array, align: int
) -> Value:
    """The components of vectors that lie further apart, or before each other, at fixed steps."""
    word = f"i{8 * type_.size}"
    if emitter.mask is None:
        whole = load_at_steps(emitter, pointer, word, align)
    else:
        whole = gather(emitter, word, emitter.text.as_vector(pointer), align)
    return _components(emitter, whole, word, type_)


def gathers_words(type_: Vector | Array) -> bool:
    """True if vectors at addresses of their own are gathered as words."""
    return type_.size in (4, 8, 16) and type_.element.size < WORD_BYTES[-1]


def gather_words(emitter: Emitter, pointer: Lanes, type_: Vector | Array, align: int) -> Value:
    """The components of vectors, each at its lane's address."""
    parts: list[Value] = []
    for place, part in _in_words(emitter, pointer, type_):
        word = f"i{8 * part.size}"
        whole = gather(emitter, word, place, align)
        parts += _components(emitter, whole, word, part)
    return parts


def scatter_words(
    emitter: Emitter, pointer: Lanes, type_: Vector | Array, value: list[Value], align: int
) -> None:
    """Writes vectors, each to its lane's address."""
    for index, (place, part) in enumerate(_in_words(emitter, pointer, type_)):
        count = member_count(part)
        whole = _joined(emitter, value[index * count : (index + 1) * count], part)
        scatter(emitter, f"i{8 * part.size}", whole, place, align)


def _in_words(
    emitter: Emitter, pointer: Lanes, type_: Vector | Array
) -> Iterator[tuple[str, Vector | Array]]:
    """The words of a vector: the addresses of each, and what is in it."""
    text, size = emitter.text, min(type_.size, WORD_BYTES[-1])
    left = member_count(type_)
    for offset in range(0, type_.size, size):
        place = text.as_vector(pointer)
        if offset:
            place = text.emit(f"getelementptr i8, {text.vector_type('ptr')} {place}, i64 {offset}")
        count = min(left, size // type_.element.size)
        left -= count
        yield place, Vector(type_.element, count)


def _components(emitter: Emitter, whole: str, word: str, type_: Vector | Array) -> list[Value]:
    """What is in a vector of words, the lowest bits first."""
    text, bits, scalar = emitter.text, 8 * type_.element.size, scalar_type(type_.element)
    if emitter.width > 1 and member_count(type_) == 2 and bits == HALF_WORD_BITS:
        return _halves(emitter, whole, scalar)
    wide, narrow = text.vector_type(word), text.vector_type(f"i{bits}")
    parts: list[Value] = []
    for component in range(member_count(type_)):
        shifted = whole
        if component:
            amount = text.splat(word, str(component * bits))
            shifted = text.emit(f"lshr {wide} {whole}, {amount}")
        name = text.emit(f"trunc {wide} {shifted} to {narrow}") if wide != narrow else shifted
        if scalar != f"i{bits}":
            name = text.emit(f"bitcast {narrow} {name} to {text.vector_type(scalar)}")
        parts.append(Lanes(scalar, name, None))
    return parts


def _halves(emitter: Emitter, whole: str, scalar: str) -> list[Value]:
    """The two halves of each word: one permutation of two registers each, not three moves."""
    text, lanes = emitter.text, emitter.width
    halves, wide = f"<{2 * lanes} x {scalar}>", text.vector_type(f"i{2 * HALF_WORD_BITS}")
    pairs = text.emit(f"bitcast {wide} {whole} to {halves}")
    parts: list[Value] = []
    for first in range(2):
        order = ", ".join(f"i32 {first + 2 * lane}" for lane in range(lanes))
        picked = f"shufflevector {halves} {pairs}, {halves} poison, <{lanes} x i32> <{order}>"
        parts.append(Lanes(scalar, text.emit(picked), None))
    return parts


def store_words(
    emitter: Emitter, pointer: Lanes, type_: Vector | Array, value: list[Value], align: int
) -> None:
    """Writes vectors next to each other."""
    wide, whole = emitter.text.vector_type(f"i{8 * type_.size}"), _joined(emitter, value, type_)
    if emitter.mask is None:
        size = type_.size * emitter.width
        store_vector(emitter, wide, size, whole, pointer.name, align)
    else:
        store_masked(emitter, wide, whole, pointer.name, align, emitter.mask)


def _joined(emitter: Emitter, value: list[Value], type_: Vector | Array) -> str:
    """A vector of words of some components, the first in the lowest bits."""
    text, word, bits = emitter.text, f"i{8 * type_.size}", 8 * type_.element.size
    wide, narrow = text.vector_type(word), text.vector_type(f"i{bits}")
    whole = ""
    for component, part in enumerate(value):
        assert isinstance(part, Lanes)
        name = text.as_vector(part)
        if part.type != f"i{bits}":
            name = text.emit(f"bitcast {text.vector_type(part.type)} {name} to {narrow}")
        name = text.emit(f"zext {narrow} {name} to {wide}") if wide != narrow else name
        if component:
            amount = text.splat(word, str(component * bits))
            shifted = text.emit(f"shl {wide} {name}, {amount}")
            name = text.emit(f"or {wide} {whole}, {shifted}")
        whole = name
    return whole
