"""Atomic operations whose results nobody wants, put together before they go to memory.

Handing a cache line from one core to another takes longer than all the rest of a histogram. So each
worker keeps a table of what is still to be added (or to be combined in whatever way), and brings it
to memory when it has run its groups, or when the place in the table is needed for another address
(`tally_table.py`). That is as if the work-items had come to their last instructions a
little later, so it is done where a work-item does nothing behind them that others could compare
with them: no access to memory that others see, no barrier. Lanes that all mean one address are put
together in any case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.memory.ordering import ordering
from groundstate.compiler.codegen.memory.own_atomics import is_own, update
from groundstate.compiler.codegen.memory.tally_table import (
    TallyTable,
    identity,
    read_modify_write,
)
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.ops import Effect, operation
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Int, Pointer
from groundstate.compiler.target import Target

COMBINATIONS = {
    "AtomicIAdd": "add",
    "AtomicISub": "sub",
    "AtomicIIncrement": "add",
    "AtomicIDecrement": "sub",
    "AtomicSMin": "smin",
    "AtomicUMin": "umin",
    "AtomicSMax": "smax",
    "AtomicUMax": "umax",
    "AtomicAnd": "and",
    "AtomicOr": "or",
    "AtomicXor": "xor",
}
"""Exact in any order. Sums of floating-point numbers are not."""

CROSS_WORKGROUP = 5
SEEN_BY_ONE = frozenset((StorageClass.UniformConstant, StorageClass.Function))
"""Memory that does not change, and memory of one work-item."""


def unwanted_results(kernel: Kernel) -> set[Node]:
    """The atomic operations on integers whose results nothing uses."""
    used = {operand for node in kernel.nodes() for operand in node.operands}
    used |= {block.condition for block in kernel.blocks if block.condition is not None}
    return {
        node
        for node in kernel.nodes()
        if node.op in COMBINATIONS and isinstance(node.type, Int) and node not in used
    }


def privatised_atomics(kernel: Kernel, cfg: CFG, unwanted: set[Node]) -> set[Node]:
    """Those of them that may wait in a table: all or, if anything speaks against it, none."""
    found = {
        node
        for node in unwanted
        if isinstance(pointer := node.operands[0].type, Pointer)
        and pointer.storage == CROSS_WORKGROUP
        and node.type.size in (4, 8)
    }
    if not found or len({(_combination(node), node.type) for node in found}) > 1:
        return set()
    ordered = [node for node in found if ordering(node, 2) != "monotonic"]
    if ordered and (len(found) > 1 or ordered[0].block in cfg.loop_of):
        return set()
    later = set(_behind(found))
    return set() if any(map(_shows, later - found)) else found


def _combination(node: Node) -> str:
    kind = COMBINATIONS[node.op]
    return "add" if kind == "sub" else kind


def _behind(nodes: Iterable[Node]) -> Iterator[Node]:
    """What may run after one of some nodes, as part of the same work-item."""
    reached: set[Block] = set()
    for node in nodes:
        assert node.block is not None
        yield from node.block.nodes[node.block.nodes.index(node) + 1 :]
        waiting = list(node.block.successors)
        while waiting:
            block = waiting.pop()
            if block not in reached:
                reached.add(block)
                waiting += block.successors
    for block in reached:
        yield from block.nodes


def _shows(node: Node) -> bool:
    """Whether somebody could tell by it that an earlier atomic operation has not happened yet."""
    if node.op in ("Load", "Store"):
        place = node.operands[0].type
        return not (isinstance(place, Pointer) and place.storage in SEEN_BY_ONE)
    return bool(operation(node).effect & ~Effect.OBSERVABLE)


# --- Writing --------------------------------------------------------------------------------------


def combine_lanes(emitter: Emitter, node: Node, pointer: Lanes, value: Lanes, order: str) -> bool:
    """Writes an atomic operation without a result, for all active lanes, if there is a better way
    than one after the other."""
    context, text = emitter.context, emitter.text
    if node not in context.unwanted:
        return False
    if emitter.width > 1 and pointer.stride == 0:
        _combine_at_one_address(emitter, node, pointer, value, order)
        return True
    if node not in context.privatised:
        return False
    table = tally_table(node, context.target)
    for known, definition in table.declarations().items():
        text.declarations.setdefault(known, definition)
    values = _signed(emitter, node, value)
    if emitter.width == 1:
        arguments = f"ptr %tally, ptr {pointer.name}, {value.type} {values}"
        text.do(f"call void @{table.enter_name}({arguments})")
        return True
    wide = text.vector_type
    addresses, room = (
        emitter.new_slot(wide(type_), stem) for type_, stem in (("ptr", "at"), (value.type, "by"))
    )
    text.do(f"store {wide('ptr')} {text.as_vector(pointer)}, ptr {addresses}")
    text.do(f"store {wide(value.type)} {values}, ptr {room}")
    lanes = f"i{emitter.width}"
    bits = "-1" if emitter.mask is None else _bits(emitter, emitter.mask)
    name = f"{table.enter_name}.{lanes}"
    for known, definition in table.lanes_functions(lanes).items():
        text.declarations.setdefault(known, definition)
    text.do(f"call void @{name}(ptr %tally, ptr {addresses}, ptr {room}, {lanes} {bits})")
    return True


def tally_table(node: Node, target: Target) -> TallyTable:
    """The table that an operation waits in."""
    return TallyTable(_combination(node), scalar_type(node.type), ordering(node, 2), target)


def _signed(emitter: Emitter, node: Node, value: Lanes) -> str:
    """The values as a vector; those to be subtracted as those to be added."""
    text = emitter.text
    name, wide = text.as_vector(value), text.vector_type(value.type)
    if COMBINATIONS[node.op] != "sub":
        return name
    return text.emit(f"sub {wide} zeroinitializer, {name}")


def _bits(emitter: Emitter, mask: str) -> str:
    return emitter.text.emit(f"bitcast {emitter.text.vector_type('i1')} {mask} to i{emitter.width}")


def _combine_at_one_address(
    emitter: Emitter, node: Node, pointer: Lanes, value: Lanes, order: str
) -> None:
    text, kind = emitter.text, _combination(node)
    scalar, wide = value.type, text.vector_type(value.type)
    name = _signed(emitter, node, value)
    if emitter.mask is not None:
        others = text.splat(scalar, identity(kind, scalar))
        masks = text.vector_type("i1")
        name = text.emit(f"select {masks} {emitter.mask}, {wide} {name}, {wide} {others}")
    suffix = f"v{emitter.width}{scalar}"
    whole = text.call(scalar, f"llvm.vector.reduce.{kind}.{suffix}", [(wide, name)])
    name = read_modify_write(kind)
    update(emitter, name, scalar, pointer.name, whole, order, is_own(node))
