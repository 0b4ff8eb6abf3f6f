"""What work-items do together: votes, broadcasts, reductions, scans, shuffles and copies.

`compute(node, members, size)` gives each member its result. `members` are the work-items that
execute the operation, by their lane; `size` is how many lanes there are, of which some may be
missing. Sums are taken in the order in which compiled code takes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.ops import REDUCTIONS, operation
from groundstate.compiler.spirv.fold_numbers import as_signed, from_float, mask, to_float
from groundstate.compiler.spirv.opcodes import GroupOperation
from groundstate.compiler.spirv.types import Float, Type, Vector
from groundstate.compiler.step.values import Value

Operands = tuple[Any, ...]
Members = Mapping[int, Operands]
"""The operands of each work-item that takes part, by its lane."""
Results = dict[int, Value]

QUAD = 4
SWAPS = (1, 2, 3)


def compute(node: Node, members: Members, size: int) -> Results:
    """The result of each member."""
    if node.op in REDUCTIONS:
        return _reduce(node, members, size)
    if operation(node).source_lane is not None:
        return _shuffle(node, members, size)
    return HANDLERS[node.op](node, members, size)


# --- Reductions -----------------------------------------------------------------------------------


def combined(kind: str, type_: Type, a: Any, b: Any) -> Any:
    """Two values as one, part by part."""
    if isinstance(type_, Vector):
        return tuple(combined(kind, type_.element, x, y) for x, y in zip(a, b, strict=True))
    return COMBINE[kind](type_, a, b)


def neutral(kind: str, type_: Type) -> Any:
    """What changes nothing when it is combined."""
    if isinstance(type_, Vector):
        return (neutral(kind, type_.element),) * type_.count
    return NEUTRAL[kind](type_)


def _smallest(type_: Type, a: int, b: int) -> int:
    x, y = to_float(type_, a), to_float(type_, b)
    return b if math.isnan(x) or y < x else a


def _largest(type_: Type, a: int, b: int) -> int:
    x, y = to_float(type_, a), to_float(type_, b)
    return b if math.isnan(x) or y > x else a


def _on_floats(compute: Callable[[float, float], float]) -> Callable[[Type, int, int], int]:
    return lambda t, a, b: from_float(t, compute(to_float(t, a), to_float(t, b)))


def _bits(type_: Type) -> int:
    return getattr(type_, "width", 1)


COMBINE: dict[str, Callable[[Type, int, int], int]] = {
    "IAdd": lambda t, a, b: (a + b) & mask(_bits(t)),
    "IMul": lambda t, a, b: (a * b) & mask(_bits(t)),
    "FAdd": _on_floats(lambda a, b: a + b),
    "FMul": _on_floats(lambda a, b: a * b),
    "SMin": lambda t, a, b: min(a, b, key=lambda each: as_signed(t, each)),
    "SMax": lambda t, a, b: max(a, b, key=lambda each: as_signed(t, each)),
    "UMin": lambda t, a, b: min(a, b),
    "UMax": lambda t, a, b: max(a, b),
    "FMin": _smallest,
    "FMax": _largest,
    "And": lambda t, a, b: a & b,
    "Or": lambda t, a, b: a | b,
    "Xor": lambda t, a, b: a ^ b,
}
NEUTRAL: dict[str, Callable[[Type], int]] = {
    "IAdd": lambda t: 0,
    "IMul": lambda t: 1,
    "FAdd": lambda t: from_float(t, -0.0),
    "FMul": lambda t: from_float(t, 1.0),
    "SMin": lambda t: mask(_bits(t) - 1),
    "SMax": lambda t: 1 << (_bits(t) - 1),
    "UMin": lambda t: mask(_bits(t)),
    "UMax": lambda t: 0,
    "FMin": lambda t: from_float(t, math.inf),
    "FMax": lambda t: from_float(t, -math.inf),
    "And": lambda t: mask(_bits(t)),
    "Or": lambda t: 0,
    "Xor": lambda t: 0,
}


def _first_of_scan(kind: str, type_: Type) -> Any:
    """What an exclusive scan gives the first lane; a sum starts with 0, though -0 is neutral."""
    if isinstance(type_, Vector):
        return (_first_of_scan(kind, type_.element),) * type_.count
    if kind == "FAdd" and isinstance(type_, Float):
        return 0
    return neutral(kind, type_)


def _reduce(node: Node, members: Members, size: int) -> Results:
    kind, type_ = operation(node).combines, node.type
    steps = int(str(node.literals[0])) if node.literals else GroupOperation.Reduce
    nothing = neutral(kind, type_)
    values = [members[lane][1] if lane in members else nothing for lane in range(size)]
    if steps in (GroupOperation.InclusiveScan, GroupOperation.ExclusiveScan):
        values = _scanned(kind, type_, values, nothing)
        if steps == GroupOperation.ExclusiveScan:
            values = [_first_of_scan(kind, type_), *values[:-1]]
        return {lane: values[lane] for lane in members}
    cluster = constant_int(node.operands[2]) if len(node.operands) > 2 else None
    distance = 1
    while distance < min(cluster or size, size):
        values = [
            combined(kind, type_, values[lane], values[lane ^ distance]) for lane in range(size)
        ]
        distance *= 2
    return {lane: values[lane] for lane in members}


def _scanned(kind: str, type_: Type, values: list[Any], nothing: Any) -> list[Any]:
    distance = 1
    while distance < len(values):
        before = [nothing] * distance + values[:-distance]
        values = [combined(kind, type_, a, b) for a, b in zip(before, values, strict=True)]
        distance *= 2
    return values


def of_work_group(node: Node, subgroups: list[Members], size: int) -> list[Results]:
    """A reduction or scan of a whole work-group: each sub-group's, and then those of all."""
    if node.op in ("GroupAll", "GroupAny"):
        votes = [bool(each[1]) for members in subgroups for each in members.values()]
        answer = int(all(votes) if node.op == "GroupAll" else any(votes))
        return [dict.fromkeys(members, answer) for members in subgroups]
    kind, type_ = operation(node).combines, node.type
    steps = int(str(node.literals[0])) if node.literals else GroupOperation.Reduce
    total = Node(node.op, type_, node.operands[:2], (GroupOperation.Reduce,))
    before: Any = None
    found: list[Results] = []
    for members in subgroups:
        part = next(iter(_reduce(total, members, size).values()))
        if steps == GroupOperation.Reduce:
            found.append(dict.fromkeys(members, 0))
        else:
            inner = _reduce(node, members, size)
            start = neutral(kind, type_) if before is None else before
            found.append({lane: combined(kind, type_, start, each) for lane, each in inner.items()})
        before = part if before is None else combined(kind, type_, before, part)
    if steps == GroupOperation.Reduce:
        return [dict.fromkeys(members, before) for members in subgroups]
    return found


