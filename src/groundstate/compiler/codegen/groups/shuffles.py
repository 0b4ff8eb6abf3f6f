"""Shuffles: each lane of a sub-group takes the value of another."""

from __future__ import annotations

from groundstate.compiler.analysis.lane_values import picked_lanes, shuffled
from groundstate.compiler.codegen.arithmetic.composites import choose
from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.groups.ballots import lane_numbers, own
from groundstate.compiler.codegen.values import Lanes, LaneText, Value
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.lowered_checks import QUAD, reason_against_quads
from groundstate.compiler.ir.ops import SHUFFLES

COMPUTED = {
    "SubgroupShuffleXorINTEL": "xor",
    "GroupNonUniformShuffleXor": "xor",
    "GroupNonUniformShuffleUp": "sub",
    "GroupNonUniformShuffleDown": "add",
}
"""How the source lane comes from a lane's own number and the amount; else it is the amount."""


@handles(*SHUFFLES)
def _shuffle(emitter: Emitter, node: Node) -> None:
    source, amount = shuffled(node)
    value = emitter.get(source)
    picks = picked_lanes(node, emitter.divergence.subgroup, emitter.width)
    if picks is not None:
        if emitter.divergence.stride(node) == 0:
            emitter.define(node, _of_lane(emitter, value, picks[0]))
        else:
            emitter.define(node, _picked(emitter, value, picks))
        return
    text = emitter.text
    number = as_i32(emitter, emitter.scalar(amount))
    if node.op in COMPUTED:
        wide = text.vector_type("i32")
        number = text.emit(f"{COMPUTED[node.op]} {wide} {lane_numbers(emitter)}, {number}")
    emitter.define(node, gather_lanes(emitter, value, _wrapped(emitter, number)))


def _of_lane(emitter: Emitter, value: Value, lane: int) -> Value:
    """The value of one lane, for all."""
    if isinstance(value, list):
        return [_of_lane(emitter, part, lane) for part in value]
    text = emitter.text
    if not value.stride or emitter.width == 1:
        return Lanes(value.type, text.lane(value, lane))
    if value.type == "ptr":
        name = text.emit(f"getelementptr i8, ptr {value.name}, i64 {lane * value.stride}")
    else:
        name = text.emit(f"add {value.type} {value.name}, {lane * value.stride}")
    return Lanes(value.type, name)


def as_i32(emitter: Emitter, value: Lanes) -> str:
    """A number of each lane as a vector of i32."""
    text = emitter.text
    name = text.as_vector(value)
    if value.type == "i32":
        return name
    kind = "trunc" if int(value.type[1:]) > 32 else "zext"
    wide = text.vector_type("i32")
    return text.emit(f"{kind} {text.vector_type(value.type)} {name} to {wide}")


def _wrapped(emitter: Emitter, numbers: str) -> str:
    """Lane numbers that exist: any others are undefined, and must not lead outside of a vector."""
    wide = emitter.text.vector_type("i32")
    last = emitter.text.splat("i32", str(emitter.width - 1))
    return emitter.text.emit(f"and {wide} {numbers}, {last}")


def _picked(emitter: Emitter, value: Value, picks: list[int]) -> Value:
    """Each lane takes the value of a lane that is known now."""
    if isinstance(value, list):
        return [_picked(emitter, part, picks) for part in value]
    if emitter.width == 1 or value.stride == 0:
        return value
    wide = emitter.text.vector_type(value.type)
    name = emitter.text.shuffle(wide, emitter.text.as_vector(value), picks)
    return Lanes(value.type, name, None)


def gather_lanes(emitter: Emitter, value: Value, source: str) -> Value:
    """Each lane takes the value of the lane that `source` names."""
    if isinstance(value, list):
        return [gather_lanes(emitter, part, source) for part in value]
    if emitter.width == 1 or value.stride == 0:
        return value
    text, width = emitter.text, emitter.width
    wide = text.vector_type(value.type)
    vector = text.as_vector(value)
    if _has_permutation(emitter, value.type):
        return Lanes(value.type, _permuted(text, value.type, vector, source), None)
    result = "poison"
    for lane in range(width):
        index = text.emit(f"extractelement {text.vector_type('i32')} {source}, i64 {lane}")
        picked = text.emit(f"extractelement {wide} {vector}, i32 {index}")
        result = text.emit(f"insertelement {wide} {result}, {value.type} {picked}, i64 {lane}")
    return Lanes(value.type, result, None)


def _has_permutation(emitter: Emitter, llvm_type: str) -> bool:
    """Whether a vector is several registers, each with an instruction that moves lanes at will.
    LLVM finds it by itself where it is one register, and else writes and reads every lane, which
    takes long to compile and to run."""
    target = emitter.context.target
    return target.lanes < emitter.width and llvm_type in target.lane_permutations


