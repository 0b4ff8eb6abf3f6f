"""What a kernel costs: as vectors of work-items, and one work-item after the other.

Costs are in cycles for as many work-items as a vector has lanes. An iteration of a loop takes as
long as its instructions need to be issued, or as the values need that go from one iteration to the
next, whichever is longer. One work-item alone waits for the second; a vector has one chain of
values for each lane under way. On the other hand a vector loads from each lane's own address one
by one, and goes on until its last lane has left a loop.

How often loops run and branches are taken is not known here. So this decides where to begin;
what is faster is measured when the kernel runs (native/runtime/variants.c).
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import NamedTuple

from groundstate.compiler.analysis.cfg import Loop
from groundstate.compiler.analysis.divergence import VARYING, Divergence
from groundstate.compiler.analysis.register_pressure import registers_of
from groundstate.compiler.analysis.register_tables import entry_of
from groundstate.compiler.analysis.speculated_strides import speculated_nodes
from groundstate.compiler.codegen.function import components
from groundstate.compiler.ir import Block, Node
from groundstate.compiler.ir.ops import Category, operation
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Float, Pointer, Type, Vector
from groundstate.compiler.target import Target

FREE = (Category.LEAF, Category.CAST, Category.CHAIN)
"""They are parts of addresses or of other instructions."""


ACCESSES = (Category.MEMORY, Category.ATOMIC)
FAR_APART = 4
"""Lanes that lie further apart than so many numbers read each for itself, if at fixed steps."""


class Cost(NamedTuple):
    """Cycles that as many work-items take as a vector has lanes."""

    as_vector: float
    one_by_one: float


class Shared(NamedTuple):
    """What several vectors that run together compute once."""

    vectors: int = 1
    differing: Container[Node] = ()
    """What each of them computes."""

    def share(self, node: Node) -> float:
        """Which part of a node's cost is that of one vector."""
        return 1 if node in self.differing else 1 / self.vectors


NOTHING_SHARED = Shared()


def estimate(
    divergence: Divergence, takes_products: bool = True, shared: Shared = NOTHING_SHARED
) -> Cost:
    """What a kernel costs in either way. Strides that the program gives are taken to be 1, or to be
    the lengths of rows."""
    blocks: dict[Loop | None, list[Block]] = {}
    for block in divergence.kernel.blocks:
        if not block.cold:
            blocks.setdefault(divergence.cfg.loop_of.get(block), []).append(block)
    vector = scalar = 0.0
    together = speculated_nodes(divergence.kernel, divergence, takes_products)
    for loop, inside in blocks.items():
        times = _iterations(loop, divergence.target)
        vector += times * _as_vector(divergence, together, loop, inside, shared)
        scalar += times * _one_by_one(divergence, loop, inside)
    return Cost(vector, scalar)


def has_gathers(divergence: Divergence) -> bool:
    """True if lanes access memory at addresses of their own."""
    return any(accesses_apart(divergence))


def scatters(divergence: Divergence) -> int:
    """How many stores are to addresses of their own."""
    return sum(1 for node in accesses_apart(divergence) if node.op == "Store")


def accesses_apart(divergence: Divergence) -> Iterator[Node]:
    """The accesses of memory that all work-items share, each lane at an address of its own. Those
    that most likely lie together do not count."""
    together = speculated_nodes(divergence.kernel, divergence, takes_products=False)
    for block in divergence.kernel.blocks:
        for node in block.nodes:
            row = operation(node)
            if row.category not in ACCESSES or not row.address_operand:
                continue
            if node.operands[0] in together:
                continue
            is_alone = _is_one_by_one(divergence, node, block)
            if is_alone or _is_far_apart(divergence, node, block):
                yield node


def _iterations(loop: Loop | None, target: Target) -> int:
    times = 1
    while loop is not None:
        times, loop = times * target.likely_iterations, loop.parent
    return times


def _as_vector(
    divergence: Divergence,
    together: Container[Node],
    loop: Loop | None,
    blocks: list[Block],
    shared: Shared,
) -> float:
    """As a vector; what is accessed at some addresses lies together, most likely."""
    target = divergence.target
    cycles = 0.0
    for block in blocks:
        cycles += sum(
            _vector_cycles(divergence, together, node, block) * shared.share(node)
            for node in block.nodes
        )
        cycles += target.divergent_branch_cycles * (block in divergence.divergent_branches)
    while loop is not None:
        if loop in divergence.divergent_loops:
            cycles /= target.likely_utilisation
        loop = loop.parent
    return cycles


