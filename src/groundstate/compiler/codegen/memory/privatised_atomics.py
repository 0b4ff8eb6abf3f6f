"""Atomic operations whose results nobody wants, put together before they go to memory.

Handing a cache line from one core to another takes longer than all the rest of a histogram. So each
worker keeps a small table of addresses and of what is still to be added there (or to be combined
in whatever way), and brings it to memory when it has run its groups, or when the place in the table
is needed for another address. That is as if the work-items had come to their last instructions a
little later, so it is done where a work-item does nothing behind them that others could compare
with them: no access to memory that others see, no barrier. Lanes that all mean one address are put
together in any case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.memory.ordering import ordering
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

IDENTITIES = {"add": "0", "or": "0", "xor": "0", "and": "-1", "umin": "-1", "umax": "0"}

CROSS_WORKGROUP = 5
SEEN_BY_ONE = frozenset((StorageClass.UniformConstant, StorageClass.Function))
"""Memory that does not change, and memory of one work-item."""

ENTRY_BYTES = 16
"""Of the table: an address, and what is to be done there."""


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
    context = emitter.context
    if emitter.width == 1 or node not in context.unwanted:
        return False
    if pointer.stride == 0:
        _combine_at_one_address(emitter, node, pointer, value, order)
        return True
    if node not in context.privatised:
        return False
    text, wide = emitter.text, emitter.text.vector_type
    addresses, values = (
        emitter.new_slot(wide(type_), stem) for type_, stem in (("i64", "at"), (value.type, "by"))
    )
    numbers = text.emit(f"ptrtoint {wide('ptr')} {text.as_vector(pointer)} to {wide('i64')}")
    text.do(f"store {wide('i64')} {numbers}, ptr {addresses}")
    text.do(f"store {wide(value.type)} {_signed(emitter, node, value)}, ptr {values}")
    lanes = f"i{emitter.width}"
    bits = "-1" if emitter.mask is None else _bits(emitter, emitter.mask)
    kind = _combination(node)
    name = f"gs.tally.{kind}.{value.type}"
    text.declarations.setdefault(
        name, _tally_function(name, kind, value.type, lanes, order, context.target)
    )
    text.do(f"call void @{name}(ptr %tally, ptr {addresses}, ptr {values}, {lanes} {bits})")
    return True


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
        others = text.splat(scalar, _identity(kind, scalar))
        masks = text.vector_type("i1")
        name = text.emit(f"select {masks} {emitter.mask}, {wide} {name}, {wide} {others}")
    suffix = f"v{emitter.width}{scalar}"
    whole = text.call(scalar, f"llvm.vector.reduce.{kind}.{suffix}", [(wide, name)])
    text.do(f"atomicrmw {_rmw(kind)} ptr {pointer.name}, {scalar} {whole} {order}")


def _identity(kind: str, scalar: str) -> str:
    """What changes nothing."""
    width = int(scalar[1:])
    return IDENTITIES.get(kind) or str(
        {"smin": (1 << width - 1) - 1, "smax": -(1 << width - 1)}[kind]
    )


def _rmw(kind: str) -> str:
    return {"smin": "min", "smax": "max"}.get(kind, kind)


def _merged(kind: str, scalar: str, left: str, right: str) -> list[str]:
    """Lines that define %new."""
    if kind in ("add", "and", "or", "xor"):
        return [f"  %new = {kind} {scalar} {left}, {right}"]
    test = {"smin": "slt", "smax": "sgt", "umin": "ult", "umax": "ugt"}[kind]
    return [
        f"  %better = icmp {test} {scalar} {left}, {right}",
        f"  %new = select i1 %better, {scalar} {left}, {scalar} {right}",
    ]


def _tally_function(
    name: str, kind: str, scalar: str, lanes: str, order: str, target: Target
) -> str:
    """A function that enters the active lanes into the table, or without one goes to memory."""
    shift = {"i32": 2, "i64": 3}[scalar]
    return "\n".join(
        [
            f"define internal void @{name}(ptr %table, ptr %addresses, ptr %values, "
            f"{lanes} %active) nounwind noinline {{",
            "entry:",
            f"  %some = icmp ne {lanes} %active, 0",
            "  br i1 %some, label %lane, label %end",
            "lane:",
            f"  %left = phi {lanes} [ %active, %entry ], [ %rest, %next ]",
            f"  %lane.i = call {lanes} @llvm.cttz.{lanes}({lanes} %left, i1 true)",
            f"  %at.lane = zext {lanes} %lane.i to i64"
            if lanes != "i64"
            else "  %at.lane = add i64 %lane.i, 0",
            "  %address.p = getelementptr i64, ptr %addresses, i64 %at.lane",
            "  %address = load i64, ptr %address.p",
            f"  %value.p = getelementptr {scalar}, ptr %values, i64 %at.lane",
            f"  %value = load {scalar}, ptr %value.p",
            "  %direct = icmp eq ptr %table, null",
            "  br i1 %direct, label %straight, label %look",
            "straight:",
            "  %there = inttoptr i64 %address to ptr",
            f"  %unused = atomicrmw {_rmw(kind)} ptr %there, {scalar} %value {order}",
            "  br label %next",
            "look:",
            f"  %element = lshr i64 %address, {shift}",
            f"  %entry.i = and i64 %element, {target.privatised_entries - 1}",
            "  %tag.p = getelementptr [2 x i64], ptr %table, i64 %entry.i",
            "  %sum.p = getelementptr i64, ptr %tag.p, i64 1",
            "  %tag = load i64, ptr %tag.p",
            f"  %old = load {scalar}, ptr %sum.p",
            "  %hit = icmp eq i64 %tag, %address",
            "  br i1 %hit, label %merge, label %miss",
            "merge:",
            *_merged(kind, scalar, "%old", "%value"),
            f"  store {scalar} %new, ptr %sum.p",
            "  br label %next",
            "miss:",
            "  %free = icmp eq i64 %tag, 0",
            "  br i1 %free, label %take, label %flush",
            "flush:",
            "  %old.p = inttoptr i64 %tag to ptr",
            f"  %unused.too = atomicrmw {_rmw(kind)} ptr %old.p, {scalar} %old {order}",
            "  br label %take",
            "take:",
            "  store i64 %address, ptr %tag.p",
            f"  store {scalar} %value, ptr %sum.p",
            "  br label %next",
            "next:",
            f"  %less = add {lanes} %left, -1",
            f"  %rest = and {lanes} %left, %less",
            f"  %more = icmp ne {lanes} %rest, 0",
            "  br i1 %more, label %lane, label %end",
            "end:",
            "  ret void",
            "}",
            f"declare {lanes} @llvm.cttz.{lanes}({lanes}, i1)",
        ]
    )


def start_lines(room: str, items: int, target: Target) -> list[str]:
    """At the start of a worker's share: an empty table %tally, or null if it would not pay."""
    return [
        f"  %share = mul i64 %count, {items}",
        f"  %pays = icmp uge i64 %share, {target.privatised_items}",
        f"  %tally = select i1 %pays, ptr {room}, ptr null",
        "  br i1 %pays, label %clear, label %start",
        "clear:",
        "  %c = phi i64 [ 0, %entry ], [ %c.next, %clear ]",
        f"  %c.p = getelementptr [2 x i64], ptr {room}, i64 %c",
        "  store i64 0, ptr %c.p",
        "  %c.next = add i64 %c, 1",
        f"  %c.more = icmp ult i64 %c.next, {target.privatised_entries}",
        "  br i1 %c.more, label %clear, label %start",
    ]


def end_lines(node: Node, target: Target) -> list[str]:
    """At its end: what the table holds goes to memory."""
    scalar, kind = scalar_type(node.type), _rmw(_combination(node))
    return [
        "  br i1 %pays, label %flush, label %flushed",
        "flush:",
        "  %f = phi i64 [ 0, %finish ], [ %f.next, %flush.next ]",
        "  %f.p = getelementptr [2 x i64], ptr %tally, i64 %f",
        "  %f.tag = load ptr, ptr %f.p",
        "  %f.free = icmp eq ptr %f.tag, null",
        "  br i1 %f.free, label %flush.next, label %flush.one",
        "flush.one:",
        "  %f.sum.p = getelementptr i64, ptr %f.p, i64 1",
        f"  %f.sum = load {scalar}, ptr %f.sum.p",
        f"  %f.unused = atomicrmw {kind} ptr %f.tag, {scalar} %f.sum {ordering(node, 2)}",
        "  br label %flush.next",
        "flush.next:",
        "  %f.next = add i64 %f, 1",
        f"  %f.more = icmp ult i64 %f.next, {target.privatised_entries}",
        "  br i1 %f.more, label %flush, label %flushed",
        "flushed:",
    ]
