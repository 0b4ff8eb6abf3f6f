"""Vectors of a group that run together: unroll-and-jam over the rows, or along a row.

Where the lanes of a vector lie in one row of a two-dimensional group, the rows below it often load
the same numbers: all rows of a matrix product read the same row of the second matrix. If rows run
in lockstep, such a number is loaded once for all of them. If a group has a single row of several
vectors, what these share is the number by which all lanes multiply, and what each loads lies behind
what the one before loads. Both is possible if they always go the same way: no branch depends on
which row it is, and none on the lane.
"""

from __future__ import annotations

from typing import NamedTuple

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
NEIGHBOURS = (1, 2, 4, 8)
"""Bytes from what a lane loads to what the next one does."""
PLAIN = frozenset(("Load", "Store", "Prefetch", "ShadowStore"))


class Lockstep(NamedTuple):
    """Which vectors of a group run together."""

    vectors: int = 1
    along_row: bool = False
    """Whether they are neighbours in a row, rather than at the same place of several rows."""


ONE_BY_ONE = Lockstep()


def rows_together(divergence: Divergence) -> Lockstep:
    """How many vectors run in lockstep: 1 if that is not possible, or gains nothing."""
    if divergence.width == 1 or not divergence.rows_are_whole:
        return ONE_BY_ONE
    if not divergence.cfg.loops or not _are_plain(divergence):
        return ONE_BY_ONE
    rows = divergence.group_size[divergence.axes[1]]
    vectors = divergence.group_size[divergence.axis] // divergence.width
    return _together(divergence, rows, False) or _together(divergence, vectors, True) or ONE_BY_ONE


def _together(divergence: Divergence, vectors: int, along_row: bool) -> Lockstep | None:
    """How many of so many vectors run in lockstep, if that gains anything."""
    if vectors == 1:
        return None
    differing = _differing(divergence, along_row)
    if any(block.condition in differing for block in divergence.kernel.blocks):
        return None
    if not _share_loads(divergence, differing, along_row):
        return None
    target = divergence.target
    for together in target.rows_together:
        copies = dict.fromkeys(differing, together)
        if (
            vectors % together == 0
            and register_pressure(divergence, copies) <= target.vector_registers
        ):
            return Lockstep(together, along_row)
    return None


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


def _differing(divergence: Divergence, along_row: bool) -> set[Node]:
    """The values that may differ between the vectors."""
    found: set[Node] = set()
    changed = True
    while changed:
        changed = False
        for node in divergence.kernel.nodes():
            if node in found:
                continue
            if _begins(node, divergence.axis, along_row) or any(
                each in found for each in node.operands
            ):
                found.add(node)
                changed = True
    return found


def _begins(node: Node, axis: int, along_row: bool) -> bool:
    """True for a number that tells rows apart, or vectors of a row."""
    if node.op != "Builtin":
        return False
    name = str(node.literals[0])
    if name in WITH_AXES and len(node.literals) > 1:
        return (node.literals[1] == axis) == along_row
    return name not in SAME_IN_ALL_ROWS


def _share_loads(divergence: Divergence, differing: set[Node], along_row: bool) -> bool:
    """True if all rows load the same in a loop, and lanes do not. Along a row, if all vectors load
    the same number in a loop, and there each loads what lies behind that of the one before."""
    loads = [
        (node in differing, divergence.stride_at(node.operands[0], block))
        for block in divergence.kernel.blocks
        if block in divergence.cfg.loop_of
        for node in block.nodes
        if node.op == "Load"
    ]
    if not along_row:
        return any(not differs and stride != 0 for differs, stride in loads)
    return any(not differs for differs, _ in loads) and any(
        differs and stride in NEIGHBOURS for differs, stride in loads
    )
