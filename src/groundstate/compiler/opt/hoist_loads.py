"""Loop versioning for loads that stay the same: a loop reads once what its stores do not reach.

`for (k = starts[i]; k < starts[i + 1]; k++) out[k] = x;` has to read its end anew in each
iteration, because `out` may be `starts`. In goes a loop of one work-item that stores at a fixed
step; beside it comes a version that has read before it what does not change, for when all stores
keep off that. LLVM makes vectors of many such loops.
"""

from __future__ import annotations

from groundstate.compiler.analysis.affine import widened
from groundstate.compiler.analysis.induction import Induction
from groundstate.compiler.analysis.simple_loop import SimpleLoop, change_simple_loops, copy_of
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.addresses import chain_steps
from groundstate.compiler.ir.ops import (
    CHAINS,
    SAME_ADDRESS,
    guards_of,
    has_side_effects,
    is_volatile,
)
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.opt.versioning import Guard, Version, add_version
from groundstate.compiler.spirv.types import Bool, Float, Int

ADDRESS_BITS = 64
MOST_CHECKS = 4
LONGEST_STEP = 1 << 20
"""Bytes: more times the iterations of a loop might not fit into an address."""


def hoist_loads(kernel: Kernel, analyses: Analyses) -> bool:
    """Gives each loop that loads the same again and again a version that does so once."""
    if analyses.variant.width > 1:
        return False
    return change_simple_loops(kernel, analyses, _version)


def _version(loop: SimpleLoop) -> bool:
    """Gives a loop a copy that finds before it what stays the same, if its stores allow that."""
    accesses = [each for each in loop.nodes if each.op in ("Load", "Store")]
    stores = [each for each in accesses if each.op == "Store"]
    if not stores or any(is_volatile(each) or guards_of(each) for each in accesses):
        return False
    still = _unchanged(loop)
    loads = [each for each in still if each.op == "Load"]
    is_small = len(loop.nodes) <= loop.divergence.target.most_versioned_operations
    is_worth_it = loads and len(loads) * len(stores) <= MOST_CHECKS
    if not is_worth_it or not is_small or loop.condition in still or not loop.can_be_copied():
        return False
    before = Block(loop.header.where)
    hoisted: dict[Node, Node] = {}
    for node in still:
        hoisted[node] = copy_of(node, hoisted)
    nodes = list(hoisted.values())
    checks = _Checks(loop, hoisted, nodes)
    found = [checks.keeps_off(store, load) for store in stores for load in loads]
    if None in found:
        return False
    condition = _all([*found, *checks.more], nodes)
    add_version(loop, before, [Guard(condition, nodes)], _fast(loop, before, hoisted))
    for block in loop.blocks:
        block.cold = True
    return True


def _unchanged(loop: SimpleLoop) -> list[Node]:
    """What is the same in all iterations if no store changes what is loaded, in order."""
    found: dict[Node, None] = {}
    for node in loop.header.nodes:
        depends = any(each in loop.inside and each not in found for each in node.operands)
        is_load = node.op == "Load" and isinstance(node.type, Int | Float)
        if not depends and (is_load or (node.op != "Load" and not has_side_effects(node))):
            found[node] = None
    return list(found)


def _fast(loop: SimpleLoop, before: Block, hoisted: dict[Node, Node]) -> Version:
    """The version without what was found before it."""
    after = Block(loop.header.where)
    head, copies = loop.copy(loop.inside - hoisted.keys(), before, after)
    for copy in copies.values():
        copy.operands = [hoisted.get(each, each) for each in copy.operands]
    return Version(head, head, after, {**copies, **hoisted})


def _all(checks: list[Node | None], nodes: list[Node]) -> Node:
    known = [each for each in checks if each is not None]
    result = known[0]
    for check in known[1:]:
        result = check.derive("LogicalAnd", Bool(), [result, check])
        nodes.append(result)
    return result


class _Checks:
    """Makes the questions that are asked before a loop."""

    def __init__(self, loop: SimpleLoop, hoisted: dict[Node, Node], nodes: list[Node]) -> None:
        self.loop, self.nodes = loop, nodes
        self.induction = Induction(loop, frozenset(hoisted))
        self.more: list[Node] = []
        """What else must be true."""
        self.at_first = dict(hoisted)
        """What values of the loop are in its first iteration."""

    def keeps_off(self, store: Node, load: Node) -> Node | None:
        """What is true if a store does not reach what is loaded in any iteration."""
        pointer, stored = store.operands[:2]
        test, step = self.induction.test, self._bytes_in_a_step(pointer)
        counted = self.induction.step(test.number) if test is not None else None
        if test is None or counted is None or step is None or abs(step) > LONGEST_STEP:
            return None
        operands = [self._first(each) for each in (test.number, test.bound, pointer)]
        operands.append(self._first(load.operands[0]))
        literals = (test.op, counted.amount, step, stored.type.size, load.type.size)
        self.nodes.append(store.derive("NeverOverlaps", Bool(), operands, literals))
        return self.nodes[-1]

    def _bytes_in_a_step(self, pointer: Node) -> int | None:
        """How far an address is from that of the iteration before, if it is always as far."""
        while pointer.op in SAME_ADDRESS:
            pointer = pointer.operands[0]
        if pointer not in self.induction.moving:
            return 0
        total = self._bytes_in_a_step(pointer.operands[0]) if pointer.op in CHAINS else None
        if total is None:
            return None
        for index, (size, _) in zip(pointer.operands[1:], chain_steps(pointer), strict=True):
            if index not in self.induction.moving:
                continue
            step = self._step_of(index)
            if step is None or size is None:
                return None
            total += step * size
        return total

    def _step_of(self, index: Node) -> int | None:
        """By how much an index of 64 bits goes up. One that was widened must not wrap."""
        short = widened(index)
        number = index if short is None else short
        step = self.induction.step(number)
        if step is None or step.factor is not None:
            return None
        if short is not None:
            return step.amount if self._stays_short(number, step.amount) else None
        is_exact = isinstance(index.type, Int) and index.type.width == ADDRESS_BITS
        return step.amount if is_exact else None

    def _stays_short(self, number: Node, step: int) -> bool:
        """Also asks whether a number of 32 bits, which goes up by a step, wraps in no iteration."""
        test = self.induction.test
        counted = self.induction.step(test.number) if test is not None else None
        if test is None or counted is None or not 0 < step <= LONGEST_STEP:
            return False
        operands = [self._first(each) for each in (number, test.number, test.bound)]
        literals = (test.op, counted.amount, step)
        self.nodes.append(number.derive("NeverWraps", Bool(), operands, literals))
        self.more.append(self.nodes[-1])
        return True

    def _first(self, value: Node) -> Node:
        if value not in self.loop.inside:
            return value
        if value.op == "Phi":
            return self.loop.first_value(value)
        if value not in self.at_first:
            firsts = {each: self._first(each) for each in value.operands}
            self.at_first[value] = copy_of(value, firsts)
            self.nodes.append(self.at_first[value])
        return self.at_first[value]
