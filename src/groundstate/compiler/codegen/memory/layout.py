"""Memory: how values are loaded and stored at addresses of all shapes, and steps of addresses.

An address that is the same in all lanes is a scalar access; addresses one element apart are one
vector access; at other fixed steps there is one for each lane; the rest are gathers and scatters.
Composite values are read and written part by part, except that OpenCL vectors next to each other
are read as one wide vector and taken apart by shuffles, and so are vectors of four at fixed steps.
"""

from __future__ import annotations

from groundstate.compiler.codegen.control.speculation import either_way, moved
from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.function import components
from groundstate.compiler.codegen.memory.copies import clear
from groundstate.compiler.codegen.memory.exchanges import exchanged, exchanging
from groundstate.compiler.codegen.memory.gathers import NOWHERE_BYTES, gather, readable, scatter
from groundstate.compiler.codegen.memory.local_ends import is_looked_at, store_before_guard
from groundstate.compiler.codegen.memory.local_steps import (
    all_may_access,
    load_local,
    store_local,
)
from groundstate.compiler.codegen.memory.masked import load_masked, store_blended
from groundstate.compiler.codegen.memory.nontemporal import store_masked_vector, store_vector
from groundstate.compiler.codegen.memory.strided import (
    load_at_steps,
    load_quads,
    store_at_steps,
    store_pairs,
    store_quads,
    turns_quads,
)
from groundstate.compiler.codegen.memory.words import (
    gather_words,
    gathers_words,
    is_word,
    load_words,
    load_words_at_steps,
    scatter_words,
    store_words,
)
from groundstate.compiler.codegen.text import float_literal
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.addresses import array_step
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.light_dataclass import replace
from groundstate.compiler.spirv.types import (
    Array,
    Bool,
    Int,
    Pointer,
    Struct,
    Type,
    Vector,
    is_scalar,
    member_count,
)

Row = Vector | Array
WORD_BYTES = 4
MOST_IN_ROW = 8
"""Of an array of all lanes that is read and written at once."""
ZEROS = frozenset(["0", "null", float_literal(0.0, "float"), float_literal(0.0, "half")])
"""Constants all of whose bits in memory are zero."""


def memory_type(type_: Type) -> str:
    """How a scalar lies in memory: truth values and odd integers take whole bytes."""
    return f"i{8 * type_.size}" if isinstance(type_, Bool | Int) else scalar_type(type_)


def is_row(type_: Type) -> bool:
    """True for a vector, and for an array of a few numbers."""
    if isinstance(type_, Array) and not 0 < type_.length <= MOST_IN_ROW:
        return False
    return isinstance(type_, Row) and is_scalar(type_.element) and lies_packed(type_.element)


def lies_packed(type_: Type) -> bool:
    """True if all bits that a scalar takes in memory are its own."""
    return memory_type(type_) == scalar_type(type_)


def offsets(type_: Type) -> list[int]:
    """Where the parts of a composite lie."""
    if isinstance(type_, Struct):
        return list(type_.offsets)
    if isinstance(type_, Vector):
        return [index * type_.element.size for index in range(type_.count)]
    assert isinstance(type_, Array)
    return [index * type_.stride for index in range(type_.length)]


def add_offset(emitter: Emitter, pointer: Lanes, offset: int) -> Lanes:
    """The address some bytes further on."""
    if offset == 0:
        return pointer
    text = emitter.text
    if pointer.is_vector:
        wide = text.vector_type("ptr")
        name = text.emit(f"getelementptr i8, {wide} {pointer.name}, i64 {offset}")
        if pointer.speculation is not None:
            first = text.emit(f"getelementptr i8, ptr {pointer.speculation.first}, i64 {offset}")
            return Lanes("ptr", name, None, replace(pointer.speculation, first=first))
    else:
        name = text.emit(f"getelementptr i8, ptr {pointer.name}, i64 {offset}")
    return Lanes("ptr", name, pointer.stride)


# --- Loads --------------------------------------------------------------------------------------


