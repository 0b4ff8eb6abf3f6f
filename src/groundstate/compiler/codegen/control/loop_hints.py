"""What LLVM is told of loops of one work-item: which to leave alone, which to fill with masks."""

from __future__ import annotations

from math import prod

from groundstate.compiler.analysis.cfg import Loop
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.ir import Block
from groundstate.compiler.spirv.types import Float

SERIAL_LOOP, FILLING_LOOP = "!5", "!7"
LOOP_HINT_LINES = (
    '!4 = !{!"llvm.loop.unroll.runtime.disable"}',
    f"{SERIAL_LOOP} = distinct !{{{SERIAL_LOOP}, !4}}",
    '!6 = !{!"llvm.loop.vectorize.predicate.enable", i1 true}',
    '!8 = !{!"llvm.loop.interleave.count", i32 1}',
    f"{FILLING_LOOP} = distinct !{{{FILLING_LOOP}, !4, !6, !8}}",
)


def loop_hint(loop: Loop, divergence: Divergence) -> str:
    """What follows the branch back to the head of a loop."""
    if _is_serial(loop.header):
        return f", !llvm.loop {SERIAL_LOOP}"
    has_masks = divergence.target.has_mask_registers
    if has_masks and prod(divergence.group_size) > 1 and _only_stores(loop):
        return f", !llvm.loop {FILLING_LOOP}"
    return ""


def _is_serial(header: Block) -> bool:
    """True if each iteration of a loop waits for the sum of the one before: unrolling would gain
    nothing, and leave a second loop whose end cannot be predicted."""
    return any(
        isinstance(phi.type, Float) and any(phi in each.operands for each in phi.operands)
        for phi in header.phis
    )


def _only_stores(loop: Loop) -> bool:
    """True for a loop that fills memory and waits for nothing. Of many work-items each has a short
    one: several vectors at a time would gain less than it costs that nobody can predict where the
    loops for what they leave end. Loops that also load are left alone: long copies took 1.5 times
    as long with masks."""
    ops = {each.op for block in loop.blocks for each in block.nodes}
    return "Store" in ops and "Load" not in ops
