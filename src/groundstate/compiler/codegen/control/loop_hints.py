"""What LLVM is told of loops of one work-item: which to leave alone, which to fill with masks."""

from __future__ import annotations

from groundstate.compiler.analysis.cfg import Loop
from groundstate.compiler.ir import Block
from groundstate.compiler.spirv.types import Float
from groundstate.compiler.target import Target

SERIAL_LOOP, FILLING_LOOP = "!5", "!7"
LOOP_HINT_LINES = (
    '!4 = !{!"llvm.loop.unroll.runtime.disable"}',
    f"{SERIAL_LOOP} = distinct !{{{SERIAL_LOOP}, !4}}",
    '!6 = !{!"llvm.loop.vectorize.predicate.enable", i1 true}',
    '!8 = !{!"llvm.loop.interleave.count", i32 1}',
    f"{FILLING_LOOP} = distinct !{{{FILLING_LOOP}, !4, !6, !8}}",
)


def loop_hint(loop: Loop, target: Target) -> str:
    """What follows the branch back to the head of a loop."""
    if _is_serial(loop.header):
        return f", !llvm.loop {SERIAL_LOOP}"
    if target.has_mask_registers and _only_stores(loop):
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
    """True for a loop that fills memory and waits for nothing. Several vectors at a time would gain
    little, and loops for what they leave would end where nobody can predict it."""
    ops = {each.op for block in loop.blocks for each in block.nodes}
    return "Store" in ops and "Load" not in ops
