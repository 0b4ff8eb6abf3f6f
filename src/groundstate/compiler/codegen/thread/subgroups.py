"""Votes, broadcasts, shuffles and ballots of a sub-group."""

from __future__ import annotations

from groundstate.compiler.analysis.lane_values import shuffled
from groundstate.compiler.codegen.arithmetic.composites import choose
from groundstate.compiler.codegen.function import components
from groundstate.compiler.codegen.groups.shuffles import COMPUTED, SWAPS
from groundstate.compiler.codegen.memory.layout import add_offset, load, store
from groundstate.compiler.codegen.thread import lanes
from groundstate.compiler.codegen.thread.emitter import ThreadEmitter, writes
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.codegen.workitems import MASKS
from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.lowered_checks import QUAD
from groundstate.compiler.ir.ops import SHUFFLES
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.spirv.opcodes import GroupOperation
from groundstate.compiler.spirv.types import Type, Vector

UNIFORM = frozenset(
    (
        *("GroupAll", "GroupAny", "GroupBroadcast"),
        *("SubgroupBlockReadINTEL", "SubgroupBlockWriteINTEL"),
    )
)
"""What all work-items of a sub-group come to; to others only some may."""


def members_of(emitter: ThreadEmitter, node: Node) -> str:
    """The lanes that take part in an operation."""
    is_uniform = node.op.startswith("Group") and not node.op.startswith("GroupNonUniform")
    return lanes.members(emitter, is_uniform or node.op in UNIFORM)


# --- Votes and broadcasts -------------------------------------------------------------------------


@writes(
    *("GroupAll", "GroupAny", "GroupNonUniformAll", "GroupNonUniformAny"),
    *("SubgroupAllKHR", "SubgroupAnyKHR"),
)
def _vote(emitter: ThreadEmitter, node: Node) -> None:
    kind = "all" if node.op.removesuffix("KHR").endswith("All") else "any"
    emitter.define(node, _voted(emitter, node, emitter.scalar(node.operands[-1]).name, kind))


def _voted(emitter: ThreadEmitter, node: Node, condition: str, kind: str) -> Lanes:
    mask = members_of(emitter, node)
    name = f"llvm.nvvm.vote.{kind}.sync"
    return Lanes("i1", emitter.text.call("i1", name, [("i32", mask), ("i1", condition)]))


@writes("GroupNonUniformAllEqual", "SubgroupAllEqualKHR")
def _all_equal(emitter: ThreadEmitter, node: Node) -> None:
    text, value = emitter.text, emitter.get(node.operands[-1])
    mask = members_of(emitter, node)
    first = lanes.from_lane(emitter, mask, value, lanes.first_member(emitter, mask))
    same = "true"
    for part, wanted in zip(_flat(value), _flat(first), strict=True):
        kind = "fcmp oeq" if part.type in ("half", "float", "double") else "icmp eq"
        equal = text.emit(f"{kind} {part.type} {part.name}, {wanted.name}")
        same = text.emit(f"and i1 {same}, {equal}")
    emitter.define(node, _voted(emitter, node, same, "all"))


def _flat(value: Value) -> list[Lanes]:
    if isinstance(value, list):
        return [each for part in value for each in _flat(part)]
    return [value]


@writes("GroupNonUniformElect")
def _elect(emitter: ThreadEmitter, node: Node) -> None:
    first = lanes.first_member(emitter, members_of(emitter, node))
    own = lanes.number(emitter)
    emitter.define(node, Lanes("i1", emitter.text.emit(f"icmp eq i32 {own}, {first}")))


@writes("GroupBroadcast", "GroupNonUniformBroadcast")
def _broadcast(emitter: ThreadEmitter, node: Node) -> None:
    lane = lanes.lane_number(emitter, node.operands[2])
    _take(emitter, node, node.operands[1], lane)


@writes("GroupNonUniformBroadcastFirst", "SubgroupFirstInvocationKHR")
def _broadcast_first(emitter: ThreadEmitter, node: Node) -> None:
    mask = members_of(emitter, node)
    value = emitter.get(node.operands[-1])
    first = lanes.first_member(emitter, mask)
    emitter.define(node, lanes.from_lane(emitter, mask, value, first))


@writes("SubgroupReadInvocationKHR")
def _read_invocation(emitter: ThreadEmitter, node: Node) -> None:
    _take(emitter, node, node.operands[0], lanes.lane_number(emitter, node.operands[1]))


def _take(emitter: ThreadEmitter, node: Node, source: Node, lane: str) -> None:
    mask = members_of(emitter, node)
    emitter.define(node, lanes.from_lane(emitter, mask, emitter.get(source), lane))


# --- Shuffles -------------------------------------------------------------------------------------


def _wrapped(emitter: ThreadEmitter, lane: str) -> str:
    return emitter.text.emit(f"and i32 {lane}, {emitter.context.subgroup - 1}")


