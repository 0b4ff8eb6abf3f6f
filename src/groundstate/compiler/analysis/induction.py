"""How the values of a loop change from iteration to iteration, and when it ends.

An induction variable is a phi that goes up by the same step in each iteration. What is computed
from one goes up by a fixed step, too, as long as the operations are exact modulo the width.
"""

from __future__ import annotations

from typing import NamedTuple

from groundstate.compiler.analysis.affine import STILL, Start, Step, Steps, WalkedAxis
from groundstate.compiler.analysis.simple_loop import SingleExitLoop
from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.ops import OPERATIONS, Affine, operation
from groundstate.compiler.spirv.types import Int

EXACT = (Affine.SUM, Affine.DIFFERENCE, Affine.PRODUCT, Affine.SHIFT_LEFT)
"""The operations that an induction variable may go through: modulo its width they are exact."""
MAX_DEPTH = 8
"""How many operations may lead from an induction variable to an index."""


class LoopTest(NamedTuple):
    """By what a loop goes on."""

    op: str
    """The comparison that is true as long as it does."""
    number: Node
    """The induction variable, or what is computed from it."""
    bound: Node
    """What it is compared with, which is the same in all iterations."""


class Induction(WalkedAxis):
    """The iterations of a loop, as an axis along which values go up."""

    def __init__(self, loop: SingleExitLoop, still: frozenset[Node] = frozenset()) -> None:
        self.loop = loop
        self.moving = loop.inside - still
        """What is computed in each iteration, but for what is known to stay the same."""
        self._steps = Steps(self, MAX_DEPTH)
        self.test = self._find_test()

    def step(self, node: Node) -> Step | None:
        """By how much a number goes up in each iteration, or None if that is not known."""
        return self._steps.of(node)

    def start(self, node: Node) -> Start:
        if node not in self.moving:
            return STILL
        if node.op == "Phi":
            return self._step_of_phi(node) if node in self.loop.header.phis else None
        if operation(node).affine not in EXACT and not self.keeps(node):
            return None
        return node.operands

    def keeps(self, node: Node) -> bool:
        """True for the low bits of a number."""
        row = operation(node)
        source = node.operands[0].type if row.affine in (Affine.SAME, Affine.WIDENED) else None
        return (
            isinstance(source, Int)
            and isinstance(node.type, Int)
            and source.width >= node.type.width
        )

    def _step_of_phi(self, phi: Node) -> Step | None:
        following = self.loop.next_value(phi)
        if following in self.loop.header.phis and following is not phi:
            return self._step_ahead(phi, following)
        step = _added(following, phi)
        return None if step is None or step.factor in self.moving else step

    def _step_ahead(self, phi: Node, ahead: Node) -> Step | None:
        """The step of a number that is what another one was an iteration ago."""
        step = _added(self.loop.next_value(ahead), ahead)
        first = _added(self.loop.first_value(ahead), self.loop.first_value(phi))
        return step if step == first else None

    def _find_test(self) -> LoopTest | None:
        """The comparison by which the loop goes on, if its end can be told before it begins."""
        condition = self.loop.condition
        op = condition.op
        if self.loop.exiting.successors[0] is self.loop.exit:
            op = operation(condition).negated
        if not op or not OPERATIONS[op].swapped:
            return None
        number, bound = condition.operands
        if bound in self.moving:
            number, bound, op = bound, number, OPERATIONS[op].swapped
        found = self.step(number)
        if bound in self.moving or found is None or found.factor is not None:
            return None
        step = found.amount
        if not isinstance(number.type, Int) or abs(step) >= 1 << number.type.width - 1:
            return None
        goes_there = {"LessThan": step > 0, "GreaterThan": step < 0, "NotEqual": abs(step) == 1}
        return LoopTest(op, number, bound) if goes_there.get(op[1:]) else None


def _added(total: Node, number: Node) -> Step | None:
    """What is added to a number to give a total, or None."""
    rule = operation(total).affine
    if rule not in (Affine.SUM, Affine.DIFFERENCE):
        return None
    one, other = total.operands
    if rule is Affine.SUM and other is number:
        one, other = other, one
    if one is not number:
        return None
    constant = constant_int(other)
    if constant is None:
        return Step(1, other) if rule is Affine.SUM else None
    return Step(constant if rule is Affine.SUM else -constant)
