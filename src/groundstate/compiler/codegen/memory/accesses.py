"""The instructions that load and store.

Private memory may be interleaved (`analysis/interleaving.py`): then an element of all lanes is one
vector, and the next element lies `width` elements further on. A number that takes the bytes of
several elements is put together from them and taken apart again.
"""

from __future__ import annotations

from groundstate.compiler.analysis.rows import TURNED_ROWS
from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.function import components
from groundstate.compiler.codegen.memory.layout import add_offset, load, offsets, store
from groundstate.compiler.codegen.memory.local_ends import masked_local
from groundstate.compiler.codegen.memory.masked import blends_faster
from groundstate.compiler.codegen.memory.nontemporal import condition
from groundstate.compiler.codegen.memory.strided import load_quads, turns_quads
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.spirv.opcodes import MemoryAccess
from groundstate.compiler.spirv.types import Int, Type, Vector

FOR_READING = [("i32", "0"), ("i32", "3"), ("i32", "1")]
"""That a prefetch is for reading, and soon, and of data."""
WIDEST = 16
"""Bytes of one access, beyond which no alignment helps."""


def _access(emitter: Emitter, node: Node, type_: Type) -> tuple[int, bool]:
    """The alignment and volatility that an instruction's memory operands state."""
    literals = [each for each in node.literals if isinstance(each, int)]
    flags = literals[0] if literals else 0
    align = literals[1] if flags & MemoryAccess.Aligned and len(literals) > 1 else type_.align
    is_trusted = emitter.context.target.trusts_alignment
    most = WIDEST if is_trusted else _scalar_size(type_)
    return max(1, min(align, most)), bool(flags & MemoryAccess.Volatile)


def _scalar_size(type_: Type) -> int:
    """What an address is trusted to be aligned to: no more than a component's size.

    Instructions for unaligned vectors cost the same, and programs bring memory of their own."""
    if isinstance(type_, Vector):
        return type_.element.size
    parts = components(type_)
    return min((_scalar_size(part) for part in parts), default=1) if parts else type_.size


@handles("Load")
def _load(emitter: Emitter, node: Node) -> None:
    pointer = emitter.scalar(node.operands[0])
    element = emitter.divergence.interleaved.get(node.operands[0])
    if element is not None:
        emitter.define(node, _load_interleaved(emitter, pointer, node.type, element))
        return
    align, volatile = _access(emitter, node, node.type)
    emitter.decides = node in emitter.deciding and not volatile
    emitter.local_access = masked_local(emitter, node)
    emitter.define(node, load(emitter, pointer, node.type, align, volatile))
    emitter.decides, emitter.local_access = False, None


def load_turned(emitter: Emitter, node: Node) -> bool:
    """Loads what rows in lockstep read next to each other, four rows at a time; false if that is
    not possible here."""
    align, volatile = _access(emitter, node, node.type)
    scalar = scalar_type(node.type)
    if volatile or emitter.mask is not None or not turns_quads(emitter, scalar):
        return False
    loaded: list[Value] = []
    for row in emitter.each_row():
        if row % TURNED_ROWS == 0:
            quads = load_quads(emitter, emitter.scalar(node.operands[0]), scalar, align)
            assert isinstance(quads, list)
            loaded += quads
    for row in emitter.each_row():
        emitter.define(node, loaded[row])
    return True


@handles("Store")
def _store(emitter: Emitter, node: Node) -> None:
    pointer, value = node.operands
    element = emitter.divergence.interleaved.get(pointer)
    if element is not None:
        place = emitter.scalar(pointer)
        _store_interleaved(emitter, place, value.type, emitter.get(value), element)
        return
    align, volatile = _access(emitter, node, value.type)
    emitter.streams = "" if volatile else condition(emitter, node)
    emitter.local_access = masked_local(emitter, node)
    emitter.blends = emitter.local_access is not None and blends_faster(emitter) and not volatile
    store(emitter, emitter.scalar(pointer), value.type, emitter.get(value), align, volatile)
    emitter.streams, emitter.local_access, emitter.blends = "", None, False


@handles("Prefetch")
def _prefetch(emitter: Emitter, node: Node) -> None:
    """Fetches what lies where the lanes of the next group will read, if one follows here."""
    pointer, text = emitter.scalar(node.operands[0]), emitter.text
    assert pointer.stride is not None
    distance = str(node.literals[0])
    if len(node.operands) > 1:
        factor = emitter.widen_i64(node.operands[1], emitter.scalar(node.operands[1]).name)
        distance = text.emit(f"mul i64 {factor}, {distance}")
    there = text.emit(f"getelementptr i8, ptr {pointer.name}, i64 {distance}")
    place = text.emit(f"select i1 %follows, ptr {there}, ptr {pointer.name}")
    emitter.context.prefetches = True
    line_bytes = emitter.context.target.cache_line_bytes
    for offset in range(0, pointer.stride * emitter.width, line_bytes):
        line = text.emit(f"getelementptr i8, ptr {place}, i64 {offset}")
        text.call("void", "llvm.prefetch.p0", [("ptr", line), *FOR_READING])


