"""Loops without branches: left at their head, and one way from there back to it.

Most loops over numbers are of this kind, and can be copied, as a whole or in part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from groundstate.compiler.analysis.cfg import CFG, Loop
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.ops import has_side_effects
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.types import Bool, Float, Int, Vector


class SingleExitLoop:
    """A loop that is entered by one way, left by one, and gone round by one."""

    def __init__(self, divergence: Divergence, loop: Loop, entering: Block, exiting: Block) -> None:
        self.divergence = divergence
        self.kernel = divergence.kernel
        self.header = loop.header
        self.latch = loop.latches[0]
        self.entering = entering
        self.exiting = exiting
        """The block from which it is left."""
        self.blocks = sorted(loop.blocks, key=lambda each: each.index)
        self.nodes = [each for block in self.blocks for each in (*block.phis, *block.nodes)]
        self.inside = set(self.nodes)
        assert exiting.condition is not None
        self.condition = exiting.condition
        [self.exit] = [each for each in exiting.successors if not loop.contains(each)]

    @classmethod
    def left_at_its_end(cls, divergence: Divergence, loop: Loop) -> SingleExitLoop | None:
        """A loop without others in it that is left from its last block, if it is one."""
        outside = [each for each in loop.header.predecessors if not loop.contains(each)]
        inner = any(each.parent is loop for each in divergence.cfg.loops)
        if inner or len(outside) != 1 or len(loop.latches) != 1:
            return None
        latch, ways = loop.latches[0], list(loop.exits())
        is_last = len(ways) == 1 and ways[0][0] is latch and len(latch.successors) == 2
        if not is_last or any(each.switch is not None for each in loop.blocks):
            return None
        return SingleExitLoop(divergence, loop, outside[0], latch)

    def first_value(self, phi: Node) -> Node:
        """What a phi of the head is in the first iteration."""
        return phi.operands[phi.literals.index(self.entering)]

    def next_value(self, phi: Node) -> Node:
        """What a phi of the head will be in the next iteration."""
        return phi.operands[phi.literals.index(self.latch)]

    def needed(self, roots: Iterable[Node]) -> set[Node]:
        """What is needed of the loop to have some of its values."""
        found: set[Node] = set()
        waiting = list(roots)
        while waiting:
            node = waiting.pop()
            if node in self.inside and node not in found:
                found.add(node)
                waiting += node.operands
        return found

    def enter_from(self, before: Block) -> None:
        """Lets control come to the loop from another block."""
        for phi in self.header.phis:
            phi.literals = tuple(before if each is self.entering else each for each in phi.literals)


class SimpleLoop(SingleExitLoop):
    """A loop without branches."""

    def __init__(self, divergence: Divergence, loop: Loop, entering: Block) -> None:
        super().__init__(divergence, loop, entering, loop.header)

    @classmethod
    def at(cls, divergence: Divergence, header: Block) -> SimpleLoop | None:
        """The loop with a header, if it is one of these that all lanes enter, and leave
        together."""
        loop = next((each for each in divergence.cfg.loops if each.header is header), None)
        if (
            loop is None
            or loop in divergence.divergent_loops
            or loop.blocks & divergence.divergent_blocks
        ):
            return None
        return cls.of(divergence, loop)

    @classmethod
    def of(cls, divergence: Divergence, loop: Loop) -> SimpleLoop | None:
        """A loop, if it is one of these; lanes may enter and leave it at different times."""
        outside = [each for each in loop.header.predecessors if not loop.contains(each)]
        if len(outside) != 1 or not _is_simple_loop(loop):
            return None
        return cls(divergence, loop, outside[0])

    def used_outside(self) -> Iterator[Node]:
        """The values of the loop that something outside of it uses."""
        outside = {block for block in self.kernel.blocks if block not in self.blocks}
        used = {block.condition for block in outside}
        for block in outside:
            for node in (*block.phis, *block.nodes):
                used.update(node.operands)
        return (node for node in self.nodes if node in used)

    def can_be_copied(self) -> bool:
        """True if it may be there twice, and one of the two is done."""
        nodes = [node for block in self.blocks for node in block.nodes]
        is_plain = all(node.op in ("Load", "Store") or not has_side_effects(node) for node in nodes)
        return is_plain and all(map(_is_number, self.used_outside()))

    def copy(
        self, wanted: set[Node], before: Block, after: Block
    ) -> tuple[Block, dict[Node, Node]]:
        """A loop of some of the nodes between two blocks: its head, and the copies.

        The block before does not lead there yet."""
        blocks = {block: Block(block.where) for block in self.blocks}
        copies: dict[Node, Node] = {}
        for block, copy in blocks.items():
            for node in block.phis:
                if node in wanted:
                    copies[node] = Node("Phi", node.type, where=node.where)
                    copy.phis.append(copies[node])
            for node in block.nodes:
                if node in wanted:
                    copies[node] = copy_of(node, copies)
                    copy.nodes.append(copies[node])
            copy.successors = [blocks.get(each, after) for each in block.successors]
        for phi in self.header.phis:
            if phi in wanted:
                following = self.next_value(phi)
                copies[phi].operands = [self.first_value(phi), copies.get(following, following)]
                copies[phi].literals = (before, blocks[self.latch])
        head = blocks[self.header]
        head.condition = copies.get(self.condition, self.condition)
        return head, copies

    def replace_outside(self, others: dict[Node, Node]) -> None:
        """Lets what is outside of the loop use other values."""
        for block in self.kernel.blocks:
            for node in (*block.phis, *block.nodes):
                if node not in self.inside:
                    node.operands = [others.get(each, each) for each in node.operands]
            if block.condition is not None and block is not self.header:
                block.condition = others.get(block.condition, block.condition)

    def merge_exits(self, other: Block, after: Block, values: dict[Node, Node]) -> None:
        """Lets the loop lead to a block, as another one does that has other values in the place of
        the loop's; there they become one."""
        retarget(self.header, after, self.exit)
        for node in self.used_outside():
            operands, sources = [node, values[node]], (self.header, other)
            after.phis.append(Node("Phi", node.type, operands, sources, node.where))
        self.replace_outside({phi.operands[0]: phi for phi in after.phis})
        for phi in self.exit.phis:
            phi.literals = tuple(after if each is self.header else each for each in phi.literals)


