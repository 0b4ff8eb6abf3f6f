"""What lanes share of their local ids.

The lanes of a vector are neighbours, and where rows of a group are whole vectors, the first one's
local id is a multiple of their number. So `id / 32` and `id >> 5` are the same in all of them, and
`id % 32` and `id & 31` go up by one: that is how several work-items share a row of a matrix. Of
global ids that is not known: they may begin anywhere.
"""

from __future__ import annotations

from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.ops import CASTS
from groundstate.compiler.spirv.types import Int

QUOTIENTS = frozenset(("UDiv", "SDiv"))
REMAINDERS = frozenset(("UMod", "SMod", "SRem"))
SHIFTS = frozenset(("ShiftRightLogical", "ShiftRightArithmetic"))
IDS = frozenset(("LocalInvocationId", "LocalInvocationIndex"))
MOST_CASTS = 4
LEAST_BITS = 32
"""Of an id that keeps all that a local id can be."""


def stride_within_block(node: Node, width: int) -> int | None:
    """The lane stride of a part of a local id, if blocks of lanes share it; else None."""
    if len(node.operands) != 2 or not _is_local_id(node.operands[0]):
        return None
    number = constant_int(node.operands[1])
    if number is None or number <= 0:
        return None
    if node.op in SHIFTS:
        return 0 if number < LEAST_BITS and (1 << number) % width == 0 else None
    if node.op in QUOTIENTS or node.op in REMAINDERS:
        is_shared = number % width == 0
        return (0 if node.op in QUOTIENTS else 1) if is_shared else None
    if node.op == "BitwiseAnd" and number & (number + 1) == 0:
        return 1 if (number + 1) % width == 0 else None
    return None


def _is_local_id(node: Node) -> bool:
    """True for a local id along the lanes: its caller knows that it goes up with them."""
    for _ in range(MOST_CASTS):
        if node.op not in CASTS:
            break
        if not isinstance(node.type, Int) or node.type.width < LEAST_BITS:
            return False
        node = node.operands[0]
    return node.op == "Builtin" and node.literals[0] in IDS
