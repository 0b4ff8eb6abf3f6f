"""Dead-code elimination: what has neither side effects nor a use goes.

In goes any kernel; out comes one in which every value is needed for something that is stored,
branched on, or done.
"""

from __future__ import annotations

from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.ops import has_side_effects
from groundstate.compiler.ir.passes import Analyses


def eliminate_dead_code(kernel: Kernel, analyses: Analyses) -> bool:
    """Removes what has neither side effects nor a use."""
    del analyses
    waiting = [block.condition for block in kernel.blocks if block.condition is not None]
    waiting += [
        node for block in kernel.blocks for node in block.nodes if _is_needed_for_itself(node)
    ]
    used: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node not in used:
            used.add(node)
            waiting += node.operands
    removed = False
    for block in kernel.blocks:
        count = len(block.phis) + len(block.nodes)
        block.phis = [each for each in block.phis if each in used]
        block.nodes = [each for each in block.nodes if each in used]
        removed |= len(block.phis) + len(block.nodes) < count
    return removed


def _is_needed_for_itself(node: Node) -> bool:
    return node.op != "Variable" and has_side_effects(node)