# --- Shuffles -------------------------------------------------------------------------------------


def _from(members: Members, index: int, lane: int, missing: Value) -> Value:
    return members[lane][index] if lane in members else missing


def _shuffle(node: Node, members: Members, size: int) -> Results:
    source = operation(node).source_lane
    assert source is not None
    value, amount = len(node.operands) - 2, len(node.operands) - 1
    return {
        lane: _from(members, value, source(lane, each[amount]) % size, each[value])
        for lane, each in members.items()
    }


def _shift(node: Node, members: Members, size: int) -> Results:
    """Two sub-groups' worth of values in a row, moved by some lanes."""
    found: Results = {}
    for lane, (first, second, delta) in members.items():
        moved = lane + delta if node.op.endswith("DownINTEL") else lane + size - delta
        place = moved & mask(32)
        index = 0 if place < size else 1
        found[lane] = _from(members, index, place % size, (first, second)[index])
    return found


def _rotate(node: Node, members: Members, size: int) -> Results:
    cluster = constant_int(node.operands[3]) if len(node.operands) > 3 else size
    count = min(cluster or size, size)
    return {
        lane: _from(members, 1, lane // count * count + (lane + each[2]) % count, each[1])
        for lane, each in members.items()
    }


def _quad_swap(node: Node, members: Members, size: int) -> Results:
    del size
    direction = constant_int(node.operands[2]) or 0
    return {
        lane: _from(members, 1, lane ^ SWAPS[direction], each[1]) for lane, each in members.items()
    }


def _quad_broadcast(node: Node, members: Members, size: int) -> Results:
    del node, size
    return {
        lane: _from(members, 1, lane // QUAD * QUAD + each[2] % QUAD, each[1])
        for lane, each in members.items()
    }


def _quad_vote(node: Node, members: Members, size: int) -> Results:
    del size
    agree = all if node.op == "GroupNonUniformQuadAllKHR" else any
    return {
        lane: int(agree(each[0] for at, each in members.items() if at // QUAD == lane // QUAD))
        for lane in members
    }


# --- Votes and broadcasts -------------------------------------------------------------------------


def _vote(agree: Callable[[Any], bool]) -> Callable[[Node, Members, int], Results]:
    def handler(node: Node, members: Members, size: int) -> Results:
        del size
        return dict.fromkeys(members, int(agree(each[-1] for each in members.values())))

    return handler


def _elect(node: Node, members: Members, size: int) -> Results:
    del node, size
    return {lane: int(lane == min(members)) for lane in members}


def _broadcast_first(node: Node, members: Members, size: int) -> Results:
    del node, size
    value: Value = members[min(members)][-1]
    return dict.fromkeys(members, value)


def _broadcast(node: Node, members: Members, size: int) -> Results:
    value = 0 if node.op == "SubgroupReadInvocationKHR" else 1
    first = members[min(members)]
    named = first[value + 1]
    lane = int(named[0] if isinstance(named, tuple) else named) % size
    return dict.fromkeys(members, _from(members, value, lane, first[value]))


def _all_equal(node: Node, members: Members, size: int) -> Results:
    del size
    kind = node.operands[-1].type
    first = members[min(members)][-1]
    same = all(_is_equal(kind, each[-1], first) for each in members.values())
    return dict.fromkeys(members, int(same))


def _is_equal(kind: Type, a: Any, b: Any) -> bool:
    if isinstance(kind, Vector):
        return all(_is_equal(kind.element, x, y) for x, y in zip(a, b, strict=True))
    return bool(to_float(kind, a) == to_float(kind, b) if isinstance(kind, Float) else a == b)


# --- Ballots --------------------------------------------------------------------------------------


def _of_word(node: Node, word: int) -> Value:
    return (word, 0, 0, 0)[: node.type.count] if isinstance(node.type, Vector) else word


def _ballot(node: Node, members: Members, size: int) -> Results:
    del size
    word = sum(1 << lane for lane, each in members.items() if each[-1])
    return dict.fromkeys(members, _of_word(node, word))


def _inverse_ballot(node: Node, members: Members, size: int) -> Results:
    del node, size
    return {lane: int(each[1][0] >> lane & 1) for lane, each in members.items()}


def _extract_bit(node: Node, members: Members, size: int) -> Results:
    del node
    return {lane: each[1][0] >> each[2] % size & 1 for lane, each in members.items()}


def _count_bits(node: Node, members: Members, size: int) -> Results:
    steps = int(str(node.literals[0]))
    found: Results = {}
    for lane, each in members.items():
        below = {GroupOperation.InclusiveScan: lane + 1, GroupOperation.ExclusiveScan: lane}
        found[lane] = (each[1][0] & mask(below.get(steps, size))).bit_count()
    return found


def _find_bit(node: Node, members: Members, size: int) -> Results:
    del size
    found: Results = {}
    for lane, each in members.items():
        word = each[1][0]
        if node.op.endswith("LSB"):
            found[lane] = (word & -word).bit_length() - 1 if word else 32
        else:
            found[lane] = word.bit_length() - 1 & mask(32)
    return found


HANDLERS: dict[str, Callable[[Node, Members, int], Results]] = {
    **dict.fromkeys(("GroupAll", "GroupNonUniformAll", "SubgroupAllKHR"), _vote(all)),
    **dict.fromkeys(("GroupAny", "GroupNonUniformAny", "SubgroupAnyKHR"), _vote(any)),
    **dict.fromkeys(("GroupNonUniformAllEqual", "SubgroupAllEqualKHR"), _all_equal),
    **dict.fromkeys(
        ("GroupNonUniformBroadcastFirst", "SubgroupFirstInvocationKHR"), _broadcast_first
    ),
    **dict.fromkeys(
        ("GroupBroadcast", "GroupNonUniformBroadcast", "SubgroupReadInvocationKHR"), _broadcast
    ),
    **dict.fromkeys(("GroupNonUniformBallot", "SubgroupBallotKHR"), _ballot),
    **dict.fromkeys(("SubgroupShuffleUpINTEL", "SubgroupShuffleDownINTEL"), _shift),
    **dict.fromkeys(("GroupNonUniformQuadAllKHR", "GroupNonUniformQuadAnyKHR"), _quad_vote),
    **dict.fromkeys(("GroupNonUniformBallotFindLSB", "GroupNonUniformBallotFindMSB"), _find_bit),
    "GroupNonUniformElect": _elect,
    "GroupNonUniformInverseBallot": _inverse_ballot,
    "GroupNonUniformBallotBitExtract": _extract_bit,
    "GroupNonUniformBallotBitCount": _count_bits,
    "GroupNonUniformRotateKHR": _rotate,
    "GroupNonUniformQuadSwap": _quad_swap,
    "GroupNonUniformQuadBroadcast": _quad_broadcast,
}
