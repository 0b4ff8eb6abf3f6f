"""Adds a dot product to a sum in one operation.

Machines that multiply packed bytes add the products to a sum in the same instruction. A module says
both apart: a dot product (`SUDot`), and an addition. Here the addition of a dot product that nobody
else uses becomes one node (`SUDotAdd`). Both wrap around, so the sum is the same.
"""

from __future__ import annotations

from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.types import Int

FUSED = {"SDot": "SDotAdd", "UDot": "UDotAdd", "SUDot": "SUDotAdd"}
WORD = Int(32, False)


def fuse_dots(kernel: Kernel, analyses: Analyses) -> bool:
    """Makes one operation of a dot product of packed bytes and its addition to a sum."""
    del analyses
    if not any(node.op in FUSED for node in kernel.nodes()):
        return False
    users = kernel.users()
    changed = False
    for node in list(kernel.nodes()):
        if node.op != "IAdd" or node.type != WORD:
            continue
        dot = next((each for each in node.operands if _is_packed(each)), None)
        if dot is None or len(users[dot]) > 1 or node.operands[0] is node.operands[1]:
            continue
        total = node.operands[node.operands[0] is dot]
        node.op, node.operands, node.literals = FUSED[dot.op], [*dot.operands, total], ()
        changed = True
    return changed


def _is_packed(node: Node) -> bool:
    """True for a dot product of words, whose bytes are the numbers."""
    return (
        node.op in FUSED
        and all(each.type.size == 4 for each in node.operands)
        and all(isinstance(each.type, Int) for each in node.operands)
    )
