"""Between which numbers a value lies, where the group size and constants tell.

Only what does not wrap has an interval: the smallest and the largest value, with signs.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.passes import GroupSize
from groundstate.compiler.spirv.types import Int

Interval = tuple[int, int]
MOST_STEPS = 24
"""From a value back to what it is computed from."""


class Intervals:
    """The intervals of one kernel's values."""

    def __init__(self, group_size: GroupSize) -> None:
        self.group_size = group_size
        self._known: dict[Node, Interval | None] = {}

    def of(self, node: Node, depth: int = MOST_STEPS) -> Interval | None:
        """Between which numbers a value lies, or None."""
        if node not in self._known:
            self._known[node] = None  # of a value that depends on itself
            found = self._find(node, depth) if depth else None
            self._known[node] = found if found is not None and _fits(found, node) else None
        return self._known[node]

    def _find(self, node: Node, depth: int) -> Interval | None:
        number = constant_int(node)
        if number is not None:
            return number, number
        if node.op == "Builtin":
            return self._of_builtin(node)
        if node.op == "Phi":
            return self._of_phi(node, depth)
        if node.op in BELOW_CONSTANT:
            return self._below_constant(node, depth)
        rule = RULES.get(node.op)
        if rule is None:
            return None
        operands = [self.of(each, depth - 1) for each in node.operands]
        if node.op == "Select":
            operands = operands[1:]
        known = [each for each in operands if each is not None]
        return rule(*known) if len(known) == len(operands) else None

    def _below_constant(self, node: Node, depth: int) -> Interval | None:
        """Of what a constant bounds, whatever the other operand is."""
        known = [found for each in node.operands if (found := self.of(each, depth - 1))]
        if len(known) == len(node.operands):
            return RULES[node.op](*known)
        bounds = node.operands if node.op == "BitwiseAnd" else node.operands[1:]
        numbers = [number for each in bounds if (number := constant_int(each)) and number > 0]
        return (0, min(numbers) - BELOW_CONSTANT[node.op]) if numbers else None

    def _of_builtin(self, node: Node) -> Interval | None:
        name, *component = node.literals
        sizes = self.group_size
        if name == "LocalInvocationId" and component:
            return 0, sizes[int(str(component[0]))] - 1
        if name == "LocalInvocationIndex":
            return 0, sizes[0] * sizes[1] * sizes[2] - 1
        return None

    def _of_phi(self, phi: Node, depth: int) -> Interval | None:
        """Of a counter that is tested before or after it goes up; else of all that it may be."""
        counted = self._counted(phi, depth)
        if counted is not None:
            return counted
        known = [self.of(each, depth - 1) for each in phi.operands]
        found = [each for each in known if each is not None]
        return _union(*found) if found and len(found) == len(known) else None

    def _counted(self, phi: Node, depth: int) -> Interval | None:
        for place, following in enumerate(phi.operands):
            if following.op != "IAdd" or following.operands[0] is not phi:
                continue
            step, source = constant_int(following.operands[1]), phi.literals[place]
            condition = getattr(source, "condition", None)
            if not step or step < 0 or condition is None or len(phi.operands) != 2:
                continue
            first = self.of(phi.operands[1 - place], depth - 1)
            last = _last(condition, following, source, phi, step, first)
            if first is not None and last is not None and last >= first[1]:
                return first[0], last
        return None


def _last(
    condition: Node, following: Node, latch: object, phi: Node, step: int, first: Interval | None
) -> int | None:
    """The largest value with which a loop begins another iteration."""
    successors = getattr(latch, "successors", [])
    if len(successors) != 2 or not condition.operands:
        return None
    tested = condition.operands[0]
    if tested is not following and tested is not phi:
        return None
    bound = constant_int(condition.operands[1]) if len(condition.operands) == 2 else None
    goes_on = successors[0] is phi.block
    if bound is None or first is None:
        return None
    more = step if tested is phi else 0  # what the test lets through goes up once more
    is_exact = bound > first[1] and (
        step == 1 or (first[0] == first[1] and (bound - first[0]) % step == 0)
    )
    if (condition.op == "INotEqual" and goes_on) or (condition.op == "IEqual" and not goes_on):
        return bound - step + more if is_exact else None
    if condition.op in ("SLessThan", "ULessThan") and goes_on and bound > 0 and first[0] >= 0:
        return max(bound - 1 + more, first[1])
    return None


def _fits(interval: Interval, node: Node) -> bool:
    """True for numbers that the type has, with either sign."""
    width = node.type.width if isinstance(node.type, Int) else 0
    return width > 0 and -(1 << (width - 1)) <= interval[0] and interval[1] < 1 << (width - 1)


def _corners(combine: Callable[[int, int], int]) -> Callable[[Interval, Interval], Interval]:
    """The extremes of something that goes up or down with each of two numbers."""

    def rule(one: Interval, other: Interval) -> Interval:
        values = [combine(a, b) for a in one for b in other]
        return min(values), max(values)

    return rule


def _union(*intervals: Interval) -> Interval:
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def _shifted(value: Interval, amount: Interval) -> Interval | None:
    if amount[0] != amount[1] or not 0 <= amount[0] < 64:
        return None
    return value[0] << amount[0], value[1] << amount[0]


def _shifted_right(value: Interval, amount: Interval) -> Interval | None:
    if amount[0] != amount[1] or not 0 <= amount[0] < 64:
        return None
    return value[0] >> amount[0], value[1] >> amount[0]


def _shifted_right_unsigned(value: Interval, amount: Interval) -> Interval | None:
    return _shifted_right(value, amount) if value[0] >= 0 else None


def _and(one: Interval, other: Interval) -> Interval | None:
    highest = [high for low, high in (one, other) if low >= 0]
    return (0, min(highest)) if highest else None


def _or(one: Interval, other: Interval) -> Interval | None:
    if one[0] < 0 or other[0] < 0:
        return None
    return max(one[0], other[0]), (1 << max(one[1], other[1]).bit_length()) - 1


def _remainder(one: Interval, other: Interval) -> Interval | None:
    if one[0] < 0 or other[0] <= 0:
        return None
    return 0, min(one[1], other[1] - 1)


def _quotient(one: Interval, other: Interval) -> Interval | None:
    return (one[0] // other[1], one[1] // other[0]) if one[0] >= 0 and other[0] > 0 else None


BELOW_CONSTANT = {"BitwiseAnd": 0, "UMod": 1}
"""Operations whose result a constant bounds, and how far below it they stay at least."""
RULES: dict[str, Callable[..., Interval | None]] = {
    "IAdd": _corners(lambda a, b: a + b),
    "ISub": _corners(lambda a, b: a - b),
    "IMul": _corners(lambda a, b: a * b),
    "SConvert": lambda value: value,
    "UConvert": lambda value: value if value[0] >= 0 else None,
    "ShiftLeftLogical": _shifted,
    "ShiftRightArithmetic": _shifted_right,
    "ShiftRightLogical": _shifted_right_unsigned,
    "BitwiseAnd": _and,
    "BitwiseOr": _or,
    "UMod": _remainder,
    "SRem": _remainder,
    "SMod": _remainder,
    "UDiv": _quotient,
    "SDiv": _quotient,
    "Select": _union,
}
"""How intervals go through operations."""