def load(
    emitter: Emitter, pointer: Lanes, type_: Type, align: int, volatile: bool = False
) -> Value:
    """The value of a type at an address."""
    parts = components(type_)
    if parts is None:
        return _load_scalar(emitter, pointer, type_, align, volatile)
    packed = is_row(type_)
    if packed and emitter.context.target.trusts_alignment and isinstance(type_, Vector):
        return _load_whole(emitter, pointer, type_, align, volatile)
    if packed and (_are_guessed_neighbours(pointer, type_) or _are_guessed_windows(pointer, type_)):
        assert isinstance(type_, Row)
        return _load_guessed_neighbours(emitter, pointer, type_, align)
    if packed and isinstance(type_, Row) and pointer.stride == type_.element.size:
        return _load_parts(emitter, pointer, type_, align)
    if packed and pointer.stride and emitter.mask is None:
        assert isinstance(type_, Row)
        if _is_quads(emitter, type_):
            return _load_quads(emitter, pointer, type_, align)
    if packed and pointer.stride == type_.size and emitter.width > 1:
        assert isinstance(type_, Row)
        return _load_neighbours(emitter, pointer, type_, align)
    if packed and pointer.stride and not volatile and emitter.width > 1:
        assert isinstance(type_, Row)
        if is_word(type_):
            return load_words_at_steps(emitter, pointer, type_, align)
    if packed and pointer.is_vector and not volatile and emitter.width > 1:
        assert isinstance(type_, Row)
        if _is_quads(emitter, type_):
            return _load_quads(emitter, readable(emitter, pointer), type_, align)
        if gathers_words(type_):
            return gather_words(emitter, pointer, type_, align)
    return _load_parts(emitter, pointer, type_, align)


def _load_parts(emitter: Emitter, pointer: Lanes, type_: Type, align: int) -> Value:
    """The parts of a value, one after the other."""
    return [
        load(emitter, add_offset(emitter, pointer, offset), part, _align_at(align, offset, part))
        for part, offset in zip(components(type_) or (), offsets(type_), strict=True)
    ]


def _is_quads(emitter: Emitter, type_: Row) -> bool:
    """True for four numbers, or several times as many, that are turned in registers. Inactive lanes
    have to find as many nowhere."""
    if type_.size > NOWHERE_BYTES:
        return False
    return member_count(type_) % 4 == 0 and turns_quads(emitter, scalar_type(type_.element))


def _load_quads(emitter: Emitter, pointer: Lanes, type_: Row, align: int) -> list[Value]:
    """Numbers that are read four at a time."""
    scalar, parts = scalar_type(type_.element), []
    for offset in range(0, type_.size, 4 * type_.element.size):
        place = add_offset(emitter, pointer, offset)
        parts += load_quads(emitter, place, scalar, align)
    return parts


def _are_guessed_neighbours(pointer: Lanes, type_: Type) -> bool:
    """True if what lanes have there most likely lies in their order, one behind the other."""
    speculation = pointer.speculation
    return speculation is not None and speculation.stride == type_.size and not speculation.swap


def _are_guessed_windows(pointer: Lanes, type_: Type) -> bool:
    """True if what a lane has there may begin one number behind where that of the lane before it
    begins: the stride was given by the program, and neighbours were taken for parts of a row."""
    speculation = pointer.speculation
    assert isinstance(type_, Row)
    return speculation is not None and speculation.stride == type_.element.size


def _align_at(align: int, offset: int, part: Type) -> int:
    """How far an address is aligned that lies `offset` behind one aligned to `align`."""
    lowest = offset & -offset if offset else align
    return max(1, min(align, lowest, max(part.align, 1)))


def _load_whole(
    emitter: Emitter, pointer: Lanes, type_: Vector, align: int, volatile: bool
) -> list[Value]:
    """The OpenCL vector of one work-item, read at once."""
    text, scalar = emitter.text, scalar_type(type_.element)
    wide, keyword = f"<{type_.count} x {scalar}>", "load volatile" if volatile else "load"
    whole = text.emit(f"{keyword} {wide}, ptr {pointer.name}, align {align}")
    return [
        Lanes(scalar, text.emit(f"extractelement {wide} {whole}, i64 {index}"))
        for index in range(type_.count)
    ]