# --- Interleaved memory ---------------------------------------------------------------------------


def _load_interleaved(emitter: Emitter, pointer: Lanes, type_: Type, element: int) -> Value:
    """The value of a type at the address of an element of so many bytes."""
    parts = components(type_)
    if parts is not None:
        return [
            _load_interleaved(emitter, _moved(emitter, pointer, offset), part, element)
            for part, offset in zip(parts, offsets(type_), strict=True)
        ]
    if type_.size == element:
        return _load_element(emitter, pointer, type_)
    return _joined(emitter, pointer, type_, element)


def _store_interleaved(
    emitter: Emitter, pointer: Lanes, type_: Type, value: Value, element: int
) -> None:
    """Writes a value of a type to the address of an element of so many bytes."""
    parts = components(type_)
    if parts is not None:
        assert isinstance(value, list)
        for part, offset, each in zip(parts, offsets(type_), value, strict=True):
            _store_interleaved(emitter, _moved(emitter, pointer, offset), part, each, element)
    elif type_.size == element:
        assert isinstance(value, Lanes)
        _store_element(emitter, pointer, type_, value)
    else:
        assert isinstance(value, Lanes)
        _split(emitter, pointer, type_, value, element)


def _load_element(emitter: Emitter, pointer: Lanes, type_: Type) -> Lanes:
    """An element of each lane: of an inactive one zero, or what lies there."""
    if _lies_there(emitter, pointer, type_):
        return _load_whole(emitter, pointer, type_)
    loaded = load(emitter, pointer, type_, type_.size)
    assert isinstance(loaded, Lanes)
    return loaded


def _store_element(emitter: Emitter, pointer: Lanes, type_: Type, value: Lanes) -> None:
    """Writes an element of each active lane, and to the others what they had."""
    emitter.blends = _lies_there(emitter, pointer, type_)
    store(emitter, pointer, type_, value, type_.size)
    emitter.blends = False


def _lies_there(emitter: Emitter, pointer: Lanes, type_: Type) -> bool:
    """True if only some lanes access an element, but all could: it is one vector, at an address
    that an active lane has."""
    is_inhabited = emitter.mask == emitter.inhabited
    return blends_faster(emitter) and is_inhabited and pointer.stride == type_.size


def _load_whole(emitter: Emitter, pointer: Lanes, type_: Type) -> Lanes:
    """An element of all lanes, inactive ones, too: they may not have written it yet."""
    mask, emitter.mask = emitter.mask, None
    loaded = load(emitter, pointer, type_, type_.size)
    emitter.mask = mask
    assert isinstance(loaded, Lanes)
    name = emitter.text.emit(f"freeze {emitter.text.vector_type(loaded.type)} {loaded.name}")
    return Lanes(loaded.type, name, None)


def _moved(emitter: Emitter, pointer: Lanes, offset: int) -> Lanes:
    """The address so many bytes of one lane's copy further on."""
    return add_offset(emitter, pointer, offset * emitter.width)


def _joined(emitter: Emitter, pointer: Lanes, type_: Type, element: int) -> Lanes:
    """A number made of the bytes of several elements, the lowest first."""
    text, part = emitter.text, Int(8 * element, False)
    whole = f"i{8 * type_.size}"
    wide, narrow = text.vector_type(whole), text.vector_type(f"i{8 * element}")
    joined = ""
    for offset in range(0, type_.size, element):
        loaded = _load_element(emitter, _moved(emitter, pointer, offset), part)
        bits = text.emit(f"zext {narrow} {text.as_vector(loaded)} to {wide}")
        if offset:
            shifted = text.emit(f"shl {wide} {bits}, {text.splat(whole, str(8 * offset))}")
            bits = text.emit(f"or {wide} {joined}, {shifted}")
        joined = bits
    scalar = scalar_type(type_)
    if scalar != whole:
        joined = text.emit(f"bitcast {wide} {joined} to {text.vector_type(scalar)}")
    return Lanes(scalar, joined, None)


def _split(emitter: Emitter, pointer: Lanes, type_: Type, value: Lanes, element: int) -> None:
    """Writes the bytes of a number to several elements, the lowest first."""
    text, part = emitter.text, Int(8 * element, False)
    whole, scalar = f"i{8 * type_.size}", scalar_type(type_)
    wide, narrow = text.vector_type(whole), text.vector_type(f"i{8 * element}")
    bits = text.as_vector(value)
    if scalar != whole:
        bits = text.emit(f"bitcast {text.vector_type(scalar)} {bits} to {wide}")
    for offset in range(0, type_.size, element):
        rest = bits
        if offset:
            rest = text.emit(f"lshr {wide} {bits}, {text.splat(whole, str(8 * offset))}")
        name = text.emit(f"trunc {wide} {rest} to {narrow}")
        place = _moved(emitter, pointer, offset)
        _store_element(emitter, place, part, Lanes(f"i{8 * element}", name, None))