@writes(*SHUFFLES)
def _shuffle(emitter: ThreadEmitter, node: Node) -> None:
    source, amount = shuffled(node)
    lane = lanes.as_i32(emitter, emitter.scalar(amount))
    if node.op in COMPUTED:
        own = lanes.number(emitter)
        lane = emitter.text.emit(f"{COMPUTED[node.op]} i32 {own}, {lane}")
    _take(emitter, node, source, _wrapped(emitter, lane))


@writes("SubgroupShuffleDownINTEL", "SubgroupShuffleUpINTEL")
def _shift(emitter: ThreadEmitter, node: Node) -> None:
    """Two sub-groups' worth of values in a row, moved by some lanes."""
    text, size = emitter.text, emitter.context.subgroup
    delta, own = lanes.as_i32(emitter, emitter.scalar(node.operands[2])), lanes.number(emitter)
    if node.op == "SubgroupShuffleDownINTEL":
        place = text.emit(f"add i32 {own}, {delta}")
    else:
        start = text.emit(f"add i32 {own}, {size}")
        place = text.emit(f"sub i32 {start}, {delta}")
    in_first = Lanes("i1", text.emit(f"icmp ult i32 {place}, {size}"))
    lane, mask = _wrapped(emitter, place), members_of(emitter, node)
    found = [lanes.from_lane(emitter, mask, emitter.get(each), lane) for each in node.operands[:2]]
    emitter.define(node, choose(emitter, in_first, found[0], found[1]))


@writes("GroupNonUniformRotateKHR")
def _rotate(emitter: ThreadEmitter, node: Node) -> None:
    """Lane i takes the value of lane i + delta, round a cluster or the whole sub-group."""
    text, most = emitter.text, emitter.context.subgroup
    cluster = constant_int(node.operands[3]) if len(node.operands) > 3 else most
    size, own = min(cluster or most, most), lanes.number(emitter)
    delta = lanes.as_i32(emitter, emitter.scalar(node.operands[2]))
    moved = text.emit(f"add i32 {own}, {delta}")
    inside = text.emit(f"and i32 {moved}, {size - 1}")
    start = text.emit(f"and i32 {own}, {-size}")
    _take(emitter, node, node.operands[1], text.emit(f"or i32 {start}, {inside}"))


@writes("GroupNonUniformQuadSwap")
def _quad_swap(emitter: ThreadEmitter, node: Node) -> None:
    direction, own = constant_int(node.operands[2]), lanes.number(emitter)
    assert direction is not None
    lane = emitter.text.emit(f"xor i32 {own}, {SWAPS[direction]}")
    _take(emitter, node, node.operands[1], lane)


@writes("GroupNonUniformQuadBroadcast")
def _quad_broadcast(emitter: ThreadEmitter, node: Node) -> None:
    text = emitter.text
    start = text.emit(f"and i32 {lanes.number(emitter)}, {-QUAD}")
    index = lanes.as_i32(emitter, emitter.scalar(node.operands[2]))
    inside = text.emit(f"and i32 {index}, {QUAD - 1}")
    _take(emitter, node, node.operands[1], text.emit(f"or i32 {start}, {inside}"))


@writes("GroupNonUniformQuadAllKHR", "GroupNonUniformQuadAnyKHR")
def _quad_vote(emitter: ThreadEmitter, node: Node) -> None:
    """Of the four, those that are not there do not count."""
    text, mask = emitter.text, members_of(emitter, node)
    is_all = node.op == "GroupNonUniformQuadAllKHR"
    condition = emitter.scalar(node.operands[0]).name
    if is_all:
        condition = text.emit(f"xor i1 {condition}, true")
    said = lanes.own_bits(emitter, lanes.ballot(emitter, mask, condition))
    start = text.emit(f"and i32 {lanes.number(emitter)}, {-QUAD}")
    quad = text.emit(f"lshr i32 {said}, {start}")
    bits = text.emit(f"and i32 {quad}, {(1 << QUAD) - 1}")
    emitter.define(node, Lanes("i1", text.emit(f"icmp {'eq' if is_all else 'ne'} i32 {bits}, 0")))


# --- Ballots --------------------------------------------------------------------------------------


@writes("SubgroupBallotKHR", "GroupNonUniformBallot")
def _ballot(emitter: ThreadEmitter, node: Node) -> None:
    mask = members_of(emitter, node)
    condition = emitter.scalar(node.operands[-1]).name
    bits = lanes.own_bits(emitter, lanes.ballot(emitter, mask, condition))
    zero = Lanes("i32", "0")
    emitter.define(node, [Lanes("i32", bits), zero, zero, zero])


