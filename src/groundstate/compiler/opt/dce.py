"""Dead-code elimination: what has neither side effects nor a use goes."""

from __future__ import annotations

from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.ops import has_side_effects


def remove_unused(kernel: Kernel, blocks: list[Block]) -> None:
    """Removes from some blocks what has neither side effects nor a use in the end."""
    inside = {id(node) for block in blocks for node in (*block.phis, *block.nodes)}
    waiting = [block.condition for block in kernel.blocks if block.condition is not None]
    waiting += [node for node in kernel.nodes() if id(node) not in inside or has_side_effects(node)]
    used: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node not in used:
            used.add(node)
            waiting += node.operands
    for block in blocks:
        block.phis = [each for each in block.phis if each in used]
        block.nodes = [each for each in block.nodes if each in used]