def _vector_cycles(
    divergence: Divergence, together: Container[Node], node: Node, block: Block
) -> float:
    target, row = divergence.target, operation(node)
    if row.category is Category.MEMORY and row.address_operand:
        is_together = node.operands[0] in together
        if not is_together and _is_one_by_one(divergence, node, block):
            return target.gather_cycles * divergence.width * _parts(accessed(node))
        if _is_far_apart(divergence, node, block):
            parts = _parts(accessed(node)) if node.op == "Store" else 1  # vectors are read whole
            return target.gather_cycles * divergence.width * parts
        return _registers(divergence, accessed(node)) / target.vector_issue
    if row.category is Category.ATOMIC:
        is_own = _is_one_by_one(divergence, node, block)
        return target.atomic_cycles * (divergence.width if is_own else 1)
    if row.category in FREE:
        return 0
    registers = registers_of(node, divergence) or (node.op != "Phi")
    return registers * (target.division_cycles if row.divides else 1) / target.vector_issue


def _is_one_by_one(divergence: Divergence, node: Node, block: Block) -> bool:
    """True if each lane's address is one of its own, in memory that all work-items share, and
    larger than some registers."""
    pointer = node.operands[0]
    assert isinstance(pointer.type, Pointer)
    is_private = pointer.type.storage == StorageClass.Function
    if is_private or divergence.stride_at(pointer, block) is not VARYING:
        return False
    return entry_of(node, divergence.target) is None


def _is_far_apart(divergence: Divergence, node: Node, block: Block) -> bool:
    """True if lanes lie too far apart for what they access to be picked from vectors."""
    pointer, type_ = node.operands[0], accessed(node)
    step = divergence.stride_at(pointer, block)
    is_shared = isinstance(pointer.type, Pointer) and pointer.type.storage != StorageClass.Function
    if not is_shared or operation(node).category is not Category.MEMORY:
        return False
    number = type_.element if isinstance(type_, Vector) else type_
    return step is not VARYING and abs(step) > FAR_APART * number.size and step != type_.size


def _one_by_one(divergence: Divergence, loop: Loop | None, blocks: list[Block]) -> float:
    target = divergence.target
    nodes = [node for block in blocks for node in block.nodes]
    issued = sum(
        _issued(node, target) * _parts(node.type)
        for node in nodes
        if operation(node).category not in FREE
    )
    cycles = issued / target.scalar_issue
    if loop is not None:
        cycles = max(cycles, _recurrence(divergence, loop, nodes))
    cycles += target.mispredicted_cycles * sum(
        _mispredictions(loop, each, target)
        for each in blocks
        if each in divergence.divergent_branches
    )
    return cycles * divergence.width


def _issued(node: Node, target: Target) -> float:
    """The issue slots that an operation takes, or blocks."""
    row = operation(node)
    if row.category is Category.ATOMIC:
        return target.atomic_cycles * target.scalar_issue
    return target.division_cycles * target.scalar_issue if row.divides else 1


def _mispredictions(loop: Loop | None, block: Block, target: Target) -> float:
    """How often a branch goes another way than the CPU thought: a loop ends once."""
    is_exit = loop is not None and any(each not in loop.blocks for each in block.successors)
    return 1 / target.likely_iterations if is_exit else 0.5


def _recurrence(divergence: Divergence, loop: Loop, nodes: list[Node]) -> float:
    """The longest chain from a value of an iteration to the same value of the next one."""
    longest = 0.0
    for phi in loop.header.phis:
        depths = {phi: 0.0}
        for node in nodes:
            known = [depths[each] for each in node.operands if each in depths]
            if known:
                depths[node] = max(known) + _latency(divergence, node)
        for value, source in zip(phi.operands, phi.literals, strict=True):
            if isinstance(source, Block) and loop.contains(source):
                longest = max(longest, depths.get(value, 0.0))
    return longest


def _latency(divergence: Divergence, node: Node) -> float:
    target, row = divergence.target, operation(node)
    if row.category is Category.MEMORY:
        return target.load_latency
    if row.category in FREE:
        return 0
    if row.divides:
        return target.division_cycles
    element = node.type.element if isinstance(node.type, Vector) else node.type
    return target.float_latency if isinstance(element, Float) else 1


def accessed(node: Node) -> Type:
    """The type of what an access of memory reads or writes."""
    return node.operands[1].type if node.op == "Store" else node.type


def _parts(type_: Type) -> int:
    """How many scalars there are in a value."""
    return len(components(type_) or (type_,))


def _registers(divergence: Divergence, type_: Type) -> float:
    return max(1.0, type_.size * divergence.width / divergence.target.vector_bytes)
