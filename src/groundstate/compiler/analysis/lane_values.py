"""Numbers that are known for each lane when a kernel is compiled.

What is computed from the number of a lane and from constants is the same in every sub-group: such
as `id / 8 * 8 + 3`, by which kernels take a value from one lane of each eight. A shuffle by such a
number is one instruction or two. And where no lane takes anything from outside of its eight, the
eight need not wait for the others of their sub-group.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.spirv.types import Int

DEPTH = 12
"""How far back a number is followed."""

SourceLane = Callable[[int, int], int]
"""Of a lane's own number and the amount: the lane it takes its value from."""

SHUFFLES: dict[str, SourceLane] = {
    "SubgroupShuffleINTEL": lambda lane, amount: amount,
    "GroupNonUniformShuffle": lambda lane, amount: amount,
    "SubgroupShuffleXorINTEL": lambda lane, amount: lane ^ amount,
    "GroupNonUniformShuffleXor": lambda lane, amount: lane ^ amount,
    "GroupNonUniformShuffleUp": lambda lane, amount: lane - amount,
    "GroupNonUniformShuffleDown": lambda lane, amount: lane + amount,
}


def shuffled(node: Node) -> tuple[Node, Node]:
    """What a shuffle takes from other lanes, and the number that says from which."""
    value, amount = node.operands[-2:]
    return value, amount


def picked_lanes(shuffle: Node, subgroup: int, width: int) -> list[int] | None:
    """The lanes of a vector that those of the same vector take their values from, or None if they
    are not known or not the same in all vectors of a sub-group."""
    amounts = lane_values(shuffled(shuffle)[1], subgroup)
    if amounts is None:
        return None
    source = SHUFFLES[shuffle.op]
    picks = [source(lane, amount) % subgroup for lane, amount in enumerate(amounts)]
    vectors = [
        [pick - first for pick in picks[first : first + width]]
        for first in range(0, subgroup, width)
    ]
    is_inside = all(0 <= pick < width for pick in vectors[0])
    return vectors[0] if is_inside and vectors.count(vectors[0]) == len(vectors) else None


def _quotient(left: int, right: int) -> int | None:
    """Rounded to zero; None if there is none."""
    return None if right == 0 else abs(left) // abs(right) * (1 if left * right >= 0 else -1)


def _remainder(left: int, right: int) -> int | None:
    return None if right == 0 else abs(left) % abs(right) * (1 if left >= 0 else -1)


def _shifted(left: int, right: int) -> int | None:
    return left << right if 0 <= right < 64 else None


def _shifted_back(left: int, right: int) -> int | None:
    return left >> right if left >= 0 and 0 <= right < 64 else None


OPERATIONS: dict[str, Callable[[int, int], int | None]] = {
    "IAdd": lambda left, right: left + right,
    "ISub": lambda left, right: left - right,
    "IMul": lambda left, right: left * right,
    "SDiv": _quotient,
    "UDiv": lambda left, right: _quotient(left, right) if left >= 0 and right > 0 else None,
    "SRem": _remainder,
    "UMod": lambda left, right: _remainder(left, right) if left >= 0 and right > 0 else None,
    "BitwiseAnd": lambda left, right: left & right,
    "BitwiseOr": lambda left, right: left | right,
    "BitwiseXor": lambda left, right: left ^ right,
    "ShiftLeftLogical": _shifted,
    "ShiftRightLogical": _shifted_back,
    "ShiftRightArithmetic": lambda left, right: left >> right if 0 <= right < 64 else None,
}


def lane_values(node: Node, width: int, depth: int = DEPTH) -> list[int] | None:
    """What a number is in each lane, or None if that is not known or does not fit its type."""
    if not isinstance(node.type, Int) or depth == 0:
        return None
    constant = constant_int(node)
    if constant is not None:
        return [constant] * width
    if node.op == "Builtin" and node.literals[0] == "SubgroupLocalInvocationId":
        return list(range(width))
    if node.op in ("UConvert", "SConvert", "CopyObject"):
        values = lane_values(node.operands[0], width, depth - 1)
        is_signed = values is not None and min(values) < 0
        return None if is_signed and node.op == "UConvert" else _fitting(values, node.type)
    if node.op not in OPERATIONS:
        return None
    left = lane_values(node.operands[0], width, depth - 1)
    right = lane_values(node.operands[1], width, depth - 1)
    if left is None or right is None:
        return None
    operation = OPERATIONS[node.op]
    results = [operation(a, b) for a, b in zip(left, right, strict=True)]
    known = [each for each in results if each is not None]
    return _fitting(known, node.type) if len(known) == width else None


def _fitting(values: list[int] | None, type_: Int) -> list[int] | None:
    """Values that no type of this width would change."""
    half = 1 << (type_.width - 1)
    return values if values is not None and -half <= min(values) <= max(values) < half else None
