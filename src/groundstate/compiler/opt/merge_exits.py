"""Merging exits: a loop that is left at its head and at its end is left at its end only.

`while (step < limit && x * x + y * y < 4)` is two tests, the first of which comes before the body.
In goes such a loop with a short body that only computes; out comes one that does the body whatever
the first test said, and then asks for both at once. Which of them it was is asked behind the loop.
On a GPU that is one branch for an iteration, and no copies of values for the case that the loop is
left in the middle.
"""

from __future__ import annotations

from groundstate.compiler.analysis.cfg import CFG, Loop
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.ops import Category, operation
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.types import Bool, Float, Int, Type, Vector

MOST_SPECULATED = 24
"""Operations that are done once more than the program says."""
CHEAP = (Category.CAST, Category.CHAIN, Category.ARITHMETIC, Category.COMPOSITE)


def merge_exits(kernel: Kernel, analyses: Analyses) -> bool:
    """Lets loops with two exits to one block be left at their end only."""
    del kernel
    changed = [_merged(loop) for loop in analyses.get(CFG).loops]
    return any(changed)


def _merged(loop: Loop) -> bool:
    header = loop.header
    if len(loop.blocks) != 2 or len(loop.latches) != 1 or loop.latches[0] is header:
        return False
    latch = loop.latches[0]
    ends = [_exit_of(loop, each) for each in (header, latch)]
    after = ends[0]
    if after is None or ends[1] is not after or latch.phis or not _is_cheap(latch):
        return False
    if not all(_is_number(phi.type) for phi in after.phis):
        return False
    _merge(header, latch, after)
    return True


def _exit_of(loop: Loop, block: Block) -> Block | None:
    """Where a block leaves a loop to, in one of two ways."""
    if len(block.successors) != 2 or block.switch is not None:
        return None
    outside = [each for each in block.successors if not loop.contains(each)]
    return outside[0] if len(outside) == 1 else None


def _is_cheap(block: Block) -> bool:
    """Whether a block may be done where the program would not."""
    rows = [operation(node) for node in block.nodes]
    return len(rows) <= MOST_SPECULATED and all(
        row.is_pure and not row.divides and row.category in CHEAP for row in rows
    )


def _is_number(type_: Type) -> bool:
    kind = type_.element if isinstance(type_, Vector) else type_
    return isinstance(kind, Int | Float | Bool)


def _merge(header: Block, latch: Block, after: Block) -> None:
    first, second = _stays(header, after, latch), _stays(latch, after, latch)
    assert latch.condition is not None
    both = latch.condition.derive("LogicalAnd", Bool(), [first, second])
    latch.nodes.append(both)
    header.condition, header.successors = None, [latch]
    behind = Block(header.where)
    latch.condition, latch.successors = both, [header, behind]
    behind.successors = [after]
    for phi in after.phis:
        values = dict(zip(phi.literals, phi.operands, strict=True))
        early, late = values.pop(header), values.pop(latch)
        chosen = phi.derive("Select", phi.type, [first, late, early])
        behind.nodes.append(chosen)
        phi.operands, phi.literals = [*values.values(), chosen], (*values, behind)


def _stays(block: Block, after: Block, latch: Block) -> Node:
    """Whether a block's branch does not leave the loop; what computes it is in the latch."""
    condition = block.condition
    assert condition is not None
    if block.successors[1] is after:
        return condition
    stays = condition.derive("LogicalNot", Bool(), [condition])
    latch.nodes.append(stays)
    return stays
