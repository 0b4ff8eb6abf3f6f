"""Prefetching: loads of the next work-group are prefetched while this one runs.

Where the work-items of a group share a row, each takes some of its elements and jumps over those of
the others. So the memory is read in pieces, one sub-group after the other, in an order that the
hardware does not foresee. But groups do the same one after the other, each on another row: while a
piece of this row is read, the same piece of the next one is fetched into the cache.

The same holds where each work-item has a column of a matrix: an iteration reads one piece of a row
for all lanes, and the next one jumps to the next row, whose length only the program knows. The next
group reads the pieces beside these. If lanes part in such a loop, it does not wait for arithmetic,
and what it jumps over is most likely more than a cache holds.

This takes loads that read one piece for all lanes at addresses that are affine in the number of the
group, of vectors in loops that lanes leave in different iterations, or of anything in loops that
jump. If a guess should be wrong, nothing happens but that memory is fetched in vain.
"""

from __future__ import annotations

from groundstate.compiler.analysis.affine import STILL, Start, Step, Steps, WalkedAxis
from groundstate.compiler.analysis.cfg import Loop
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.analysis.turned import group_order
from groundstate.compiler.ir import Block, Kernel, Node, constant_int
from groundstate.compiler.ir.ops import LEAVES, Affine, operation
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Int, Pointer, Vector, Void

LONGEST_STEP = 1 << 40
MAX_DEPTH = 30
"""Of the operations that an address is computed by."""
SAME_IN_ALL_GROUPS = frozenset(
    """LocalInvocationId LocalInvocationIndex WorkgroupSize EnqueuedWorkgroupSize GlobalSize
    NumWorkgroups GlobalOffset WorkDim SubgroupLocalInvocationId SubgroupId SubgroupSize
    SubgroupMaxSize NumSubgroups NumEnqueuedSubgroups""".split()  # noqa: SIM905
)


def prefetch(kernel: Kernel, analyses: Analyses) -> bool:
    """Prefetches what the next work-group loads, before each load of this one."""
    divergence = analyses.get(Divergence)
    if divergence.width == 1 or not divergence.cfg.reducible:
        return False
    steps = Steps(_Groups(divergence), MAX_DEPTH)
    added = False
    for block in kernel.blocks:
        loop = divergence.cfg.loop_of.get(block)
        if loop is None or not _is_irregular(divergence, loop):
            continue
        for load in [node for node in block.nodes if _reads_a_piece(divergence, node)]:
            if not _is_worth_it(divergence, loop, load):
                continue
            step = steps.of(load.operands[0])
            if step is not None and _can_be_written(divergence, block, step):
                count, factor = step
                operands = load.operands[:1] + ([factor] if factor is not None else [])
                ahead = load.derive("Prefetch", Void(), operands, (count,))
                block.nodes.insert(block.nodes.index(load), ahead)
                added = True
    return added


def _is_irregular(divergence: Divergence, loop: Loop) -> bool:
    """True if lanes part in a loop."""
    return loop in divergence.divergent_loops or any(
        block in divergence.divergent_branches for block in loop.blocks
    )


def _is_worth_it(divergence: Divergence, loop: Loop, load: Node) -> bool:
    """True for a load at an address that the hardware does not foresee."""
    if loop in divergence.divergent_loops and isinstance(load.type, Vector):
        return True
    return _jumps(load.operands[0], loop)


def _jumps(address: Node, loop: Loop) -> bool:
    """True if an address goes up in each iteration by what only the program knows."""
    seen: set[Node] = set()
    waiting = [address]
    while waiting and len(seen) < MAX_DEPTH:
        node = waiting.pop()
        if node in seen or node.block not in loop.blocks:
            continue
        seen.add(node)
        sums = [each for each in node.operands if operation(each).affine is Affine.SUM]
        is_carried = node.op == "Phi" and any(
            node in each.operands and _has_given(each, loop) for each in sums
        )
        if is_carried or (operation(node).affine is Affine.PRODUCT and _has_given(node, loop)):
            return True
        if node.op not in ("Load", "Phi"):
            waiting += node.operands
    return False


def _has_given(node: Node, loop: Loop) -> bool:
    """True for an operation with a number that all iterations share, and that is not known here."""
    return any(
        constant_int(each) is None and each.block not in loop.blocks for each in node.operands
    )


def _reads_a_piece(divergence: Divergence, node: Node) -> bool:
    """True if what lanes load lies one behind the other in memory of the program."""
    if node.op != "Load" or node.block is None:
        return False
    pointer = node.operands[0]
    is_global = isinstance(pointer.type, Pointer) and pointer.type.storage in (
        StorageClass.CrossWorkgroup,
        StorageClass.Generic,
    )
    is_small = node.type.size * divergence.width <= divergence.target.most_prefetched_bytes
    return is_global and is_small and divergence.stride_at(pointer, node.block) == node.type.size


def _can_be_written(divergence: Divergence, block: Block, step: Step) -> bool:
    """True for a step that leads somewhere else, and is a number of 64 bits for all lanes."""
    count, factor = step
    if factor is not None:
        is_index = isinstance(factor.type, Int) and factor.type.width in (32, 64)
        if not is_index or divergence.stride_at(factor, block) != 0:
            return False
    return 0 < abs(count) < LONGEST_STEP


class _Groups(WalkedAxis):
    """The work-groups of a launch that follow each other in a line."""

    def __init__(self, divergence: Divergence) -> None:
        self.group_size = divergence.group_size
        self.line = group_order(divergence.variant.axis)[0]
        self.loops = divergence.cfg.loop_of

    def start(self, node: Node) -> Start:
        """For a value that changes in a loop, what to ask is what it begins with: what is added in
        an iteration is most likely the same for all groups."""
        if node.op in LEAVES:
            return STILL
        if node.op == "Builtin":
            return self._of_builtin(node)
        loop = self.loops.get(node.block) if node.block is not None else None
        if node.op != "Phi" or loop is None or loop.header is not node.block:
            return node.operands
        pairs = zip(node.operands, node.literals, strict=True)
        return [each for each, source in pairs if source not in loop.blocks]

    def _of_builtin(self, node: Node) -> Step | None:
        name, *component = node.literals
        if name in SAME_IN_ALL_GROUPS:
            return STILL
        if name not in ("GlobalInvocationId", "WorkgroupId") or not component:
            return None
        if component[0] != self.line:
            return STILL
        return Step(self.group_size[self.line] if name == "GlobalInvocationId" else 1)
