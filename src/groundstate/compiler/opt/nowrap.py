"""Loops whose 32-bit indices wrap in no round, which is looked at once, before the loop.

A 32-bit index that goes up with the lanes and from round to round is widened to an address. Lanes
then lie next to each other unless the index passes 2^32, which it nearly never does. Where the
last round is known before the first, such a loop gets a copy for indices that do not, and memory is
read and written there as vectors, without a look in every round.
"""

from __future__ import annotations

from groundstate.compiler.analysis.affine import STILL, Step, combined, widened
from groundstate.compiler.analysis.divergence import VARYING
from groundstate.compiler.analysis.simple_loop import (
    SimpleLoop,
    change_simple_loops,
    copy_of,
    retarget,
)
from groundstate.compiler.ir import Block, Kernel, Node, constant_int
from groundstate.compiler.ir.ops import OPERATIONS, Affine, operation
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.opcodes import Decoration
from groundstate.compiler.spirv.types import Bool, Int

HALF = 1 << 31
KEPT = (Affine.SUM, Affine.DIFFERENCE, Affine.PRODUCT, Affine.SHIFT_LEFT)
"""The operations that an induction variable may go through: modulo 2^32 they are exact."""
DEPTH = 8
"""How many operations may lead from an induction variable to an index."""


def version_for_no_wrap(kernel: Kernel, analyses: Analyses) -> bool:
    """Gives each loop whose index may wrap a version for when it does not."""
    return change_simple_loops(kernel, analyses, _version)


def _version(loop: SimpleLoop) -> bool:
    """Gives a loop a copy in which no index wraps, if it has any that may."""
    target, iterations = loop.divergence.target, _Iterations(loop)
    indices = iterations.indices()
    if (
        not indices
        or len(loop.nodes) > target.most_versioned_operations
        or not loop.can_be_copied()
    ):
        return False
    guard, after = Block(loop.header.where), Block(loop.header.where)
    after.successors = [loop.exit]
    checks = [iterations.check(index, guard) for index in indices]
    guard.condition = _all(checks, guard)
    head, copies = loop.copy(loop.inside, guard, after)
    for index in indices:
        copies[index].decorations = {**index.decorations, Decoration.NoUnsignedWrap: ()}
    guard.successors = [head, loop.header]
    retarget(loop.entering, guard, loop.header)
    loop.enter_from(guard)
    loop.merge_exits(head, after, copies)
    for block in loop.blocks:
        block.cold = True
    return True


def _all(checks: list[Node], block: Block) -> Node:
    result = checks[0]
    for check in checks[1:]:
        result = Node("LogicalAnd", Bool(), [result, check], where=check.where)
        block.nodes.append(result)
    return result


class _Iterations:
    """How the values of a loop change from round to round, and how many rounds there are."""

    def __init__(self, loop: SimpleLoop) -> None:
        self.loop = loop
        self.test = self._find_test()

    def _find_test(self) -> tuple[str, Node, Node] | None:
        """The comparison by which the loop goes on: a number that changes, and a fixed bound."""
        condition = self.loop.condition
        op = condition.op
        if self.loop.header.successors[0] is self.loop.exit:
            op = operation(condition).negated
        if not op or not OPERATIONS[op].swapped:
            return None
        number, bound = condition.operands
        if bound in self.loop.inside:
            number, bound, op = bound, number, OPERATIONS[op].swapped
        found = self.step(number)
        if bound in self.loop.inside or found is None or found.factor is not None:
            return None
        step = found.amount
        if not isinstance(number.type, Int) or abs(step) >= 1 << number.type.width - 1:
            return None
        goes_there = {"LessThan": step > 0, "GreaterThan": step < 0, "NotEqual": abs(step) == 1}
        return (op, number, bound) if goes_there.get(op[1:]) else None

    def indices(self) -> list[Node]:
        """The nodes that widen an index that goes up with the lanes and the iterations."""
        if self.test is None:
            return []
        return [node for block in self.loop.blocks for node in block.nodes if self._is_index(node)]

    def _is_index(self, node: Node) -> bool:
        index, stride = widened(node), self.loop.divergence.stride
        if index is None or stride(node) is not VARYING or (stride(index) or 0) <= 0:
            return False
        step = self.step(index)
        if step is None:
            return False
        return 0 < step.amount < HALF if step.factor is None else step.amount == 1

    def step(self, node: Node, depth: int = DEPTH) -> Step | None:
        """By how much a number goes up in each iteration, or None if that is not known."""
        if node not in self.loop.inside:
            return STILL
        if node.op == "Phi":
            return self._step_of_phi(node)
        if depth == 0 or (operation(node).affine not in KEPT and not _is_narrowed(node)):
            return None
        steps = [self.step(each, depth - 1) for each in node.operands]
        known = [each for each in steps if each is not None]
        return combined(node, known, _is_narrowed) if len(known) == len(steps) else None

    def _step_of_phi(self, phi: Node) -> Step | None:
        following = self.loop.next_value(phi)
        if following in self.loop.header.phis and following is not phi:
            return self._step_ahead(phi, following)
        step = _added(following, phi)
        return None if step is None or step.factor in self.loop.inside else step

    def _step_ahead(self, phi: Node, ahead: Node) -> Step | None:
        """The step of a number that is what another one was a round ago."""
        step = _added(self.loop.next_value(ahead), ahead)
        first = _added(self.loop.first_value(ahead), self.loop.first_value(phi))
        return step if step == first else None

    def check(self, index: Node, block: Block) -> Node:
        """Writes into a block what is true if an index wraps in no round."""
        assert self.test is not None
        number = widened(index)
        assert number is not None
        op, counter, bound = self.test
        step, counted = self.step(number), self.step(counter)
        assert step is not None
        assert counted is not None
        operands = [self._at_first(number, block), self._at_first(counter, block), bound]
        operands += [step.factor] if step.factor is not None else []
        literals = (op, counted.amount, step.amount if step.factor is None else None)
        block.nodes.append(Node("NeverWraps", Bool(), operands, literals, index.where))
        return block.nodes[-1]

    def _at_first(self, number: Node, block: Block) -> Node:
        """Writes into a block what a number is in the first round."""
        if number not in self.loop.inside:
            return number
        if number.op == "Phi":
            return self.loop.first_value(number)
        firsts = {each: self._at_first(each, block) for each in number.operands}
        block.nodes.append(copy_of(number, firsts))
        return block.nodes[-1]


def _is_narrowed(node: Node) -> bool:
    """True for the low bits of a number."""
    source = node.operands[0].type if node.op in ("UConvert", "SConvert") else None
    return (
        isinstance(source, Int) and isinstance(node.type, Int) and source.width >= node.type.width
    )


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
