"""Comparisons of a phi are made on the ways to it, where one of them says what comes out.

A search ends in one place, whether something was found or not, and then asks which it was:
`while (same < length && a[same] == b[same]) same++; found = same == length;`. On the way on which
the loop ran to its end, the comparison is known. In goes a comparison of a phi with a constant or
an argument; out comes a phi of truth values, which lanes carry more easily than numbers.
"""

from __future__ import annotations

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.ops import LEAVES, operation
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.lower.barriers import is_group_barrier
from groundstate.compiler.opt.simplify import known_value, simplified
from groundstate.compiler.spirv.constants import Constant
from groundstate.compiler.spirv.types import Bool, Int

OF_EQUALS = {
    **dict.fromkeys(("IEqual", "ULessThanEqual", "SLessThanEqual"), 1),
    **dict.fromkeys(("UGreaterThanEqual", "SGreaterThanEqual"), 1),
    **dict.fromkeys(("INotEqual", "ULessThan", "SLessThan", "UGreaterThan", "SGreaterThan"), 0),
}
"""What a comparison of a number with itself comes to."""


def thread_comparisons(kernel: Kernel, analyses: Analyses) -> bool:
    """Compares on the ways to a phi, where the result is known on some."""
    headers = {loop.header for loop in analyses.get(CFG).loops}
    replaced: dict[Node, Node] = {}
    for block in kernel.blocks:
        if block in headers:
            continue
        for node in [each for each in block.nodes if each.op in OF_EQUALS]:
            found = _threaded(node, block)
            if found is not None:
                replaced[node] = found
                block.phis.append(found)
                block.nodes.remove(node)
    if replaced:
        kernel.replace(replaced)
    return bool(replaced)


def _threaded(node: Node, block: Block) -> Node | None:
    """A phi of what a comparison comes to on each way, if that is known of one at least."""
    phi = next((each for each in node.operands if each in block.phis), None)
    if phi is None or not isinstance(phi.type, Int) or not isinstance(node.type, Bool):
        return None
    if not all(each is phi or each.op in LEAVES for each in node.operands):
        return None
    ways = [
        node.derive(node.op, node.type, [value if each is phi else each for each in node.operands])
        for value in phi.operands
    ]
    results = [_known(each) for each in ways]
    if not any(results):
        return None
    threaded = node.derive("Phi", node.type, [], phi.literals)
    for way, result, source in zip(ways, results, phi.literals, strict=True):
        if result is None:
            assert isinstance(source, Block)
            at_barrier = bool(source.nodes) and is_group_barrier(source.nodes[-1])
            source.nodes.insert(len(source.nodes) - at_barrier, way)
        threaded.operands.append(result or way)
    return threaded


def _known(comparison: Node) -> Node | None:
    """What a comparison comes to, if that is known."""
    one, other = comparison.operands
    if one is other:
        result = Constant(comparison.type, OF_EQUALS[comparison.op])
        return Node("Constant", comparison.type, literals=(result,))
    is_known = known_value(one) is not None and known_value(other) is not None
    return simplified(comparison) if is_known and operation(comparison).fold is not None else None
