"""The memory semantics of SPIR-V in LLVM's words."""

from __future__ import annotations

from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.spirv.opcodes import MemorySemantics, Scope

ACQUIRE, RELEASE, ACQUIRE_RELEASE, SEQUENTIAL = 0x2, 0x4, 0x8, 0x10
MEMORIES = 0xFC0
"""The bits of memory semantics that name the memory they are about."""
GROUP_MEMORIES = MemorySemantics.SubgroupMemory | MemorySemantics.WorkgroupMemory
GROUP_SCOPES = frozenset((Scope.Workgroup, Scope.Subgroup, Scope.Invocation))


def ordering(node: Node, position: int, loads: bool = True, stores: bool = True) -> str:
    """LLVM's word for the memory semantics that an operand states."""
    flags = constant_int(node.operands[position]) if position < len(node.operands) else None
    flags = SEQUENTIAL if flags is None else flags
    if flags & SEQUENTIAL:
        return "seq_cst"
    acquire, release = flags & (ACQUIRE | ACQUIRE_RELEASE), flags & (RELEASE | ACQUIRE_RELEASE)
    if acquire and release and loads and stores:
        return "acq_rel"
    if acquire and loads:
        return "acquire"
    if release and stores:
        return "release"
    return "monotonic"


def barrier_fence(barrier: Node) -> str:
    """The memory fence of a control barrier, as an instruction of LLVM; empty if it needs none.

    The work-items of a group run on one thread and see each other's writes anyway. A fence is for
    those of other groups: the scope is wider than a group, and the memory not the group's own.
    """
    order = ordering(barrier, 2)
    _, scope, semantics = barrier.operands
    if order == "monotonic" or constant_int(scope) in GROUP_SCOPES:
        return ""
    memories = (constant_int(semantics) or 0) & MEMORIES
    is_own = memories and not memories & ~GROUP_MEMORIES
    return "" if is_own else f"fence {order}"
