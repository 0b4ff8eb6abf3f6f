"""Barriers in the kernel graph.

`split_at_barriers`: a barrier ends its block, so that everything that lives across it is a value
that crosses blocks.
"""

from __future__ import annotations

from groundstate.compiler.ir import Block, Kernel, Node, constant_int
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.opcodes import Scope

BARRIERS = frozenset(("ControlBarrier", "GroupWaitEvents"))


def is_group_barrier(node: Node) -> bool:
    """True if all work-items of the group meet at the node."""
    if node.op == "GroupWaitEvents":
        return True
    return node.op == "ControlBarrier" and constant_int(node.operands[0]) == Scope.Workgroup


def split_at_barriers(kernel: Kernel, analyses: Analyses) -> bool:
    """Ends a block after each barrier, so that what lives across it crosses blocks."""
    del analyses
    blocks: list[Block] = []
    for block in kernel.blocks:
        blocks.append(block)
        nodes, block.nodes = block.nodes, []
        current = block
        for node in nodes:
            current.nodes.append(node)
            if is_group_barrier(node):
                current = _continue_in(current, Block(block.where))
                blocks.append(current)
    found = len(blocks) > len(kernel.blocks)
    kernel.blocks = blocks
    kernel.renumber()
    return found


def _continue_in(block: Block, rest: Block) -> Block:
    """Moves the end of a block to another, which follows it."""
    rest.condition, block.condition = block.condition, None
    rest.switch, block.switch = block.switch, None
    rest.successors, block.successors = block.successors, [rest]
    for successor in rest.successors:
        for phi in successor.phis:
            phi.literals = tuple(rest if each is block else each for each in phi.literals)
    return rest
