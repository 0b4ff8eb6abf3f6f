"""Unrolling of loops with barriers: a tree over local memory has as many steps as the group's size
says.

In goes a loop whose work-items meet at a barrier in each iteration, and whose trip count follows
from the group size and constants: `for (half = get_local_size(0) / 2; half > 0; half /= 2)`. Out
come its iterations, one after the other. Then a step's distance is a constant, so that it is known
which sub-groups have something to do in it, and what waits at a barrier can stay in registers.
"""

from __future__ import annotations

from groundstate.compiler.analysis.cfg import CFG, Loop
from groundstate.compiler.analysis.simple_loop import copy_of, retarget
from groundstate.compiler.ir import Block, Kernel, Node, constant_node
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.lower.barriers import is_group_barrier
from groundstate.compiler.opt.simplify import known_value, simplified, simplify
from groundstate.compiler.spirv.types import Int
from groundstate.compiler.target import Target

SIZES = ("WorkgroupSize", "EnqueuedWorkgroupSize")


def unroll_barrier_loops(kernel: Kernel, analyses: Analyses) -> bool:
    """Unrolls loops with barriers whose trip count follows from the group size."""
    if not any(_meets(loop) for loop in analyses.get(CFG).loops):
        return False
    changed = _fold_sizes(kernel, analyses)
    for header in [loop.header for loop in analyses.get(CFG).loops if _meets(loop)]:
        loop = next((each for each in analyses.get(CFG).loops if each.header is header), None)
        if loop is None or not _Unrolling.is_possible(loop):
            continue
        if _Unrolling(kernel, loop, analyses.target).unroll():
            kernel.reorder()
            _merge_blocks(kernel)
            analyses.invalidate()
            changed = True
    return changed


def _merge_blocks(kernel: Kernel) -> None:
    """Makes one block of those that always follow each other, but for barriers, which end one."""
    for block in kernel.blocks:
        while len(block.successors) == 1 and not (
            block.nodes and is_group_barrier(block.nodes[-1])
        ):
            [rest] = block.successors
            if rest.predecessors != [block] or rest is block:
                break
            kernel.replace({phi: phi.operands[0] for phi in rest.phis})
            block.nodes += rest.nodes
            block.condition, block.switch = rest.condition, rest.switch
            block.successors = rest.successors
            for successor in rest.successors:
                successor.predecessors = [
                    block if each is rest else each for each in successor.predecessors
                ]
                for phi in successor.phis:
                    phi.literals = tuple(block if each is rest else each for each in phi.literals)
            rest.nodes, rest.phis, rest.successors, rest.condition = [], [], [], None
    kernel.reorder()


def _meets(loop: Loop) -> bool:
    """True if the work-items of a group meet in a loop."""
    return any(is_group_barrier(node) for block in loop.blocks for node in block.nodes)


def _fold_sizes(kernel: Kernel, analyses: Analyses) -> bool:
    """Puts the group size in the place of the built-in variables that hold it."""
    sizes = {
        node: constant_node(node.type, analyses.variant.group_size[axis])
        for node in kernel.nodes()
        if node.op == "Builtin"
        and node.literals[0] in SIZES
        and isinstance(node.type, Int)
        and isinstance(axis := node.literals[1], int)
    }
    if not sizes:
        return False
    kernel.replace(sizes)
    simplify(kernel, analyses)
    kernel.reorder()
    analyses.invalidate((CFG,))
    return True