def _load_scalar(
    emitter: Emitter, pointer: Lanes, type_: Type, align: int, volatile: bool
) -> Lanes:
    text = emitter.text
    scalar, stored = scalar_type(type_), memory_type(type_)
    if _profits_from_speculation(emitter, pointer, type_.size, volatile):

        def read(where: Lanes) -> list[str]:
            with exchanging(emitter, pointer, where) as swap:
                name = text.as_vector(_load_scalar(emitter, where, type_, align, volatile))
            return [exchanged(text, scalar, name, swap) if swap else name]

        [name] = either_way(text, pointer, read, text.vector_type(scalar))
        return Lanes(scalar, name, None)
    keyword = "load volatile" if volatile else "load"
    if pointer.stride == 0:
        name = text.emit(f"{keyword} {stored}, ptr {pointer.name}, align {align}")
        return Lanes(scalar, _from_memory(emitter, name, type_, False))
    wide = text.vector_type(stored)
    if pointer.stride == type_.size:
        if emitter.mask is None:
            name = text.emit(f"{keyword} {wide}, ptr {pointer.name}, align {align}")
        else:
            name = load_masked(emitter, wide, pointer.name, align, emitter.mask)
    elif pointer.stride is not None and emitter.mask is None and not volatile:
        name = load_at_steps(emitter, pointer, stored, align)
    elif not volatile and all_may_access(emitter, pointer, stored):
        name = load_local(emitter, pointer, stored, align)
    else:
        name = gather(emitter, stored, text.as_vector(pointer), align)
    return Lanes(scalar, _from_memory(emitter, name, type_, True), None)


def _profits_from_speculation(emitter: Emitter, pointer: Lanes, size: int, volatile: bool) -> bool:
    """True if numbers of some bytes are read or written faster where a speculation on their
    addresses holds."""
    if pointer.speculation is None:
        return False
    return pointer.speculation.stride == size or (emitter.mask is None and not volatile)


def _from_memory(emitter: Emitter, name: str, type_: Type, vector: bool) -> str:
    if lies_packed(type_):
        return name
    stored, scalar = memory_type(type_), scalar_type(type_)
    if vector:
        stored, scalar = emitter.text.vector_type(stored), emitter.text.vector_type(scalar)
    return emitter.text.emit(f"trunc {stored} {name} to {scalar}")


def _load_neighbours(emitter: Emitter, pointer: Lanes, type_: Row, align: int) -> Value:
    """The OpenCL vectors of all lanes, which lie next to each other, as components."""
    text = emitter.text
    if is_word(type_):
        return load_words(emitter, pointer, type_, align)
    scalar, step = scalar_type(type_.element), type_.size // type_.element.size
    total = step * emitter.width
    wide = f"<{total} x {scalar}>"
    if emitter.mask is None:
        whole = text.emit(f"load {wide}, ptr {pointer.name}, align {align}")
    else:
        mask = _repeat_mask(emitter, emitter.mask, step)
        whole = load_masked(emitter, wide, pointer.name, align, mask)
    parts: list[Value] = []
    for component in range(member_count(type_)):
        picks = ", ".join(f"i32 {component + step * lane}" for lane in range(emitter.width))
        name = text.emit(
            f"shufflevector {wide} {whole}, {wide} poison, <{emitter.width} x i32> <{picks}>"
        )
        parts.append(Lanes(scalar, name, None))
    return parts


def _load_guessed_neighbours(emitter: Emitter, pointer: Lanes, type_: Row, align: int) -> Value:
    """The OpenCL vectors of all lanes, which most likely lie next to each other, or overlap."""
    text, scalar = emitter.text, scalar_type(type_.element)

    def write(where: Lanes) -> list[str]:
        parts = load(emitter, where, type_, align)
        assert isinstance(parts, list)
        return [text.as_vector(part) for part in parts if isinstance(part, Lanes)]

    names = either_way(text, pointer, write, text.vector_type(scalar))
    return [Lanes(scalar, name, None) for name in names]


