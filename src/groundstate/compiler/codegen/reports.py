"""Reports of checkers: work-items that did something wrong leave records for the driver.

docs/internals/checking.md has the format. Reporting is rare, so it is a function of its own, which
goes from lane to lane, and what it needs is written to memory first.
"""

from __future__ import annotations

from collections.abc import Sequence

from groundstate.compiler.codegen.control.speculation import MOSTLY
from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Node
from groundstate.native_layouts import Dispatch, ReportRecord, SiteReports, offset_of

WORD = 8
ITEM_WORDS = 3
WORDS = (ReportRecord.words.size) // WORD
RECORD_BYTES = ITEM_WORDS * WORD + WORDS * WORD
RECORDS = (SiteReports.records.size) // RECORD_BYTES
SITE_BYTES = WORD + RECORDS * RECORD_BYTES
SYMBOL = "gs.report"
SCRATCH = "%report"


@handles("Report")
def _report(emitter: Emitter, node: Node) -> None:
    """Reports something in the active lanes for which a condition is true."""
    text = emitter.text
    condition, *words = (emitter.scalar(each) for each in node.operands)
    bits = active_bits(emitter, condition)
    rare, after = text.label("rare"), text.label("after")
    none = text.emit(f"icmp eq i64 {bits}, 0")
    text.do(f"br i1 {none}, label %{after}, label %{rare}, !prof {MOSTLY}")
    text.start(rare)
    write_report(emitter, int(str(node.literals[0])), bits, words)
    text.do(f"br label %{after}")
    text.start(after)


def active_bits(emitter: Emitter, condition: Lanes | None) -> str:
    """The active lanes for which a condition holds, as the bits of an i64."""
    text, width = emitter.text, emitter.width
    if width == 1:
        name = condition.name if condition is not None else "true"
        return text.emit(f"zext i1 {name} to i64")
    lanes = emitter.full_mask()
    if condition is not None:
        holds = text.as_vector(condition)
        lanes = text.emit(f"and {text.vector_type('i1')} {lanes}, {holds}")
    return lane_bits(emitter, lanes)


def lane_bits(emitter: Emitter, lanes: str) -> str:
    """A vector of truth values as the bits of an i64."""
    text, width = emitter.text, emitter.width
    bits = text.emit(f"bitcast {text.vector_type('i1')} {lanes} to i{width}")
    return bits if width == 64 else text.emit(f"zext i{width} {bits} to i64")


def lanes_of_bits(emitter: Emitter, bits: str) -> str:
    """The vector of truth values that an i64 has the bits of."""
    text, width = emitter.text, emitter.width
    if width < 64:
        bits = text.emit(f"trunc i64 {bits} to i{width}")
    return bits if width == 1 else text.emit(f"bitcast i{width} {bits} to {text.vector_type('i1')}")


def write_report(
    emitter: Emitter, site: int, bits: str, words: Sequence[Lanes], looks_for: int = 0
) -> str:
    """Reports some words in the lanes of some bits. Returns the bits of the lanes that reported:
    with `looks_for`, those for which there are not so many bytes at the address in their first
    word, which comes from the pointer in the last."""
    text, width = emitter.text, emitter.width
    _prepare(emitter)
    ids = emitter.context.ids["GlobalInvocationId"]
    for number, value in enumerate((*ids, *words)):
        name, wide = _as_i64(emitter, value), text.vector_type("i64")
        place = text.emit(f"getelementptr i8, ptr {SCRATCH}, i64 {number * WORD * width}")
        text.do(f"store {wide} {name}, ptr {place}, align 8")
    return text.emit(
        f"call i64 @{SYMBOL}(ptr %dispatch, i64 {site}, i64 {bits}, ptr {SCRATCH}, i64 {looks_for})"
    )


def _as_i64(emitter: Emitter, value: Lanes) -> str:
    text = emitter.text
    name, wide = text.as_vector(value), text.vector_type("i64")
    source = text.vector_type(value.type)
    if value.type == "ptr":
        return text.emit(f"ptrtoint {source} {name} to {wide}")
    if value.type in ("half", "float"):
        double = text.vector_type("double")
        name, source = text.emit(f"fpext {source} {name} to {double}"), double
    if value.type in ("half", "float", "double"):
        return text.emit(f"bitcast {source} {name} to {wide}")
    return name if value.type == "i64" else text.emit(f"sext {source} {name} to {wide}")


