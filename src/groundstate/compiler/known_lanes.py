"""Numbers that are known for each lane when a kernel is compiled.

What is computed from the number of a lane and from constants is the same in every sub-group: such
as `id / 8 * 8 + 3`, by which kernels take a value from one lane of each eight. A shuffle by such a
number is one instruction or two.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.ir import Node
from groundstate.compiler.spirv.types import Int
from groundstate.compiler.uniformity import constant_int

DEPTH = 12
"""How far back a number is followed."""


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
