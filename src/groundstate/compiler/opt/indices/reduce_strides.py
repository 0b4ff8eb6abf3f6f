"""Strength reduction: an address that moves by a product becomes a pointer that is added to.

In goes a loop that reads `b[k * n + column]`; out comes one that has the address in a phi, to which
each iteration adds `n`. On a GPU only the addition is left for an iteration, and the assembler can
unroll it: addresses of several iterations need one register each, and their loads run at once. LLVM
does the same with sums of several strides, which takes more registers than the loads then have.

In such a loop, addresses that move by a constant become pointers too, and a counter that is left
with nothing but to end the loop has 32 bits if its bound has. Other loops stay as they are.
"""

from __future__ import annotations

from groundstate.compiler.analysis.affine import Step, constant_added, widened
from groundstate.compiler.analysis.cfg import CFG, Loop
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.analysis.induction import Induction
from groundstate.compiler.analysis.simple_loop import SimpleLoop, SingleExitLoop, copy_of
from groundstate.compiler.ir import Block, Kernel, Node, constant_int, constant_node
from groundstate.compiler.ir.ops import SAME_ADDRESS, operation
from groundstate.compiler.ir.passes import Analyses, Variant
from groundstate.compiler.lower.barriers import is_group_barrier
from groundstate.compiler.spirv.opcodes import Decoration
from groundstate.compiler.spirv.types import Int, Pointer, Type

CHAIN = "PtrAccessChain"
CHAINS = (CHAIN, "InBoundsPtrAccessChain")
MOST_POINTERS = 8
"""In a loop. Each takes two registers."""


def reduce_strides(kernel: Kernel, analyses: Analyses) -> bool:
    """Makes a pointer that moves of each address that is a product of a loop's counter."""
    cfg = analyses.get(CFG)
    divergence = Divergence(kernel, cfg, Variant((1, 1, 1), 1, 1), analyses.target)
    found = [_plain(divergence, loop) for loop in cfg.loops]
    changed = [_Pointers(loop).reduce() for loop in found if loop is not None]
    return any(changed)


def _plain(divergence: Divergence, loop: Loop) -> SingleExitLoop | None:
    """An innermost loop that is entered, left and gone round by one way each."""
    return SingleExitLoop.left_at_its_end(divergence, loop) or SimpleLoop.of(divergence, loop)


class _Exact(Induction):
    """The iterations of a loop, in which an index that was checked before it does not wrap."""

    def keeps(self, node: Node) -> bool:
        return super().keeps(node) or _was_checked(node)


