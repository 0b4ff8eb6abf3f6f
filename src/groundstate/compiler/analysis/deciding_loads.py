"""Loads that decide how long lanes stay in a loop.

The next iteration needs the mask of this one. If a load decides on it and takes the mask itself,
iterations wait for memory one after the other, though addresses are known long before. Such loads
had better read all lanes where they may.
"""

from __future__ import annotations

from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.ir import Node


def deciding_loads(divergence: Divergence) -> set[Node]:
    """The loads in loops that the branches depend on by which lanes part there."""
    found: set[Node] = set()
    for loop in divergence.divergent_loops:
        seen: set[Node] = set()
        branches = loop.blocks & divergence.divergent_branches
        waiting = [each.condition for each in branches if each.condition is not None]
        while waiting:
            node = waiting.pop()
            if node not in seen and node.block in loop.blocks:
                seen.add(node)
                waiting += node.operands
        found.update(each for each in seen if each.op == "Load")
    return found
