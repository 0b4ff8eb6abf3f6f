"""No-wrap loop versioning: a loop gets a version for when none of its 32-bit indices wraps.

A 32-bit index that goes up with the lanes and from iteration to iteration is widened to an address.
Lanes then lie next to each other unless the index passes 2^32, which it nearly never does. Where
the trip count is known before the first iteration, one check before the loop tells, and the version
reads and writes memory as vectors, without a check in every iteration.

On a GPU, which has no lanes, a loop with an index that goes up by a product gets such a version:
there the address becomes a pointer (`reduce_strides.py`).
"""

from __future__ import annotations

from groundstate.compiler.analysis.affine import widened
from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.analysis.divergence import VARYING, Divergence
from groundstate.compiler.analysis.induction import Induction
from groundstate.compiler.analysis.simple_loop import (
    SimpleLoop,
    change_simple_loops,
    copy_of,
)
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.passes import Analyses, Variant
from groundstate.compiler.opt.versioning import Guard, Version, add_version
from groundstate.compiler.spirv.opcodes import Decoration
from groundstate.compiler.spirv.types import Bool

HALF = 1 << 31


def version_for_no_wrap(kernel: Kernel, analyses: Analyses) -> bool:
    """Gives each loop whose index may wrap a version for when it does not."""
    return change_simple_loops(kernel, analyses, _version)


def version_products_for_no_wrap(kernel: Kernel, analyses: Analyses) -> bool:
    """The same for each loop of a thread with an index that goes up by a product."""
    changed = False
    for header in [loop.header for loop in analyses.get(CFG).loops]:
        cfg = analyses.get(CFG)
        divergence = Divergence(kernel, cfg, Variant((1, 1, 1), 1, 1), analyses.target)
        found = next(each for each in cfg.loops if each.header is header)
        loop = SimpleLoop.of(divergence, found)
        if loop is not None and _version_by(loop, _Products(loop)):
            kernel.reorder()
            analyses.invalidate()
            changed = True
    return changed


def _version(loop: SimpleLoop) -> bool:
    return _version_by(loop, _Indices(loop))


def _version_by(loop: SimpleLoop, candidates: _Indices) -> bool:
    """Gives a loop a copy in which no index wraps, if it has any that may."""
    target = loop.divergence.target
    indices = candidates.found()
    if (
        not indices
        or len(loop.nodes) > target.most_versioned_operations
        or not loop.can_be_copied()
    ):
        return False
    nodes: list[Node] = []
    checks = [candidates.check(index, nodes) for index in indices]
    condition = _all(checks, nodes)
    before = Block(loop.header.where)
    fast = Version.copy_of(loop, before)
    for index in indices:
        fast.values[index].decorations = {**index.decorations, Decoration.NoUnsignedWrap: ()}
    add_version(loop, before, [Guard(condition, nodes)], fast)
    for block in loop.blocks:
        block.cold = True
    return True


def _all(checks: list[Node], nodes: list[Node]) -> Node:
    result = checks[0]
    for check in checks[1:]:
        result = check.derive("LogicalAnd", Bool(), [result, check])
        nodes.append(result)
    return result


class _Indices:
    """The 32-bit indices of a loop that may wrap."""

    def __init__(self, loop: SimpleLoop) -> None:
        self.loop = loop
        self.induction = Induction(loop)

    def found(self) -> list[Node]:
        """The nodes that widen an index that goes up with the lanes and the iterations."""
        if self.induction.test is None:
            return []
        return [node for block in self.loop.blocks for node in block.nodes if self._is_index(node)]

    def _is_index(self, node: Node) -> bool:
        index, stride = widened(node), self.loop.divergence.stride
        if index is None or stride(node) is not VARYING or (stride(index) or 0) <= 0:
            return False
        return self._goes_up(index)

    def _goes_up(self, index: Node) -> bool:
        step = self.induction.step(index)
        if step is None:
            return False
        return 0 < step.amount < HALF if step.factor is None else step.amount == 1

    def check(self, index: Node, nodes: list[Node]) -> Node:
        """Adds to some nodes what is true if an index wraps in no iteration."""
        assert self.induction.test is not None
        number = widened(index)
        assert number is not None
        op, variable, bound = self.induction.test
        step, counted = self.induction.step(number), self.induction.step(variable)
        assert step is not None
        assert counted is not None
        operands = [self._at_first(number, nodes), self._at_first(variable, nodes), bound]
        operands += [step.factor] if step.factor is not None else []
        literals = (op, counted.amount, step.amount if step.factor is None else None)
        nodes.append(index.derive("NeverWraps", Bool(), operands, literals))
        return nodes[-1]

    def _at_first(self, number: Node, nodes: list[Node]) -> Node:
        """Adds to some nodes what a number is in the first iteration."""
        if number not in self.loop.inside:
            return number
        if number.op == "Phi":
            return self.loop.first_value(number)
        firsts = {each: self._at_first(each, nodes) for each in number.operands}
        nodes.append(copy_of(number, firsts))
        return nodes[-1]


class _Products(_Indices):
    """Those of a loop in which at least one goes up by a product of 32 bits."""

    def found(self) -> list[Node]:
        indices = super().found()
        return indices if any(map(self._goes_by_product, indices)) else []

    def _goes_by_product(self, node: Node) -> bool:
        index = widened(node)
        step = self.induction.step(index) if index is not None else None
        if index is None or step is None or step.factor is None:
            return False
        return node.op == "UConvert" and step.factor.type == index.type

    def _is_index(self, node: Node) -> bool:
        index = widened(node)
        return index is not None and self._goes_up(index)