def _permuted(text: LaneText, llvm_type: str, vector: str, source: str) -> str:
    """The lanes of a vector that `source` names, register by register."""
    size = text.target.lanes
    part, numbers = f"<{size} x {llvm_type}>", f"<{size} x i32>"
    permutation = text.target.lane_permutations[llvm_type]
    parts = list(text.split(llvm_type, vector, text.width, size))
    picked = []
    for lanes in text.split("i32", source, text.width, size):
        found = ""
        for index, each in enumerate(parts):
            moved = text.call(part, permutation, [(part, each), (numbers, lanes)])
            if found:
                first = f"splat (i32 {index * size})"
                is_here = text.emit(f"icmp uge {numbers} {lanes}, {first}")
                moved = text.emit(f"select <{size} x i1> {is_here}, {part} {moved}, {part} {found}")
            found = moved
        picked.append(found)
    return text.concatenate(llvm_type, picked, size)


@handles("SubgroupShuffleDownINTEL", "SubgroupShuffleUpINTEL")
def _shift(emitter: Emitter, node: Node) -> None:
    """Two sub-groups' worth of values in a row, moved by some lanes."""
    first, second = (emitter.get(each) for each in node.operands[:2])
    text = emitter.text
    wide = text.vector_type("i32")
    delta = as_i32(emitter, emitter.scalar(node.operands[2]))
    size = text.splat("i32", str(emitter.width))
    lanes = lane_numbers(emitter)
    if node.op == "SubgroupShuffleDownINTEL":
        place = text.emit(f"add {wide} {lanes}, {delta}")
    else:
        start = text.emit(f"add {wide} {lanes}, {size}")
        place = text.emit(f"sub {wide} {start}, {delta}")
    in_first = own(emitter, "i1", text.emit(f"icmp ult {wide} {place}, {size}"))
    source = _wrapped(emitter, place)
    emitter.define(
        node,
        choose(
            emitter,
            in_first,
            gather_lanes(emitter, first, source),
            gather_lanes(emitter, second, source),
        ),
    )


@handles("GroupNonUniformRotateKHR")
def _rotate(emitter: Emitter, node: Node) -> None:
    """Lane i takes the value of lane i + delta, round a cluster or the whole sub-group."""
    value, delta = emitter.get(node.operands[1]), emitter.scalar(node.operands[2])
    cluster = constant_int(node.operands[3]) if len(node.operands) > 3 else emitter.width
    text = emitter.text
    wide = text.vector_type("i32")
    lanes = lane_numbers(emitter)
    size = min(cluster or emitter.width, emitter.width)
    moved = text.emit(f"add {wide} {lanes}, {as_i32(emitter, delta)}")
    inside = text.emit(f"and {wide} {moved}, {text.splat('i32', str(size - 1))}")
    start = text.emit(f"and {wide} {lanes}, {text.splat('i32', str(-size))}")
    emitter.define(node, gather_lanes(emitter, value, text.emit(f"or {wide} {start}, {inside}")))


# --- Quads: four lanes next to each other ---------------------------------------------------------

SWAPS = (1, 2, 3)
"""Horizontal, vertical, diagonal: what to exclusive-or a lane's number with."""


def _need_quads(emitter: Emitter) -> None:
    reason = reason_against_quads(emitter.width)
    if reason:
        raise BuildError(reason)


@handles("GroupNonUniformQuadSwap")
def _quad_swap(emitter: Emitter, node: Node) -> None:
    _need_quads(emitter)
    direction = constant_int(node.operands[2])
    assert direction is not None
    picks = [lane ^ SWAPS[direction] for lane in range(emitter.width)]
    emitter.define(node, _picked(emitter, emitter.get(node.operands[1]), picks))


@handles("GroupNonUniformQuadBroadcast")
def _quad_broadcast(emitter: Emitter, node: Node) -> None:
    _need_quads(emitter)
    text = emitter.text
    wide = text.vector_type("i32")
    start = text.emit(f"and {wide} {lane_numbers(emitter)}, {text.splat('i32', str(-QUAD))}")
    index = as_i32(emitter, emitter.scalar(node.operands[2]))
    index = text.emit(f"and {wide} {index}, {text.splat('i32', str(QUAD - 1))}")
    source = text.emit(f"or {wide} {start}, {index}")
    emitter.define(node, gather_lanes(emitter, emitter.get(node.operands[1]), source))


@handles("GroupNonUniformQuadAllKHR", "GroupNonUniformQuadAnyKHR")
def _quad_vote(emitter: Emitter, node: Node) -> None:
    _need_quads(emitter)
    text = emitter.text
    is_all = node.op == "GroupNonUniformQuadAllKHR"
    neutral = text.splat("i1", "true" if is_all else "false")
    condition = text.as_vector(emitter.scalar(node.operands[0]))
    current = Lanes("i1", text.select(emitter.mask, "i1", condition, neutral), None)
    bits = text.vector_type("i1")
    for distance in (1, 2):
        other = _picked(emitter, current, [lane ^ distance for lane in range(emitter.width)])
        assert isinstance(other, Lanes)
        kind = "and" if is_all else "or"
        current = Lanes("i1", text.emit(f"{kind} {bits} {current.name}, {other.name}"), None)
    emitter.define(node, current)