def _prepare(emitter: Emitter) -> None:
    """Writes the function, and makes room for what it is given, the first time."""
    if SYMBOL in emitter.text.declarations:
        return
    width = emitter.width
    size = (ITEM_WORDS + WORDS) * WORD * width
    emitter.allocas.append(f"  {SCRATCH} = alloca [{size} x i8], align 8")
    copies = []
    for number in range(ITEM_WORDS + WORDS):
        copies += [
            f"  %from{number}.row = getelementptr i8, ptr %words, i64 {number * WORD * width}",
            f"  %from{number} = getelementptr i64, ptr %from{number}.row, i64 %lane",
            f"  %word{number} = load i64, ptr %from{number}, align 8",
            f"  %into{number} = getelementptr i64, ptr %record, i64 {number}",
            f"  store i64 %word{number}, ptr %into{number}, align 8",
        ]
    emitter.text.declarations[SYMBOL] = "\n".join(_function_lines(width, copies))


def _function_lines(width: int, copies: list[str]) -> list[str]:
    address, root = (number * WORD * width for number in (ITEM_WORDS, ITEM_WORDS + WORDS - 1))
    reports, allows = (offset_of(Dispatch, each) for each in ("reports", "allows"))
    return [
        f"define internal i64 @{SYMBOL}(ptr %dispatch, i64 %site, i64 %bits, ptr %words, "
        "i64 %bytes) noinline cold nounwind {",
        "entry:",
        f"  %reports.place = getelementptr i8, ptr %dispatch, i64 {reports}",
        "  %reports = load ptr, ptr %reports.place",
        f"  %allows.place = getelementptr i8, ptr %dispatch, i64 {allows}",
        "  %allows = load ptr, ptr %allows.place",
        "  %can.look = icmp ne ptr %allows, null",
        "  %is.made = icmp ne ptr %reports, null",
        "  %looks = icmp ne i64 %bytes, 0",
        f"  %offset = mul i64 %site, {SITE_BYTES}",
        "  %place = getelementptr i8, ptr %reports, i64 %offset",
        "  br label %loop",
        "loop:",
        "  %lane = phi i64 [ 0, %entry ], [ %lane.next, %next ]",
        "  %reported = phi i64 [ 0, %entry ], [ %reported.next, %next ]",
        "  %bit = shl i64 1, %lane",
        "  %masked = and i64 %bits, %bit",
        "  %is.set = icmp ne i64 %masked, 0",
        "  br i1 %is.set, label %set, label %next",
        "set:",
        "  br i1 %looks, label %look, label %bad",
        "look:",
        "  br i1 %can.look, label %ask, label %next",
        "ask:",
        f"  %address.row = getelementptr i8, ptr %words, i64 {address}",
        "  %address.place = getelementptr i64, ptr %address.row, i64 %lane",
        "  %address = load i64, ptr %address.place, align 8",
        f"  %root.row = getelementptr i8, ptr %words, i64 {root}",
        "  %root.place = getelementptr i64, ptr %root.row, i64 %lane",
        "  %root = load i64, ptr %root.place, align 8",
        "  %answer = call i64 %allows(ptr %dispatch, i64 %root, i64 %address, i64 %bytes)",
        "  %is.memory = icmp ne i64 %answer, 0",
        "  br i1 %is.memory, label %next, label %bad",
        "bad:",
        "  %with.lane = or i64 %reported, %bit",
        "  br i1 %is.made, label %count, label %next",
        "count:",
        "  %before = atomicrmw add ptr %place, i64 1 monotonic",
        f"  %fits = icmp ult i64 %before, {RECORDS}",
        "  br i1 %fits, label %write, label %next",
        "write:",
        f"  %record.offset = mul i64 %before, {RECORD_BYTES}",
        f"  %records = getelementptr i8, ptr %place, i64 {WORD}",
        "  %record = getelementptr i8, ptr %records, i64 %record.offset",
        *copies,
        "  br label %next",
        "next:",
        "  %reported.next = phi i64 [ %reported, %loop ], [ %reported, %look ], "
        "[ %reported, %ask ], [ %with.lane, %bad ], [ %with.lane, %count ], [ %with.lane, %write ]",
        "  %lane.next = add i64 %lane, 1",
        f"  %more = icmp ult i64 %lane.next, {width}",
        "  br i1 %more, label %loop, label %done",
        "done:",
        "  ret i64 %reported.next",
        "}",
    ]
