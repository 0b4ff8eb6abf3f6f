"""Bits of integers that are 0 in every work-item, whatever a kernel is given.

Constants, the group size, masks and shifts tell. A value is asked for with all of its width; bits
beyond that count as 0.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.passes import GroupSize
from groundstate.compiler.spirv.types import Int

ALL = (1 << 64) - 1
MOST_STEPS = 24
"""From a value back to what it is computed from."""


class KnownZeros:
    """The bits of one kernel's integers that are 0."""

    def __init__(self, group_size: GroupSize) -> None:
        self.group_size = group_size
        self._known: dict[Node, int] = {}

    def of(self, node: Node, depth: int = MOST_STEPS) -> int:
        """A word of 64 bits with a 1 for each bit that is certainly 0."""
        if not isinstance(node.type, Int):
            return 0
        beyond = ALL ^ _mask(node.type.width)
        if node not in self._known:
            self._known[node] = beyond  # of a value that depends on itself
            found = self._find(node, depth - 1) if depth else 0
            self._known[node] = (found & ALL) | beyond
        return self._known[node]

    def _find(self, node: Node, depth: int) -> int:
        number = constant_int(node)
        if number is not None:
            return ~number
        if node.op == "Builtin":
            return self._of_builtin(node)
        if node.op == "Phi":
            return self._of_phi(node, depth)
        if node.op in ("UConvert", "SConvert"):
            return self._of_cast(node, depth)
        if node.op.startswith("Shift"):
            return self._of_shift(node, depth)
        rule = RULES.get(node.op)
        if rule is None:
            return 0
        operands = node.operands[1:] if node.op == "Select" else node.operands
        one, other = (self.of(each, depth) for each in operands)
        return rule(one, other)

    def _of_builtin(self, node: Node) -> int:
        name, *component = node.literals
        if name == "LocalInvocationId" and component:
            return ~_below(self.group_size[int(str(component[0]))])
        if name == "LocalInvocationIndex":
            x, y, z = self.group_size
            return ~_below(x * y * z)
        return 0

    def _of_cast(self, node: Node, depth: int) -> int:
        operand = node.operands[0]
        if not isinstance(operand.type, Int):
            return 0
        known, sign = self.of(operand, depth), operand.type.width - 1
        copies_sign = node.op == "SConvert" and not known >> sign & 1
        return known & _mask(sign) if copies_sign else known

    def _of_shift(self, node: Node, depth: int) -> int:
        assert isinstance(node.type, Int)
        amount = constant_int(node.operands[1])
        if amount is None or not 0 <= amount < node.type.width:
            return 0
        known = self.of(node.operands[0], depth)
        if node.op == "ShiftLeftLogical":
            return known << amount | _mask(amount)
        is_positive = known >> (node.type.width - 1) & 1
        if node.op == "ShiftRightLogical" or is_positive:
            return known >> amount | ALL ^ (ALL >> amount)
        return 0

    def _of_phi(self, phi: Node, depth: int) -> int:
        """Of a counter, the low bits: it begins with them 0, and goes up by what has them 0."""
        found = ALL
        for each in phi.operands:
            is_next = each.op == "IAdd" and phi in each.operands
            others = [other for other in each.operands if other is not phi] if is_next else [each]
            for other in others:
                found &= _mask(_trailing(self.of(other, depth)))
        return found


def _mask(bits: int) -> int:
    """The low bits."""
    return (1 << bits) - 1


def _below(count: int) -> int:
    """The bits that numbers below a count may have."""
    return _mask((count - 1).bit_length())


def _trailing(zeros: int) -> int:
    """How many of the low bits are 0."""
    return (~zeros & zeros + 1).bit_length() - 1


def _sum(one: int, other: int) -> int:
    """A bit that is 0 in both is 1 in the sum if there is a carry; it is in that of the largest."""
    return one & other & ~((one ^ ALL) + (other ^ ALL))


def _product(one: int, other: int) -> int:
    highest = (one ^ ALL) * (other ^ ALL)
    return ~_mask(highest.bit_length()) | _mask(min(_trailing(one) + _trailing(other), 64))


RULES: dict[str, Callable[[int, int], int]] = {
    "BitwiseAnd": lambda one, other: one | other,
    "BitwiseOr": lambda one, other: one & other,
    "BitwiseXor": lambda one, other: one & other,
    "Select": lambda one, other: one & other,
    "IAdd": _sum,
    "IMul": _product,
}
"""How zeros go through operations of two operands."""