class _Unrolling:
    """A loop with one way in, one way round and one way out."""

    def __init__(self, kernel: Kernel, loop: Loop, target: Target) -> None:
        self.kernel = kernel
        self.loop = loop
        self.target = target
        self.blocks = sorted(loop.blocks, key=lambda each: each.index)
        [self.entering] = _outside(loop)
        [self.latch] = loop.latches
        [(self.leaving, self.exit)] = loop.exits()
        self.left = target.most_unrolled_barrier_operations
        self.barriers = sum(map(is_group_barrier, kernel.nodes()))

    @staticmethod
    def is_possible(loop: Loop) -> bool:
        """True if it is such a loop."""
        exits = loop.exits()
        return (
            len(_outside(loop)) == len(loop.latches) == len(exits) == 1
            and exits[0][0].switch is None
            and exits[0][0].condition is not None
        )

    def unroll(self) -> bool:
        """Puts the iterations in the place of the loop; false if it would be too long, or the end
        is not in sight."""
        values = {phi: _value_from(phi, self.entering) for phi in self.loop.header.phis}
        first: Block | None = None
        last: Block | None = None
        for _ in range(self.target.most_unrolled_barriers + 1):
            copies = self._write_iteration(values)
            goes_on = known_value(values.get(self.condition, self.condition))
            if goes_on is None or self.left < 0 or self.barriers > self.target.most_barrier_loops:
                return False
            if last is None:
                first = copies[self.loop.header]
            else:
                retarget(last, copies[self.loop.header], self.loop.header)
            last = copies[self.latch]
            leaving = copies[self.leaving]
            chosen = self.leaving.successors[0 if goes_on.value else 1]
            leaving.condition, leaving.successors = None, [copies.get(chosen, chosen)]
            if chosen is self.exit:
                assert first is not None
                self._replace(first, leaving, values)
                return True
            if self.leaving is self.latch:
                leaving.successors = [self.loop.header]
            following = {phi: _value_from(phi, self.latch) for phi in self.loop.header.phis}
            values |= {phi: values.get(value, value) for phi, value in following.items()}
        return False

    @property
    def condition(self) -> Node:
        """By what the loop is left."""
        assert self.leaving.condition is not None
        return self.leaving.condition

    def _write_iteration(self, values: dict[Node, Node]) -> dict[Block, Block]:
        """Copies of the loop's blocks, for the values that the phis of its head have. The way
        round leads to the head of the loop itself."""
        copies = {block: Block(block.where) for block in self.blocks}
        phis: list[tuple[Node, Node]] = []
        for block, copy in copies.items():
            copy.cold, copy.switch = block.cold, block.switch
            for phi in block.phis if block is not self.loop.header else ():
                values[phi] = Node("Phi", phi.type, where=phi.where)
                copy.phis.append(values[phi])
                phis.append((phi, values[phi]))
            for node in block.nodes:
                copied = copy_of(node, values)
                simple = simplified(copied)
                if simple is None:
                    copy.nodes.append(copied)
                values[node] = simple or copied
            self.left -= len(copy.nodes)
            self.barriers += sum(map(is_group_barrier, copy.nodes))
            condition = block.condition
            copy.condition = None if condition is None else values.get(condition, condition)
            copy.successors = [
                copies[each] if each in copies and each is not self.loop.header else each
                for each in block.successors
            ]
        for phi, copied in phis:
            copied.operands = [values.get(each, each) for each in phi.operands]
            copied.literals = tuple(
                copies[each] if isinstance(each, Block) else each for each in phi.literals
            )
        return copies

    def _replace(self, first: Block, last: Block, values: dict[Node, Node]) -> None:
        """Lets control go through the iterations, and what is behind the loop use the values of
        the last one."""
        retarget(self.entering, first, self.loop.header)
        inside = self.loop.blocks
        for block in self.kernel.blocks:
            if block in inside:
                continue
            for node in (*block.phis, *block.nodes):
                node.operands = [values.get(each, each) for each in node.operands]
            if block.condition is not None:
                block.condition = values.get(block.condition, block.condition)
        for phi in self.exit.phis:
            phi.literals = tuple(last if each is self.leaving else each for each in phi.literals)


def _outside(loop: Loop) -> list[Block]:
    """From where control comes to a loop."""
    return [each for each in loop.header.predecessors if not loop.contains(each)]


def _value_from(phi: Node, source: Block) -> Node:
    return phi.operands[phi.literals.index(source)]
