"""Sinking: what all ways to a block have computed alike is computed there, once.

Clang lets both sides of a branch compute an index of their own, and gives the one store behind it a
phi of the two: `if (border) to[i] = 0; else to[i] = f(i);`. A phi of lanes that have come different
ways hides that they lie next to each other, and the store would become a scatter. In goes any
kernel; in the place of a phi whose values are the same operations on the same operands, out comes
that operation behind the join. What it takes is there: it dominates each way.
"""

from __future__ import annotations

from collections.abc import Sequence

from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.ops import guards_of, operation
from groundstate.compiler.ir.passes import Analyses

MOST_OPERATIONS = 24
"""That one phi stands for."""


def sink_common(kernel: Kernel, analyses: Analyses) -> bool:
    """Computes behind a join what all ways to it have computed alike."""
    del analyses
    changed = False
    while _sink(kernel):  # what was sunk into one join may be alike to what comes to the next
        kernel.reorder()
        changed = True
    return changed


def _sink(kernel: Kernel) -> bool:
    """Does so for what comes to joins as it is now."""
    replaced: dict[Node, Node] = {}
    for block in kernel.blocks:
        join = _Join()
        for phi in block.phis:
            if len(phi.operands) > 1 and join.are_alike(phi.operands):
                replaced[phi] = join.sunk(phi.operands)
        block.nodes[:0] = join.nodes
        block.phis = [phi for phi in block.phis if phi not in replaced]
    for phi in replaced:
        while replaced[phi] in replaced:  # another join was before this one
            replaced[phi] = replaced[replaced[phi]]
    if replaced:
        kernel.replace(replaced)
    return bool(replaced)


class _Join:
    """A block where several ways come together, and what was sunk into it."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[tuple[Node, ...], Node] = {}
        self._left = 0

    def are_alike(self, values: Sequence[Node]) -> bool:
        """True if values are the same, or come of the same operations; not if that is much."""
        self._left = MOST_OPERATIONS
        return self._alike(values)

    def _alike(self, values: Sequence[Node]) -> bool:
        first, *others = values
        if all(_is_same(first, other) for other in others):
            return True
        self._left -= 1
        return (
            self._left >= 0
            and all(map(_can_sink, values))
            and all(_do_the_same(first, other) for other in others)
            and all(map(self._alike, zip(*(each.operands for each in values), strict=True)))
        )

    def sunk(self, values: Sequence[Node]) -> Node:
        """The value in this block, with what all ways know of it: that it does not wrap, say."""
        first, key = values[0], tuple(values)
        if all(_is_same(first, other) for other in values):
            return first
        if key not in self._known:
            operands = [
                self.sunk(each) for each in zip(*(each.operands for each in values), strict=True)
            ]
            node = first.derive(first.op, first.type, operands, first.literals)
            node.decorations = {
                name: said
                for name, said in first.decorations.items()
                if all(each.decorations.get(name) == said for each in values)
            }
            self._known[key] = node
            self.nodes.append(node)
        return self._known[key]


def _is_same(one: Node, other: Node) -> bool:
    return one is other or (one.op == "Constant" and _do_the_same(one, other))


def _do_the_same(one: Node, other: Node) -> bool:
    return (
        one.op == other.op
        and one.type == other.type
        and one.literals == other.literals
        and len(one.operands) == len(other.operands)
    )


def _can_sink(node: Node) -> bool:
    """True for an operation that gives the same wherever it stands."""
    return (
        isinstance(node.block, Block)
        and node.op not in ("Phi", "Variable")
        and operation(node).is_pure
        and not guards_of(node)
    )
