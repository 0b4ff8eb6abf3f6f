"""Single facts about a kernel as a whole."""

from __future__ import annotations

from groundstate.compiler.analysis.divergence import lane_stride
from groundstate.compiler.ir import Kernel, Node, constant_int
from groundstate.compiler.ir.ops import Category, operation
from groundstate.compiler.lower.barriers import is_group_barrier
from groundstate.compiler.spirv.opcodes import Scope
from groundstate.compiler.spirv.types import Pointer


def observes_subgroups(kernel: Kernel) -> bool:
    """True if a kernel can tell how large its sub-groups are."""
    return any(observes_subgroup(node) for node in kernel.nodes())


def observes_subgroup(node: Node) -> bool:
    if node.op == "Builtin":
        return "Subgroup" in str(node.literals[0])
    row = operation(node)
    if row.is_of_subgroup:
        return True
    is_scoped = row.category in (Category.GROUP, Category.BARRIER)
    return is_scoped and bool(node.operands) and constant_int(node.operands[0]) == Scope.Subgroup


def furthest_lane(kernel: Kernel) -> int:
    """The largest lane or distance between lanes that a shuffle of the kernel names, else 0.

    A kernel that names one expects sub-groups in which there is such a lane."""
    named = (
        constant_int(node.operands[-1])
        for node in kernel.nodes()
        if operation(node).source_lane is not None
    )
    return max([0, *(each for each in named if each is not None)])


def has_barriers(kernel: Kernel) -> bool:
    """True if the work-items of a group wait for each other."""
    return any(map(is_group_barrier, kernel.nodes()))


def private_bytes(kernel: Kernel) -> int:
    """The memory of one work-item's variables that have an address."""
    return sum(
        lane_stride(node.type.pointee)
        for node in kernel.nodes()
        if node.op == "Variable" and isinstance(node.type, Pointer)
    )


def is_loop_free(kernel: Kernel) -> bool:
    """True if control only ever goes forward."""
    return all(
        successor.index > block.index for block in kernel.blocks for successor in block.successors
    )
