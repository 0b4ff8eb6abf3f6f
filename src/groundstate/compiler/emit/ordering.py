"""The memory semantics of SPIR-V in LLVM's words."""

from __future__ import annotations

from groundstate.compiler.ir import Node, constant_int

ACQUIRE, RELEASE, ACQUIRE_RELEASE, SEQUENTIAL = 0x2, 0x4, 0x8, 0x10


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
