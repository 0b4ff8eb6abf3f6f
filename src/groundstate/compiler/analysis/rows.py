"""Rows of a group that run together: unroll-and-jam over the rows.

Where the lanes of a vector lie in one row of a two-dimensional group, the rows below it often load
the same numbers: all rows of a matrix product read the same row of the second matrix. If rows run
in lockstep, such a number is loaded once for all of them. That is possible if they always go the
same way: no branch depends on which row it is, and none on the lane.
"""

from __future__ import annotations

from groundstate.compiler.analysis import facts
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.analysis.register_pressure import register_pressure
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.ops import Category, has_side_effects, operation

SAME_IN_ALL_ROWS = frozenset(
    (
        *("WorkgroupId", "NumWorkgroups", "GlobalOffset", "GlobalSize", "WorkDim"),
        *("WorkgroupSize", "EnqueuedWorkgroupSize"),
    )
)
WITH_AXES = frozenset(("LocalInvocationId", "GlobalInvocationId"))
PLAIN = frozenset(("Load", "Store", "Prefetch", "ShadowStore"))


def rows_together(divergence: Divergence) -> int:
    """How many rows of the group run in lockstep: 1 if that is not possible, or gains nothing."""
    rows = divergence.group_size[divergence.axes[1]]
    target = divergence.target
    if rows == 1 or divergence.width == 1 or not divergence.rows_are_whole:
        return 1
    if not divergence.cfg.loops or not _are_plain(divergence):
        return 1
    differing = _differing(divergence)
    if any(block.condition in differing for block in divergence.kernel.blocks):
        return 1
    if not _share_loads(divergence, differing):
        return 1
    for together in target.rows_together:
        copies = dict.fromkeys(differing, together)
        if (
            rows % together == 0
            and register_pressure(divergence, copies) <= target.vector_registers
        ):
            return together
    return 1


def _are_plain(divergence: Divergence) -> bool:
    """True if lanes never part, and a kernel does nothing but compute, load and store."""
    kernel = divergence.kernel
    return (
        not divergence.divergent_blocks
        and not divergence.divergent_branches
        and not kernel.observes_subgroups
        and not facts.has_barriers(kernel)
        and all(
            (node.op in PLAIN or not has_side_effects(node))
            and node.op != "Variable"
            and operation(node).category is not Category.GROUP
            for node in kernel.nodes()
        )
    )


def _differing(divergence: Divergence) -> set[Node]:
    """The values that may differ between rows."""
    found: set[Node] = set()
    changed = True
    while changed:
        changed = False
        for node in divergence.kernel.nodes():
            if node in found:
                continue
            if _begins(node, divergence.axis) or any(each in found for each in node.operands):
                found.add(node)
                changed = True
    return found


def _begins(node: Node, axis: int) -> bool:
    """True for a number that tells rows apart."""
    if node.op != "Builtin":
        return False
    name = str(node.literals[0])
    is_along_row = name in WITH_AXES and len(node.literals) > 1 and node.literals[1] == axis
    return not is_along_row and name not in SAME_IN_ALL_ROWS


def _share_loads(divergence: Divergence, differing: set[Node]) -> bool:
    """True if all rows load the same in a loop, and lanes do not."""
    return any(
        node.op == "Load"
        and node not in differing
        and divergence.stride_at(node.operands[0], block) != 0
        for block in divergence.kernel.blocks
        if block in divergence.cfg.loop_of
        for node in block.nodes
    )