def _is_number(node: Node) -> bool:
    type_ = node.type.element if isinstance(node.type, Vector) else node.type
    return isinstance(type_, Int | Float | Bool)


def _is_simple_loop(loop: Loop) -> bool:
    leaves = [each for each in loop.header.successors if not loop.contains(each)]
    body = loop.blocks - {loop.header}
    return (
        len(loop.header.successors) == 2
        and loop.header.switch is None
        and len(leaves) == 1
        and len(loop.latches) == 1
        and all(len(each.successors) == 1 and not each.phis for each in body)
    )


def copy_of(node: Node, copies: dict[Node, Node]) -> Node:
    """A node that takes copies of what another one takes, where there are any."""
    operands = [copies.get(each, each) for each in node.operands]
    copy = node.derive(node.op, node.type, operands, node.literals)
    copy.decorations, copy.position = node.decorations, node.position
    return copy


def retarget(block: Block, there: Block, instead_of: Block) -> None:
    """Lets a block lead to another one than before."""
    block.successors = [there if each is instead_of else each for each in block.successors]


def change_simple_loops(
    kernel: Kernel, analyses: Analyses, change: Callable[[SimpleLoop], bool]
) -> bool:
    """Changes one simple loop after the other that all lanes go through together, but for the cold
    ones; true if any has changed."""
    changed = False
    for header in [loop.header for loop in analyses.get(CFG).loops if not loop.header.cold]:
        loop = SimpleLoop.at(analyses.get(Divergence), header)
        if loop is not None and change(loop):
            kernel.reorder()
            analyses.invalidate()
            changed = True
    return changed