class _Pointers:
    """The addresses of a loop that move by a product."""

    def __init__(self, loop: SingleExitLoop) -> None:
        self.loop = loop
        self.induction = _Exact(loop)
        self.first: dict[Node, Node] = {}
        """What values of the loop are in the first iteration."""
        self.made: dict[tuple[Node, Type, Node], Node] = {}
        """By base, type and index: the pointer."""

    def reduce(self) -> bool:
        """Changes the addresses; true if there are any."""
        chains = [(node, self._step(node)) for node in self.loop.nodes if node.op in CHAINS]
        by_products = [(node, step) for node, step in chains if step is not None and step.factor]
        if not by_products:
            return False
        rest = [(node, step) for node, step in chains if step is not None and not step.factor]
        for chain, step in by_products + rest:
            index, offset = _split(chain.operands[1])
            key = self._base(chain.operands[0]), chain.type, index
            if key not in self.made and len(self.made) < MOST_POINTERS:
                self.made[key] = self._pointer(chain, index, step)
            if key in self.made:
                chain.op, chain.decorations = CHAIN, {}
                chain.operands = [self.made[key], constant_node(chain.operands[1].type, offset)]
        self._shorten_counter()
        return True

    def _base(self, pointer: Node) -> Node:
        """What a pointer is a cast of."""
        while pointer in self.loop.inside and pointer.op in SAME_ADDRESS:
            pointer = pointer.operands[0]
        return pointer

    def _step(self, chain: Node) -> Step | None:
        """By how much the index of an address goes up, if it is exact and moves."""
        if len(chain.operands) != 2 or self._base(chain.operands[0]) in self.loop.inside:
            return None
        index = chain.operands[1]
        if not isinstance(index.type, Int) or index.type.width != 64 or not _same_pointee(chain):
            return None
        step = self.induction.step(index)
        if step is None or step.is_none:
            return None
        needed = self.loop.needed([index])
        if step.factor is not None and not _can_be_added(step.factor, index, needed):
            return None
        counters = [self.induction.step(phi) for phi in self.loop.header.phis if phi in needed]
        by_constants = all(each is not None and each.factor is None for each in counters)
        return step if by_constants and not any(map(_reads, needed)) else None

    def _pointer(self, chain: Node, index: Node, step: Step) -> Node:
        """The phi that holds the address."""
        loop = self.loop
        operands = [self._at_first(each) for each in (chain.operands[0], index)]
        start = chain.derive(CHAIN, chain.type, operands)
        self._append(loop.entering, start)
        amount = constant_node(index.type, step.amount % (1 << 64))
        if step.factor is not None:
            factor, times = self._widened(self._at_first(step.factor), chain), amount
            amount = factor
            if step.amount != 1:
                amount = chain.derive("IMul", index.type, [factor, times])
                self._append(loop.entering, amount)
        phi = chain.derive("Phi", chain.type)
        following = chain.derive(CHAIN, chain.type, [phi, amount])
        self._append(loop.latch, following)
        phi.operands, phi.literals = [start, following], (loop.entering, loop.latch)
        loop.header.phis.append(phi)
        return phi

    def _widened(self, factor: Node, chain: Node) -> Node:
        """A factor in 64 bits. One of 32 is that of an index without a sign."""
        kind = chain.operands[1].type
        if factor.type == kind:
            return factor
        wide = chain.derive("UConvert", kind, [factor])
        self._append(self.loop.entering, wide)
        return wide

    def _shorten_counter(self) -> None:
        """Counts in 32 bits to a bound of 32 bits, if addresses do not need the counter any more.

        A loop that counts one by one to a widened number ends at the same place, or never."""
        loop, condition = self.loop, self.loop.condition
        if condition.op not in ("IEqual", "INotEqual") or not condition.operands[0].operands:
            return
        number, bound = condition.operands
        counter = number if number.op == "Phi" else number.operands[0]
        if counter not in loop.header.phis or self.induction.step(counter) != Step(1):
            return
        if number not in (counter, loop.next_value(counter)) or condition not in loop.exiting.nodes:
            return
        limit = _before_widening(bound)
        if limit is None or limit in loop.inside or constant_int(loop.first_value(counter)) != 0:
            return
        phi = counter.derive("Phi", limit.type)
        following = number.derive("IAdd", limit.type, [phi, constant_node(limit.type, 1)])
        phi.operands = [constant_node(limit.type, 0), following]
        phi.literals = (loop.entering, loop.latch)
        loop.header.phis.append(phi)
        if number is counter:
            self._append(loop.latch, following)
            condition.operands = [phi, limit]
        else:
            nodes = loop.exiting.nodes
            nodes.insert(nodes.index(condition), following)
            condition.operands = [following, limit]

    def _at_first(self, node: Node) -> Node:
        """What a value is in the first iteration, before the loop."""
        if node not in self.loop.inside:
            return node
        if node.op == "Phi":
            return self.loop.first_value(node)
        if node not in self.first:
            for each in node.operands:
                self.first.setdefault(each, self._at_first(each))
            self.first[node] = copy_of(node, self.first)
            self._append(self.loop.entering, self.first[node])
        return self.first[node]

    def _append(self, block: Block, node: Node) -> None:
        at_barrier = bool(block.nodes) and is_group_barrier(block.nodes[-1])
        block.nodes.insert(len(block.nodes) - at_barrier, node)


def _was_checked(node: Node) -> bool:
    """Whether a node widens an index of which it is known that it does not wrap."""
    return node.op == "UConvert" and Decoration.NoUnsignedWrap in node.decorations


def _can_be_added(factor: Node, index: Node, needed: set[Node]) -> bool:
    """Whether a factor has the width of an index; or of the number that was checked and is widened
    to it, because the check was of so many bits."""
    number = widened(index) if _was_checked(index) else None
    if number is not None:
        return factor.type == number.type
    return factor.type == index.type and not any(map(_was_checked, needed))


def _same_pointee(chain: Node) -> bool:
    """Whether one step of the result is as long as one of the index."""
    return (
        not chain.literals
        and isinstance(chain.type, Pointer)
        and chain.type.pointee is not None
        and chain.type == chain.operands[0].type
    )


def _split(index: Node) -> tuple[Node, int]:
    """An index without the constant that is added to it, and the constant."""
    found = constant_added(index)
    return found if found is not None and found[0].type == index.type else (index, 0)


def _before_widening(node: Node) -> Node | None:
    """The number of 32 bits that a node widens, or None."""
    if node.op not in ("UConvert", "SConvert") or node.type.size != 8:
        return None
    kind = node.operands[0].type
    return node.operands[0] if isinstance(kind, Int) and kind.width == 32 else None


def _reads(node: Node) -> bool:
    return node.op != "Phi" and not operation(node).is_pure
