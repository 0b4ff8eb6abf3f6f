"""Memory semantics and scopes of SPIR-V in the words of PTX."""

from __future__ import annotations

from groundstate.compiler.codegen.memory.ordering import (
    GROUP_MEMORIES,
    GROUP_SCOPES,
    MEMORIES,
    ordering,
)
from groundstate.compiler.codegen.thread.emitter import ThreadEmitter
from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.spirv.opcodes import Scope, StorageClass
from groundstate.compiler.spirv.types import Pointer, Type

WORDS = {"monotonic": "relaxed", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel"}
"""LLVM's words and those of PTX; seq_cst is a fence, and what acquires or releases behind it."""

GLOBAL, SHARED = 1, 3
"""LLVM's numbers of kinds of memory."""
SPACES = {
    StorageClass.CrossWorkgroup: (GLOBAL, ".global"),
    StorageClass.Workgroup: (SHARED, ".shared"),
}


def scope_of(node: Node) -> str:
    """How far an operation is seen: the group, the GPU, or the whole machine.

    What is not a constant is taken as the widest."""
    scope = constant_int(node)
    if scope in GROUP_SCOPES:
        return "cta"
    return "gpu" if scope == Scope.Device else "sys"


def space_of(pointer: Type) -> tuple[int, str]:
    """The kind of memory that a pointer is known to lead to: LLVM's number, and PTX's suffix."""
    return SPACES.get(pointer.storage, (0, "")) if isinstance(pointer, Pointer) else (0, "")


def fence(emitter: ThreadEmitter, order: str, scope: str) -> None:
    """A memory fence of an order that LLVM has a word for."""
    if order != "monotonic":
        kind = "sc" if order == "seq_cst" else "acq_rel"
        emitter.assembly("void", f"fence.{kind}.{scope};", "~{memory}", [])


def barrier_fence(emitter: ThreadEmitter, barrier: Node) -> None:
    """The fence of a control barrier for work-items of other groups; those of the group that
    meet there see each other's writes anyway."""
    order = ordering(barrier, 2)
    _, scope, semantics = barrier.operands
    memories = (constant_int(semantics) or 0) & MEMORIES
    is_own = memories and not memories & ~GROUP_MEMORIES
    if not is_own and constant_int(scope) not in GROUP_SCOPES:
        fence(emitter, order, scope_of(scope))