def _repeat_mask(emitter: Emitter, mask: str, step: int) -> str:
    """Each lane's bit, once for each component."""
    bits = emitter.text.vector_type("i1")
    picks = ", ".join(f"i32 {lane}" for lane in range(emitter.width) for _ in range(step))
    count = step * emitter.width
    return emitter.text.emit(
        f"shufflevector {bits} {mask}, {bits} poison, <{count} x i32> <{picks}>"
    )


# --- Stores -------------------------------------------------------------------------------------


def store(
    emitter: Emitter, pointer: Lanes, type_: Type, value: Value, align: int, volatile: bool = False
) -> None:
    """Writes a value of a type to an address."""
    parts = components(type_)
    if parts is None:
        assert isinstance(value, Lanes)
        _store_scalar(emitter, pointer, type_, value, align, volatile)
        return
    assert isinstance(value, list)
    if is_row(type_) and emitter.context.target.trusts_alignment and isinstance(type_, Vector):
        _store_whole(emitter, pointer, type_, value, align, volatile)
        return
    plain = not volatile and not isinstance(type_, Vector)
    if plain and _is_zero(value) and _packed_size(type_) == type_.size:
        _store_zeros(emitter, pointer, type_.size, align)
        return
    whole = is_row(type_) and _packed_size(type_) == type_.size
    if whole and pointer.stride == type_.size and emitter.width > 1 and not volatile:
        assert isinstance(type_, Row)
        _store_neighbours(emitter, pointer, type_, value, align)
        return
    if whole and pointer.stride and not volatile and emitter.mask is None and emitter.width > 1:
        assert isinstance(type_, Row)
        if len(parts) in (2, 4) and _store_words(emitter, pointer, type_, value, align):
            return
    if whole and pointer.is_vector and not volatile and emitter.width > 1:
        assert isinstance(type_, Row)
        if _are_guessed_neighbours(pointer, type_):
            _store_guessed_neighbours(emitter, pointer, type_, value, align)
            return
        if gathers_words(type_):
            scatter_words(emitter, pointer, type_, value, align)
            return
    for part, offset, each in zip(parts, offsets(type_), value, strict=True):
        place = add_offset(emitter, pointer, offset)
        store(emitter, place, part, each, _align_at(align, offset, part), volatile)


def _store_whole(
    emitter: Emitter,
    pointer: Lanes,
    type_: Vector,
    value: list[Value],
    align: int,
    volatile: bool,
) -> None:
    """Writes the OpenCL vector of one work-item at once."""
    text, scalar = emitter.text, scalar_type(type_.element)
    wide, whole = f"<{type_.count} x {scalar}>", "poison"
    for index, part in enumerate(value):
        assert isinstance(part, Lanes)
        whole = text.emit(f"insertelement {wide} {whole}, {scalar} {part.name}, i64 {index}")
    keyword = "store volatile" if volatile else "store"
    text.do(f"{keyword} {wide} {whole}, ptr {pointer.name}, align {align}")


def _store_guessed_neighbours(
    emitter: Emitter, pointer: Lanes, type_: Row, value: list[Value], align: int
) -> None:
    """Writes the vectors of all lanes, most likely next to each other."""

    def write(where: Lanes) -> list[str]:
        store(emitter, where, type_, value, align)
        return []

    either_way(emitter.text, pointer, write)


def _is_zero(value: Value) -> bool:
    """True if all bits of a value are known to be zero."""
    if isinstance(value, list):
        return all(map(_is_zero, value))
    return value.stride == 0 and value.name in ZEROS


def _packed_size(type_: Type) -> int:
    """The bytes of a value's parts, without what may lie between them."""
    parts = components(type_)
    return type_.size if parts is None else sum(map(_packed_size, parts))


def _store_zeros(emitter: Emitter, pointer: Lanes, size: int, align: int) -> None:
    """Clears bytes, in one go or in words."""
    if clear(emitter, pointer, size, align):
        return
    offset = 0
    while offset < size:
        word = Int(next(8 * each for each in (8, 4, 2, 1) if offset + each <= size))
        place = add_offset(emitter, pointer, offset)
        _store_scalar(emitter, place, word, Lanes(scalar_type(word), "0"), align, False)
        offset += word.size


