"""Which values are still needed at the start of each block."""

from __future__ import annotations

from groundstate.compiler.emit.function import FREE
from groundstate.compiler.ir import Block, Kernel, Node


def live_at_start(kernel: Kernel) -> dict[Block, set[Node]]:
    """For each block, the nodes of other blocks that it or a later one uses."""
    uses: dict[Block, set[Node]] = {}
    defines: dict[Block, set[Node]] = {}
    for block in kernel.blocks:
        defined = set(block.phis)
        used: set[Node] = set()
        for node in block.nodes:
            used.update(each for each in node.operands if each not in defined)
            defined.add(node)
        if block.condition is not None and block.condition not in defined:
            used.add(block.condition)
        uses[block] = {each for each in used if each.op not in FREE}
        defines[block] = defined
    live: dict[Block, set[Node]] = {block: set() for block in kernel.blocks}
    changed = True
    while changed:
        changed = False
        for block in reversed(kernel.blocks):
            after: set[Node] = set()
            for successor in block.successors:
                after |= live[successor]
                after |= _incoming(successor, block)
            now = uses[block] | (after - defines[block])
            if now != live[block]:
                live[block] = now
                changed = True
    return live


def _incoming(block: Block, source: Block) -> set[Node]:
    """What the phis of a block take when control comes from `source`."""
    found: set[Node] = set()
    for phi in block.phis:
        for value, origin in zip(phi.operands, phi.literals, strict=True):
            if origin is source and value.op not in FREE:
                found.add(value)
    return found
