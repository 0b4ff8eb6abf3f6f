"""Affine values: those that go up by a fixed step along an axis.

The axis is the lanes of a vector (`divergence.py`), the iterations of a loop (`induction.py`), or
the work-groups of a launch (`opt/prefetch.py`). What starts to move, an id or a phi, is known to
the axis. How a step goes through an operation is known here, by the rule that its row names: the
step of a sum is the sum of the steps, and other operations keep a fixed step where nothing wraps
and nothing is lost, which often follows from how compilers write indices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.addresses import chain_steps
from groundstate.compiler.ir.ops import CASTS, Affine, operation
from groundstate.compiler.spirv.opcodes import Decoration
from groundstate.compiler.spirv.types import Int, Pointer, Type

LOW_WORD = 0xFFFFFFFF
MOST_CASTS = 8
"""In a row, from an id to where it is used."""
MOST_ITEMS = 1 << 20
"""More than any group has."""
ID_BITS = 32
"""A row of ids does not cross a multiple of what so many bits hold."""
MOST_SMALL = (1 << 31) - 1
SMALL_IDS = frozenset(
    ("LocalInvocationId", "LocalInvocationIndex", "WorkgroupSize", "EnqueuedWorkgroupSize")
)
SMALL_SUMS = (Affine.SUM, Affine.PRODUCT, Affine.SHIFT_LEFT, Affine.AND, Affine.OR)
"""Operations through which numbers stay small, or it is known how large they get."""


class Step(NamedTuple):
    """`amount` times `factor`; the factor, if there is one, is the same all along the axis."""

    amount: int
    factor: Node | None = None

    @property
    def is_none(self) -> bool:
        """True for what does not move."""
        return self.amount == 0


STILL = Step(0)

Start = Step | list[Node] | None
"""What an axis knows of a value: its step, that it has none, or what to ask to find it out."""


class Axis:
    """Along which values go up."""

    def keeps(self, node: Node) -> bool:
        """Whether a conversion keeps the step of its operand."""
        del node
        return True

    def sizes(self, chain: Node) -> list[tuple[int | None, int]]:
        """The bytes that the indices of an access chain step over."""
        return chain_steps(chain)


class WalkedAxis(Axis, ABC):
    """An axis along which the steps of single values are looked for."""

    @abstractmethod
    def start(self, node: Node) -> Start:
        """The step of what begins to move or stands still; else the operands that move it."""


class Steps:
    """The steps of values along an axis, found when they are asked for."""

    def __init__(self, axis: WalkedAxis, max_depth: int) -> None:
        self.axis = axis
        self.max_depth = max_depth
        self._known: dict[Node, Step | None] = {}

    def of(self, node: Node, depth: int = 0) -> Step | None:
        """By how much a value goes up, or None if that is not plain to see."""
        if node not in self._known:
            self._known[node] = self._find(node, depth)
        return self._known[node]

    def _find(self, node: Node, depth: int) -> Step | None:
        start = self.axis.start(node)
        if not isinstance(start, list):
            return start
        if depth >= self.max_depth:
            return None
        steps = [self.of(each, depth + 1) for each in start]
        known = [each for each in steps if each is not None]
        return combined(node, known, self.axis) if len(known) == len(steps) else None


def combined(node: Node, steps: list[Step], axis: Axis) -> Step | None:
    """By how much the result of an operation goes up, or None if by more than one amount."""
    kind = operation(node).affine
    if kind in (Affine.SAME, Affine.WIDENED):
        return steps[0] if axis.keeps(node) else None
    if all(step.is_none for step in steps):
        return STILL
    if kind is Affine.CHAIN:
        return _chained(axis.sizes(node), steps)
    if node.op == "Phi":
        return steps[0] if len(set(steps)) == 1 else None
    rule = RULES.get(kind)
    return rule(node, steps) if rule is not None else None


# --- Lanes --------------------------------------------------------------------------------------


class Lanes(Axis):
    """The lanes of a vector. Which values begin to differ there is up to `divergence.py`."""

    def keeps(self, node: Node) -> bool:
        if operation(node).affine is Affine.WIDENED:
            return _cannot_wrap(node)
        return _is_address(node.type)

    def step(self, node: Node, strides: list[int]) -> int | None:
        """By how much the result of an operation goes up from lane to lane, or None."""
        found = combined(node, [Step(each) for each in strides], self)
        return found.amount if found is not None and found.factor is None else None


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
    """True if a 32-bit id is widened again: a row of ids does not cross a multiple of 2^32. Nor
    does what is computed from small numbers."""
    assert isinstance(node.type, Int)
    operand = node.operands[0].type
    narrowing = isinstance(operand, Int) and operand.width > node.type.width
    if (narrowing and node.type.width >= 32) or _was_checked(node):
        return True
    return _is_id(node.operands[0]) or _highest(node.operands[0]) is not None


def _was_checked(node: Node) -> bool:
    """True if the program itself has made sure that nothing wraps (no-wrap loop versioning)."""
    return Decoration.NoUnsignedWrap in node.decorations


def _highest(node: Node, depth: int = 6) -> int | None:
    """What a number that is not negative does not exceed in any lane. None if that is not plain to
    see, or it may not fit into 31 bits."""
    found = _bound(node, depth)
    return found if found is not None and 0 <= found <= MOST_SMALL else None


def _bound(node: Node, depth: int) -> int | None:
    number = constant_int(node)
    if number is not None:
        return number
    if node.op == "Builtin":
        return MOST_ITEMS if node.literals[0] in SMALL_IDS else None
    rule = operation(node).affine
    is_cast = node.op in CASTS and isinstance(node.operands[0].type, Int)
    if depth == 0 or not (is_cast or rule in SMALL_SUMS) or not isinstance(node.type, Int):
        return None
    bounds = [_highest(each, depth - 1) for each in node.operands]
    known = [each for each in bounds if each is not None]
    if rule is Affine.AND:
        return min(known, default=None)
    if len(known) < len(bounds) or node.type.width < 32:
        return None
    if is_cast:
        return known[0]
    if rule is Affine.SHIFT_LEFT:
        return known[0] << min(known[1], 32)
    return known[0] * known[1] if rule is Affine.PRODUCT else known[0] + known[1]


def _is_id(node: Node) -> bool:
    for _ in range(MOST_CASTS):
        if node.op not in CASTS:
            break
        node = node.operands[0]
    return node.op == "Builtin"


# --- Operations -----------------------------------------------------------------------------------


def _sum(node: Node, steps: list[Step]) -> Step | None:
    del node
    return added(steps[0], steps[1])


def _difference(node: Node, steps: list[Step]) -> Step | None:
    del node
    return added(steps[0], Step(-steps[1].amount, steps[1].factor))


def added(one: Step, other: Step) -> Step | None:
    """The step of a sum."""
    if one.is_none or other.is_none:
        return other if one.is_none else one
    return Step(one.amount + other.amount, one.factor) if one.factor is other.factor else None


def _product(node: Node, steps: list[Step]) -> Step | None:
    for moving, other in ((0, 1), (1, 0)):
        if not steps[other].is_none:
            continue
        amount, factor = steps[moving]
        number = constant_int(node.operands[other])
        if number is not None:
            return Step(amount * number, factor)
        if factor is None:
            return Step(amount, node.operands[other])
    return None


def _shifted_left(node: Node, steps: list[Step]) -> Step | None:
    amount = constant_int(node.operands[1])
    if amount is None or not 0 <= amount < 63:
        return None
    return Step(steps[0].amount << amount, steps[0].factor)


def _shifted_right(node: Node, steps: list[Step]) -> Step | None:
    """(x << a) + (y << a) >> b with a >= b: so compilers widen a sum, and scale it in the same
    go. A product is x * (y << a). (x << 30) >> 30 has two bits of x, which start over."""
    amount, zeros = constant_int(node.operands[1]), _low_zeros(node.operands[0])
    if amount is None or not 0 <= amount <= zeros or steps[0].factor:
        return None
    assert isinstance(node.type, Int)
    is_promised = Decoration.NoSignedWrap in node.decorations
    starts_over = node.type.width - zeros < ID_BITS and _highest(node.operands[0]) is None
    if starts_over and not is_promised:
        return None
    return Step(steps[0].amount >> amount)


def _quotient(node: Node, steps: list[Step]) -> Step | None:
    """x * 16 / 8, where nothing is lost: so compilers write shares of a row."""
    product, divisor = node.operands[0], constant_int(node.operands[1])
    promise = Decoration.NoSignedWrap if node.op == "SDiv" else Decoration.NoUnsignedWrap
    if (
        operation(product).affine is not Affine.PRODUCT
        or promise not in product.decorations
        or not divisor
    ):
        return None
    factors = [constant_int(each) for each in product.operands]
    if steps[0].factor or not any(each is not None and each % divisor == 0 for each in factors):
        return None
    return Step(steps[0].amount // divisor)


def _masked(node: Node, steps: list[Step]) -> Step | None:
    """x & 0xffffffff: an id that is cut to 32 bits and widened again."""
    for affine, other in ((0, 1), (1, 0)):
        mask = constant_int(node.operands[other])
        if mask == LOW_WORD and (
            _is_id(node.operands[affine])
            or _was_checked(node)
            or _highest(node.operands[affine]) is not None
        ):
            return steps[affine]
    return None


def _joined(node: Node, steps: list[Step]) -> Step | None:
    """x << 2 | 3, where no bit is in both."""
    return added(*steps) if constant_added(node) is not None else None


def _selected(node: Node, steps: list[Step]) -> Step | None:
    is_one_step = steps[0].is_none and steps[1] == steps[2]
    return steps[1] if is_one_step and _is_address(node.type) else None


def _chained(sizes: list[tuple[int | None, int]], steps: list[Step]) -> Step | None:
    total: Step | None = steps[0]
    for (size, _), (amount, factor) in zip(sizes, steps[1:], strict=True):
        total = added(total, Step(amount * (size or 0), factor)) if total is not None else None
    return total


def _low_zeros(node: Node, depth: int = 3) -> int:
    """How many of the low bits of a number are certainly 0, as far as a short look shows."""
    rule = operation(node).affine
    if rule is Affine.SHIFT_LEFT:
        return min(max(constant_int(node.operands[1]) or 0, 0), 64)
    if rule in (Affine.SUM, Affine.DIFFERENCE) and depth > 0:
        return min(_low_zeros(each, depth - 1) for each in node.operands)
    if rule is Affine.PRODUCT and depth > 0:
        return min(sum(_low_zeros(each, depth - 1) for each in node.operands), 64)
    value = constant_int(node)
    return 0 if not value else (value & -value).bit_length() - 1


def constant_added(node: Node) -> tuple[Node, int] | None:
    """The number and the constant that a node is the sum of, if it is one.

    Compilers also write x << 2 | 3, where no bit is in both."""
    rule = operation(node).affine
    if rule not in (Affine.SUM, Affine.OR):
        return None
    for number, other in (node.operands, node.operands[::-1]):
        constant = constant_int(other)
        if constant is None:
            continue
        if rule is Affine.SUM or 0 <= constant < 1 << _low_zeros(number):
            return number, constant
    return None


RULES: dict[Affine, Callable[[Node, list[Step]], Step | None]] = {
    Affine.SUM: _sum,
    Affine.DIFFERENCE: _difference,
    Affine.PRODUCT: _product,
    Affine.SHIFT_LEFT: _shifted_left,
    Affine.SHIFT_RIGHT: _shifted_right,
    Affine.QUOTIENT: _quotient,
    Affine.AND: _masked,
    Affine.OR: _joined,
    Affine.SELECT: _selected,
}