def _store_scalar(
    emitter: Emitter, pointer: Lanes, type_: Type, value: Lanes, align: int, volatile: bool
) -> None:
    text = emitter.text
    if _profits_from_speculation(emitter, pointer, type_.size, volatile):
        name = text.as_vector(value)

        def write(where: Lanes) -> list[str]:
            with exchanging(emitter, pointer, where) as swap:
                moved_name = exchanged(text, value.type, name, swap) if swap else name
                all_ = Lanes(value.type, moved_name, None)
                _store_scalar(emitter, where, type_, all_, align, volatile)
            return []

        either_way(text, pointer, write)
        return
    stored = memory_type(type_)
    keyword = "store volatile" if volatile else "store"
    if pointer.stride == 0 and value.stride == 0:
        name = value.name
        if not lies_packed(type_):
            name = text.emit(f"zext {value.type} {name} to {stored}")
        text.do(f"{keyword} {stored} {name}, ptr {pointer.name}, align {align}")
        return
    wide, name = text.vector_type(stored), text.as_vector(value)
    if not lies_packed(type_):
        name = text.emit(f"zext {text.vector_type(value.type)} {name} to {wide}")
    if pointer.stride == type_.size:
        size = type_.size * emitter.width
        if emitter.mask is None:
            if volatile:
                text.do(f"{keyword} {wide} {name}, ptr {pointer.name}, align {align}")
            else:
                store_vector(emitter, wide, size, name, pointer.name, align)
        elif is_looked_at(emitter):
            store_before_guard(emitter, wide, name, pointer.name, align, emitter.mask)
        elif emitter.blends:
            store_blended(emitter, wide, name, pointer.name, align, emitter.mask)
        else:
            store_masked_vector(emitter, wide, size, name, pointer.name, align, emitter.mask)
        return
    if pointer.stride == 0 and not volatile and emitter.mask in (None, emitter.inhabited):
        last = text.emit(f"extractelement {wide} {name}, {_last_lane(emitter)}")
        text.do(f"store {stored} {last}, ptr {pointer.name}, align {align}")
    elif pointer.stride and emitter.mask is None and not volatile:
        store_at_steps(emitter, pointer, stored, name, align)
    elif not volatile and all_may_access(emitter, pointer, stored):
        store_local(emitter, pointer, stored, name, align)
    else:
        scatter(emitter, stored, name, text.as_vector(pointer), align)


def _store_words(
    emitter: Emitter, pointer: Lanes, type_: Row, value: list[Value], align: int
) -> bool:
    """Writes two or four words of each lane at once; false if they are no words."""
    scalar = scalar_type(type_.element)
    if type_.element.size != WORD_BYTES or not turns_quads(emitter, scalar):
        return False
    write = store_quads if len(value) == 4 else store_pairs
    names = [emitter.text.as_vector(each) for each in value if isinstance(each, Lanes)]
    write(emitter, pointer, scalar, names, align)
    return True


def _last_lane(emitter: Emitter) -> str:
    """The last active lane, as an index: what it stores is what stays, if all store to one place.
    The mask has one for certain."""
    text, highest = emitter.text, emitter.width - 1
    if emitter.mask is None:
        return f"i64 {highest}"
    bits = f"i{emitter.width}"
    mask = text.emit(f"bitcast {text.vector_type('i1')} {emitter.mask} to {bits}")
    above = text.call(bits, f"llvm.ctlz.{bits}", [(bits, mask), ("i1", "true")])
    return f"{bits} {text.emit(f'sub {bits} {highest}, {above}')}"


