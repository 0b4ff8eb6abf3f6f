"""Counters of blocks: instrument/counting.py says what they are for.

While a range of groups runs they lie on the stack; at its end they are added to those of the
launch, which all threads share.
"""

from __future__ import annotations

from typing import Any

from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.reports import active_bits
from groundstate.compiler.ir import Kernel, Node
from groundstate.native_layouts import (
    BLOCK_COUNTERS,
    COUNTER_DIVERGED,
    COUNTER_LANES,
    COUNTER_RUNS,
    Dispatch,
    offset_of,
)

SITE = "counts"
WORD = 8
SYMBOL = "gs.add.counts"
CTPOP = "llvm.ctpop.i64"
OFFSET_COUNTS = offset_of(Dispatch, "counts")


@handles("CountBlock")
def _count_block(emitter: Emitter, node: Node) -> None:
    """Counts the active lanes, and that there are some."""
    text = emitter.text
    bits = active_bits(emitter, None)
    text.declarations[CTPOP] = f"declare i64 @{CTPOP}(i64)"
    some = text.emit(f"icmp ne i64 {bits}, 0")
    _add(emitter, node, COUNTER_RUNS, text.emit(f"zext i1 {some} to i64"))
    _add(emitter, node, COUNTER_LANES, text.emit(f"call i64 @{CTPOP}(i64 {bits})"))


@handles("CountBranch")
def _count_branch(emitter: Emitter, node: Node) -> None:
    """Counts if some active lanes go one way, and some the other."""
    if emitter.width == 1:
        return
    text = emitter.text
    condition = emitter.scalar(node.operands[0])
    here, taken = active_bits(emitter, None), active_bits(emitter, condition)
    some = text.emit(f"icmp ne i64 {taken}, 0")
    not_all = text.emit(f"icmp ne i64 {taken}, {here}")
    both = text.emit(f"and i1 {some}, {not_all}")
    _add(emitter, node, COUNTER_DIVERGED, text.emit(f"zext i1 {both} to i64"))


def _add(emitter: Emitter, node: Node, counter: int, amount: str) -> None:
    text = emitter.text
    number = int(str(node.literals[0])) * BLOCK_COUNTERS + counter
    emitter.context.counters = max(emitter.context.counters, number + 1)
    place = text.emit(f"getelementptr i8, ptr %counts, i64 {number * WORD}")
    before = text.emit(f"load i64, ptr {place}, align 8")
    after = text.emit(f"add i64 {before}, {amount}")
    text.do(f"store i64 {after}, ptr {place}, align 8")


def site(kernel: Kernel) -> list[dict[str, Any]]:
    """The table that goes along with the code of a kernel that counts, behind all other sites."""
    if not kernel.block_costs:
        return []
    return [{"checker": SITE, "costs": kernel.block_costs} | kernel.block_facts]


def begin_lines(counters: int, memset: str) -> list[str]:
    """Makes the counters of a range of groups."""
    return [
        f"  %counts = alloca [{counters} x i64], align 8",
        f"  call void @{memset}(ptr align 8 %counts, i8 0, i64 {counters * WORD}, i1 false)",
    ]


def end_line(counters: int) -> str:
    """Adds them to those of the launch."""
    return f"  call void @{SYMBOL}(ptr %dispatch, ptr %counts, i64 {counters})"


FUNCTION = "\n".join(
    (
        f"define internal void @{SYMBOL}(ptr %dispatch, ptr %counts, i64 %count) "
        "noinline nounwind {",
        "entry:",
        f"  %place = getelementptr i8, ptr %dispatch, i64 {OFFSET_COUNTS}",
        "  %all = load ptr, ptr %place, align 8",
        "  br label %next",
        "next:",
        "  %n = phi i64 [ 0, %entry ], [ %n.next, %next ]",
        "  %from = getelementptr i64, ptr %counts, i64 %n",
        "  %amount = load i64, ptr %from, align 8",
        "  %into = getelementptr i64, ptr %all, i64 %n",
        "  %before = atomicrmw add ptr %into, i64 %amount monotonic",
        "  %n.next = add i64 %n, 1",
        "  %more = icmp ult i64 %n.next, %count",
        "  br i1 %more, label %next, label %done",
        "done:",
        "  ret void",
        "}",
    )
)
