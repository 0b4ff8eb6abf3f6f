"""Numbers that are known for each lane when a kernel is compiled.

What is computed from the number of a lane and from constants is the same in every sub-group: such
as `id / 8 * 8 + 3`, by which kernels take a value from one lane of each eight. A shuffle by such a
number is one instruction or two. And where no lane takes anything from outside of its eight, the
eight need not wait for the others of their sub-group.
"""

from __future__ import annotations

from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.ops import operation
from groundstate.compiler.spirv.fold_numbers import as_signed, mask, width_of
from groundstate.compiler.spirv.types import Int

DEPTH = 12
"""How far back a number is followed."""


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
    source = operation(shuffle).source_lane
    assert source is not None
    picks = [source(lane, amount) % subgroup for lane, amount in enumerate(amounts)]
    vectors = [
        [pick - first for pick in picks[first : first + width]]
        for first in range(0, subgroup, width)
    ]
    is_inside = all(0 <= pick < width for pick in vectors[0])
    return vectors[0] if is_inside and vectors.count(vectors[0]) == len(vectors) else None


def lane_values(node: Node, width: int, depth: int = DEPTH) -> list[int] | None:
    """What a number is in each lane, with its sign, or None if that is not known."""
    if not isinstance(node.type, Int) or depth == 0:
        return None
    constant = constant_int(node)
    if constant is not None:
        return [constant] * width
    if node.op == "Builtin" and node.literals[0] == "SubgroupLocalInvocationId":
        return list(range(width))
    fold = operation(node).fold
    if fold is None:
        return None
    types = [each.type for each in node.operands]
    lanes = []
    for operand, type_ in zip(node.operands, types, strict=True):
        values = lane_values(operand, width, depth - 1)
        if values is None:
            return None
        lanes.append([value & mask(width_of(type_)) for value in values])
    results = [fold.compute(types[0], node.type, *bits) for bits in zip(*lanes, strict=True)]
    return [as_signed(node.type, each) for each in results]
