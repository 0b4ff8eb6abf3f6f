"""Vectors of bytes and of 16-bit numbers that are a machine word together, such as pixels.

Where those of all lanes lie next to each other, they are one vector of words, one for each lane:
components are shifted out of it and into it, and no lane needs another one's.
"""

from __future__ import annotations

from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.memory.masked import load_masked, store_masked
from groundstate.compiler.codegen.memory.nontemporal import store_vector
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.spirv.types import Array, Vector, member_count

WORD_BYTES = (4, 8)


def is_word(type_: Vector | Array) -> bool:
    """True if the vector of one lane is shifted apart and together as one word."""
    return type_.size in WORD_BYTES and type_.element.size < WORD_BYTES[0]


def load_words(emitter: Emitter, pointer: Lanes, type_: Vector | Array, align: int) -> Value:
    """The components of vectors that lie next to each other."""
    text, word, bits = emitter.text, f"i{8 * type_.size}", 8 * type_.element.size
    wide, narrow = text.vector_type(word), text.vector_type(f"i{bits}")
    if emitter.mask is None:
        whole = text.emit(f"load {wide}, ptr {pointer.name}, align {align}")
    else:
        whole = load_masked(emitter, wide, pointer.name, align, emitter.mask)
    scalar = scalar_type(type_.element)
    parts: list[Value] = []
    for component in range(member_count(type_)):
        shifted = whole
        if component:
            amount = text.splat(word, str(component * bits))
            shifted = text.emit(f"lshr {wide} {whole}, {amount}")
        name = text.emit(f"trunc {wide} {shifted} to {narrow}")
        if scalar != f"i{bits}":
            name = text.emit(f"bitcast {narrow} {name} to {text.vector_type(scalar)}")
        parts.append(Lanes(scalar, name, None))
    return parts


def store_words(
    emitter: Emitter, pointer: Lanes, type_: Vector | Array, value: list[Value], align: int
) -> None:
    """Writes vectors next to each other."""
    text, word, bits = emitter.text, f"i{8 * type_.size}", 8 * type_.element.size
    wide, narrow = text.vector_type(word), text.vector_type(f"i{bits}")
    whole = ""
    for component, part in enumerate(value):
        assert isinstance(part, Lanes)
        name = text.as_vector(part)
        if part.type != f"i{bits}":
            name = text.emit(f"bitcast {text.vector_type(part.type)} {name} to {narrow}")
        name = text.emit(f"zext {narrow} {name} to {wide}")
        if component:
            amount = text.splat(word, str(component * bits))
            shifted = text.emit(f"shl {wide} {name}, {amount}")
            name = text.emit(f"or {wide} {whole}, {shifted}")
        whole = name
    if emitter.mask is None:
        size = type_.size * emitter.width
        store_vector(emitter, wide, size, whole, pointer.name, align)
    else:
        store_masked(emitter, wide, whole, pointer.name, align, emitter.mask)