def _ballot_word(emitter: ThreadEmitter, node: Node) -> str:
    """The first word of a ballot: no sub-group has more than 32 work-items."""
    value = emitter.get(node)
    first = value[0] if isinstance(value, list) else value
    assert isinstance(first, Lanes)
    return first.name


@writes("GroupNonUniformInverseBallot", "GroupNonUniformBallotBitExtract")
def _ballot_bit(emitter: ThreadEmitter, node: Node) -> None:
    text = emitter.text
    if node.op.endswith("Extract"):
        index = lanes.lane_number(emitter, node.operands[2])
    else:
        index = lanes.number(emitter)
    moved = text.emit(f"lshr i32 {_ballot_word(emitter, node.operands[1])}, {index}")
    emitter.define(node, Lanes("i1", text.emit(f"trunc i32 {moved} to i1")))


@writes("GroupNonUniformBallotBitCount")
def _ballot_count(emitter: ThreadEmitter, node: Node) -> None:
    """All bits of the sub-group, those up to the work-item, or those below it."""
    text, size = emitter.text, emitter.context.subgroup
    word = _ballot_word(emitter, node.operands[1])
    word = text.emit(f"and i32 {word}, {(1 << size) - 1 if size < 32 else -1}")
    operation = int(str(node.literals[0]))
    if operation in (GroupOperation.InclusiveScan, GroupOperation.ExclusiveScan):
        below = text.emit(f"shl i32 1, {lanes.number(emitter)}")
        if operation == GroupOperation.InclusiveScan:
            below = text.emit(f"shl i32 {below}, 1")
        mask = text.emit(f"sub i32 {below}, 1")
        word = text.emit(f"and i32 {word}, {mask}")
    emitter.define(node, Lanes("i32", text.call("i32", "llvm.ctpop.i32", [("i32", word)])))


# --- Masks, and blocks of memory ------------------------------------------------------------------


def define_mask(emitter: ThreadEmitter, node: Node, name: str) -> None:
    """The lanes before, behind or at a work-item as bits."""
    text, size = emitter.text, emitter.context.subgroup
    own = text.emit(f"shl i32 1, {lanes.number(emitter)}")
    below = text.emit(f"sub i32 {own}, 1")
    upto = text.emit(f"or i32 {own}, {below}")
    everyone = (1 << size) - 1 if size < 32 else -1
    word = {"SubgroupEqMask": own, "SubgroupLtMask": below, "SubgroupLeMask": upto}.get(name)
    if word is None:
        others = text.emit(f"xor i32 {below if name == 'SubgroupGeMask' else upto}, -1")
        word = text.emit(f"and i32 {others}, {everyone}")
    kind: Type = node.type.element if isinstance(node.type, Vector) else node.type
    scalar = scalar_type(kind)
    if scalar != "i32":
        word = text.emit(f"zext i32 {word} to {scalar}")
    zero = Lanes(scalar, "0")
    parts: list[Value] = [Lanes(scalar, word), zero, zero, zero]
    if isinstance(node.type, Vector):
        emitter.define(node, parts[: node.type.count])
    else:
        emitter.define(node, parts[int(str(node.literals[1])) if len(node.literals) > 1 else 0])


@writes("Builtin")
def _builtin(emitter: ThreadEmitter, node: Node) -> None:
    name = str(node.literals[0])
    if name in MASKS:
        define_mask(emitter, node, name)
    else:
        emitter.HANDLERS["Builtin"](emitter, node)


def _block_rows(emitter: ThreadEmitter, pointer: Node, type_: Type) -> list[tuple[Type, Lanes]]:
    """The type and the address of each component: rows with an element for each work-item."""
    text, base = emitter.text, emitter.scalar(pointer)
    parts = components(type_) or [type_]
    own = text.emit(f"zext i32 {lanes.number(emitter)} to i64")
    offset = text.emit(f"mul i64 {own}, {parts[0].size}")
    first = Lanes("ptr", text.emit(f"getelementptr i8, ptr {base.name}, i64 {offset}"))
    size = emitter.context.subgroup
    return [
        (part, add_offset(emitter, first, index * size * part.size))
        for index, part in enumerate(parts)
    ]


@writes("SubgroupBlockReadINTEL")
def _read_block(emitter: ThreadEmitter, node: Node) -> None:
    rows = _block_rows(emitter, node.operands[0], node.type)
    parts = [load(emitter, row, part, part.size) for part, row in rows]
    emitter.define(node, parts if components(node.type) is not None else parts[0])


@writes("SubgroupBlockWriteINTEL")
def _write_block(emitter: ThreadEmitter, node: Node) -> None:
    pointer, data = node.operands
    value = emitter.get(data)
    parts = value if isinstance(value, list) else [value]
    rows = _block_rows(emitter, pointer, data.type)
    for (part, row), each in zip(rows, parts, strict=True):
        store(emitter, row, part, each, part.size)
