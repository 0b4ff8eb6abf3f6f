"""Numbers and addresses that go up by a fixed step from lane to lane, and what keeps them so.

The step of a sum is the sum of the steps. Other operations keep a fixed step where nothing wraps
and nothing is lost, which often follows from how compilers write indices.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.ops import Affine, operation
from groundstate.compiler.spirv.opcodes import Decoration
from groundstate.compiler.spirv.types import Int, Pointer, Type

LOW_WORD = 0xFFFFFFFF


def step_of(node: Node, steps: list[int]) -> int | None:
    """By how much the result of an operation goes up, or None if by more than one amount."""
    rule = RULES.get(operation(node).affine)
    return rule(node, steps) if rule is not None else None


def widened(node: Node) -> Node | None:
    """What a node widens from 32 bits to 64 without its sign, or None."""
    if not isinstance(node.type, Int) or node.type.width != 64:
        return None
    if node.op == "UConvert":
        operand = node.operands[0]
        return operand if isinstance(operand.type, Int) and operand.type.width == 32 else None
    if node.op == "BitwiseAnd":
        for number, mask in (node.operands, reversed(node.operands)):
            if constant_int(mask) == LOW_WORD:
                return number
    return None


def _is_address(type_: Type) -> bool:
    return isinstance(type_, Pointer) or (isinstance(type_, Int) and type_.width >= 32)


def _cannot_wrap(node: Node) -> bool:
    """True if a 32-bit id is widened again: a row of ids does not cross a multiple of 2^32."""
    assert isinstance(node.type, Int)
    operand = node.operands[0].type
    narrowing = isinstance(operand, Int) and operand.width > node.type.width
    return (narrowing and node.type.width >= 32) or _is_id(node.operands[0]) or _was_checked(node)


def _was_checked(node: Node) -> bool:
    """True if the program itself has made sure that nothing wraps (unwrapped_loops.py)."""
    return Decoration.NoUnsignedWrap in node.decorations


def _sign_extended(node: Node, steps: list[int]) -> int | None:
    """(x << a) + (y << a) >> b with a >= b: so compilers widen a sum, and scale it in the same
    go."""
    right = constant_int(node.operands[1])
    if right is None or not 0 <= right <= _low_zeros(node.operands[0]):
        return None
    return steps[0] >> right


def _low_zeros(node: Node, depth: int = 3) -> int:
    """How many of the low bits of a number are certainly 0, as far as a short look shows."""
    if node.op == "ShiftLeftLogical":
        return max(constant_int(node.operands[1]) or 0, 0)
    if node.op in ("IAdd", "ISub") and depth > 0:
        return min(_low_zeros(each, depth - 1) for each in node.operands)
    value = constant_int(node)
    return 0 if not value else (value & -value).bit_length() - 1


def constant_added(node: Node) -> tuple[Node, int] | None:
    """The number and the constant that a node is the sum of, if it is one.

    Compilers also write x << 2 | 3, where no bit is in both."""
    if node.op not in ("IAdd", "BitwiseOr"):
        return None
    for number, other in (node.operands, node.operands[::-1]):
        constant = constant_int(other)
        if constant is None:
            continue
        if node.op == "IAdd" or 0 <= constant < 1 << _low_zeros(number):
            return number, constant
    return None


def _masked(node: Node, steps: list[int]) -> int | None:
    """x & 0xffffffff: an id that is cut to 32 bits and widened again."""
    for linear, other in ((0, 1), (1, 0)):
        mask = constant_int(node.operands[other])
        if mask == LOW_WORD and (_is_id(node.operands[linear]) or _was_checked(node)):
            return steps[linear]
    return None


def _is_id(node: Node) -> bool:
    while node.op in ("UConvert", "SConvert", "CopyObject", "Bitcast"):
        node = node.operands[0]
    return node.op == "Builtin"


def _multiplied(node: Node, steps: list[int]) -> int | None:
    for linear, other in ((0, 1), (1, 0)):
        factor = constant_int(node.operands[other])
        if steps[other] == 0 and factor is not None:
            return steps[linear] * factor
    return None


def _shifted(node: Node, steps: list[int]) -> int | None:
    amount = constant_int(node.operands[1])
    return steps[0] << amount if amount is not None and 0 <= amount < 63 else None


def _divided(node: Node, steps: list[int]) -> int | None:
    """x * 16 / 8, where nothing is lost: so compilers write shares of a row."""
    product, divisor = node.operands[0], constant_int(node.operands[1])
    promise = Decoration.NoSignedWrap if node.op == "SDiv" else Decoration.NoUnsignedWrap
    if product.op != "IMul" or promise not in product.decorations or not divisor:
        return None
    factors = [constant_int(each) for each in product.operands]
    if not any(each is not None and each % divisor == 0 for each in factors):
        return None
    return steps[0] // divisor


def _same(node: Node, steps: list[int]) -> int | None:
    return steps[0] if _is_address(node.type) else None


def _selected(node: Node, steps: list[int]) -> int | None:
    is_one_step = steps[0] == 0 and steps[1] == steps[2]
    return steps[1] if is_one_step and _is_address(node.type) else None


RULES: dict[Affine, Callable[[Node, list[int]], int | None]] = {
    Affine.SAME: _same,
    Affine.WIDENED: lambda node, steps: steps[0] if _cannot_wrap(node) else None,
    Affine.SUM: lambda node, steps: steps[0] + steps[1],
    Affine.DIFFERENCE: lambda node, steps: steps[0] - steps[1],
    Affine.PRODUCT: _multiplied,
    Affine.SHIFT_LEFT: _shifted,
    Affine.SHIFT_RIGHT: _sign_extended,
    Affine.QUOTIENT: _divided,
    Affine.AND: _masked,
    Affine.OR: lambda node, steps: sum(steps) if constant_added(node) is not None else None,
    Affine.SELECT: _selected,
}
