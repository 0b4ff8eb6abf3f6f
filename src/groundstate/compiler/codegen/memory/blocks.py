"""Accesses of a whole sub-group to one block of memory, and accesses under a condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from groundstate.compiler.codegen.arithmetic.composites import choose
from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.function import components
from groundstate.compiler.codegen.groups.operations import pick_first
from groundstate.compiler.codegen.memory.layout import add_offset, load, store
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.spirv.opcodes import MemoryAccess
from groundstate.compiler.spirv.types import Type

# --- Blocks of a sub-group ------------------------------------------------------------------------


def rows(emitter: Emitter, pointer: Node, type_: Type) -> Iterator[tuple[Type, Lanes]]:
    """The type and the addresses of each component: a row with one element for each lane."""
    base = emitter.scalar(pointer)
    if emitter.width > 1 and base.stride != 0:
        base = pick_first(emitter, base)
    for index, element in enumerate(components(type_) or [type_]):
        row = add_offset(emitter, base, index * emitter.width * element.size)
        yield element, Lanes("ptr", row.name, element.size if emitter.width > 1 else 0)


@handles("SubgroupBlockReadINTEL")
def _read_block(emitter: Emitter, node: Node) -> None:
    parts = [
        load(emitter, row, element, element.size)
        for element, row in rows(emitter, node.operands[0], node.type)
    ]
    emitter.define(node, parts if components(node.type) is not None else parts[0])


@handles("SubgroupBlockWriteINTEL")
def _write_block(emitter: Emitter, node: Node) -> None:
    pointer, data = node.operands
    value = emitter.get(data)
    parts = value if isinstance(value, list) else [value]
    for (element, row), part in zip(rows(emitter, pointer, data.type), parts, strict=True):
        store(emitter, row, element, part, element.size)


# --- Under a condition ----------------------------------------------------------------------------


@contextmanager
def only(emitter: Emitter, condition: Lanes) -> Iterator[None]:
    """Writes what happens only in the lanes for which a condition holds."""
    text, before = emitter.text, emitter.mask
    if emitter.width > 1:
        bits = text.as_vector(condition)
        if before is not None:
            bits = text.emit(f"and {text.vector_type('i1')} {before}, {bits}")
        emitter.mask = bits
        yield
        emitter.mask = before
        return
    inside, after = text.label("then"), text.label("after")
    text.do(f"br i1 {condition.name}, label %{inside}, label %{after}")
    text.start(inside)
    yield
    text.do(f"br label %{after}")
    text.start(after)


def _load_if(
    emitter: Emitter, condition: Lanes, pointer: Lanes, type_: Type, default: Value, align: int
) -> Value:
    """What is at an address, or a default where that must not be read."""
    if emitter.width > 1:
        apart = Lanes("ptr", emitter.text.as_vector(pointer), None)
        with only(emitter, condition):
            loaded = load(emitter, apart, type_, align)
        return choose(emitter, condition, loaded, default)
    room = _room(emitter, type_)
    emitter.store(room, default)
    with only(emitter, condition):
        emitter.store(room, load(emitter, pointer, type_, align))
    return emitter.load(room)


def _room(emitter: Emitter, type_: Type) -> Value:
    """Slots for the only lane's value."""
    parts = components(type_)
    if parts is not None:
        return [_room(emitter, part) for part in parts]
    scalar = scalar_type(type_)
    return Lanes(scalar, emitter.new_slot(scalar, "d"))


def _store_if(
    emitter: Emitter, condition: Lanes, pointer: Lanes, type_: Type, value: Value, align: int
) -> None:
    if emitter.width > 1:
        pointer = Lanes("ptr", emitter.text.as_vector(pointer), None)
    with only(emitter, condition):
        store(emitter, pointer, type_, value, align)


def _alignment(node: Node, type_: Type) -> int:
    literals = [each for each in node.literals if isinstance(each, int)]
    stated = (
        literals[1] if len(literals) > 1 and literals[0] & MemoryAccess.Aligned else type_.align
    )
    return max(1, min(stated, _scalar_size(type_)))


def _scalar_size(type_: Type) -> int:
    parts = components(type_)
    return min((_scalar_size(part) for part in parts), default=1) if parts else type_.size


@handles("PredicatedLoadINTEL")
def _predicated_load(emitter: Emitter, node: Node) -> None:
    pointer, condition = (emitter.scalar(each) for each in node.operands[:2])
    default = emitter.get(node.operands[2])
    align = _alignment(node, node.type)
    emitter.define(node, _load_if(emitter, condition, pointer, node.type, default, align))


@handles("PredicatedStoreINTEL")
def _predicated_store(emitter: Emitter, node: Node) -> None:
    target, value, condition = node.operands
    align = _alignment(node, value.type)
    pointer, when = emitter.scalar(target), emitter.scalar(condition)
    _store_if(emitter, when, pointer, value.type, emitter.get(value), align)


def _each_part(
    emitter: Emitter, nodes: list[Node], write: Callable[[list[Lanes]], Value]
) -> list[Value]:
    """Does something with each component of vectors."""
    values = [emitter.get(node) for node in nodes]
    rows = zip(*(each for each in values if isinstance(each, list)), strict=True)
    return [write([part for part in row if isinstance(part, Lanes)]) for row in rows]


@handles("MaskedGatherINTEL")
def _masked_gather(emitter: Emitter, node: Node) -> None:
    """A vector from an address for each component, where a mask has it."""
    parts = components(node.type)
    assert parts is not None
    align = int(str(node.literals[0])) or parts[0].align

    def one(row: list[Lanes]) -> Value:
        pointer, condition, default = row
        return _load_if(emitter, condition, pointer, parts[0], default, align)

    emitter.define(node, _each_part(emitter, node.operands, one))


@handles("MaskedScatterINTEL")
def _masked_scatter(emitter: Emitter, node: Node) -> None:
    data, pointers, mask = node.operands
    parts = components(data.type)
    assert parts is not None
    align = int(str(node.literals[0])) or parts[0].align

    def one(row: list[Lanes]) -> Value:
        value, pointer, condition = row
        _store_if(emitter, condition, pointer, parts[0], value, align)
        return value

    _each_part(emitter, [data, pointers, mask], one)
