"""Barriers and fences."""

from __future__ import annotations

from groundstate.compiler.codegen.memory.ordering import ordering
from groundstate.compiler.codegen.thread.emitter import ThreadEmitter, writes
from groundstate.compiler.codegen.thread.lanes import members
from groundstate.compiler.codegen.thread.ordering import barrier_fence, fence, scope_of
from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.lower.barriers import is_group_barrier
from groundstate.compiler.spirv.opcodes import Scope


def wait_for_group(emitter: ThreadEmitter) -> None:
    """All work-items of the group meet, and see what each other has written."""
    emitter.text.call("void", "llvm.nvvm.barrier.cta.sync.aligned.all", [("i32", "0")])


def wait_for_subgroup(emitter: ThreadEmitter) -> None:
    """The same for a sub-group."""
    mask = members(emitter, is_uniform=True)
    emitter.text.call("void", "llvm.nvvm.bar.warp.sync", [("i32", mask)])


@writes("ControlBarrier")
def _control_barrier(emitter: ThreadEmitter, node: Node) -> None:
    """For other groups, what comes before is written before the barrier, and what comes behind
    is read behind it."""
    barrier_fence(emitter, node)
    if is_group_barrier(node):
        wait_for_group(emitter)
    elif constant_int(node.operands[0]) == Scope.Subgroup:
        wait_for_subgroup(emitter)
    barrier_fence(emitter, node)


@writes("GroupWaitEvents")
def _wait_events(emitter: ThreadEmitter, node: Node) -> None:
    del node
    wait_for_group(emitter)


@writes("MemoryBarrier")
def _memory_barrier(emitter: ThreadEmitter, node: Node) -> None:
    fence(emitter, ordering(node, 1), scope_of(node.operands[0]))