def _store_neighbours(
    emitter: Emitter, pointer: Lanes, type_: Row, value: list[Value], align: int
) -> None:
    """Puts the components of all lanes in turn and writes them as one wide vector."""
    text = emitter.text
    if is_word(type_):
        store_words(emitter, pointer, type_, value, align)
        return
    scalar, step = scalar_type(type_.element), member_count(type_)
    width, total = emitter.width, step * emitter.width
    names = []
    for part in value:
        assert isinstance(part, Lanes)
        names.append(text.as_vector(part))
    whole, have = names[0], width
    for each in names[1:]:
        whole, have = _append(emitter, scalar, whole, have, each), have + width
    picks = ", ".join(f"i32 {part * width + lane}" for lane in range(width) for part in range(step))
    wide = f"<{total} x {scalar}>"
    turned = text.emit(f"shufflevector {wide} {whole}, {wide} poison, <{total} x i32> <{picks}>")
    if emitter.mask is None:
        store_vector(emitter, wide, type_.size * width, turned, pointer.name, align)
    else:
        mask = _repeat_mask(emitter, emitter.mask, step)
        size = type_.size * width
        store_masked_vector(emitter, wide, size, turned, pointer.name, align, mask)


def _append(emitter: Emitter, scalar: str, whole: str, have: int, each: str) -> str:
    """One vector behind another."""
    width, total = emitter.width, have + emitter.width
    grow = ", ".join(f"i32 {index}" if index < width else "i32 poison" for index in range(have))
    same = emitter.text.emit(
        f"shufflevector <{width} x {scalar}> {each}, <{width} x {scalar}> poison, "
        f"<{have} x i32> <{grow}>"
    )
    picks = ", ".join(f"i32 {index}" for index in range(total))
    return emitter.text.emit(
        f"shufflevector <{have} x {scalar}> {whole}, <{have} x {scalar}> {same}, "
        f"<{total} x i32> <{picks}>"
    )


# --- Instructions -------------------------------------------------------------------------------


@handles("AccessChain", "InBoundsAccessChain", "PtrAccessChain", "InBoundsPtrAccessChain")
def _chain(emitter: Emitter, node: Node) -> None:
    """Adds up what does not vary, then what does, so that only the rest is a vector."""
    text = emitter.text
    pointer = emitter.scalar(node.operands[0])
    fixed = 0
    for index, (size, offset) in zip(
        node.operands[1:], emitter.divergence.steps(node), strict=True
    ):
        number = constant_int(index)
        if size is None:
            fixed += offset
        elif number is not None:
            fixed += number * size
        else:
            pointer = _step(emitter, pointer, emitter.scalar(index), size)
    pointer = add_offset(emitter, pointer, fixed)
    wanted = emitter.divergence.stride(node) if emitter.width > 1 else 0
    if wanted is None and not pointer.is_vector:
        pointer = Lanes("ptr", text.as_vector(pointer), None)
    emitter.define(node, pointer)


def _step(emitter: Emitter, pointer: Lanes, index: Lanes, size: int) -> Lanes:
    """The address `index` elements of `size` bytes further on."""
    text = emitter.text
    index = _as_i64(emitter, index)
    if not pointer.is_vector and not index.is_vector:
        assert pointer.stride is not None
        assert index.stride is not None
        name = text.emit(f"getelementptr [{size} x i8], ptr {pointer.name}, i64 {index.name}")
        return Lanes("ptr", name, pointer.stride + index.stride * size)
    base = f"{text.vector_type('ptr')} {pointer.name}" if pointer.is_vector else ""
    if not pointer.is_vector:
        base = f"ptr {pointer.name}"
        if pointer.stride != 0:
            base = f"{text.vector_type('ptr')} {text.as_vector(pointer)}"
    steps = f"{text.vector_type('i64')} {text.as_vector(index)}"
    name = text.emit(f"getelementptr [{size} x i8], {base}, {steps}")
    return Lanes("ptr", name, None, moved(text, pointer, index, size))


def _as_i64(emitter: Emitter, index: Lanes) -> Lanes:
    if index.type == "i64":
        return index
    text = emitter.text
    vector = index.is_vector
    source = text.vector_type(index.type) if vector else index.type
    target = text.vector_type("i64") if vector else "i64"
    return Lanes("i64", text.emit(f"sext {source} {index.name} to {target}"), index.stride)


def array_step_of(pointer: Pointer) -> int:
    """The bytes from one element to the next behind a pointer."""
    assert pointer.pointee is not None
    return array_step(pointer.pointee)
