"""Lookups in tables that fit in registers (`analysis/register_tables.py`).

One instruction picks an entry for each lane out of as many as a register has, or two. Larger tables
take several, and each lane keeps what the part of the table gives that its entry is in.
"""

from __future__ import annotations

from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.groups.shuffles import as_i32
from groundstate.compiler.codegen.values import Lanes, LaneText
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.target.description import Lookup


@handles("TableLookup")
def _look_up(emitter: Emitter, node: Node) -> None:
    """The entry of each lane's number."""
    table, index = (emitter.scalar(each) for each in node.operands)
    text, type_, size = emitter.text, scalar_type(node.type), node.type.size
    if not index.is_vector:
        offset = text.emit(f"zext i32 {index.name} to i64")
        place = text.emit(f"getelementptr {type_}, ptr {table.name}, i64 {offset}")
        emitter.define(node, Lanes(type_, text.emit(f"load {type_}, ptr {place}, align {size}")))
        return
    (count,) = node.literals
    assert isinstance(count, int)
    lookups = emitter.context.target.table_lookups[size]
    lookup = next((each for each in lookups if each.entries >= count), lookups[-1])
    number = f"i{8 * size}"
    found = _found(text, lookup, table.name, count, number, as_i32(emitter, index))
    if number != type_:
        wide = text.vector_type(number)
        found = text.emit(f"bitcast {wide} {found} to {text.vector_type(type_)}")
    emitter.define(node, Lanes(type_, found, None))


def _found(text: LaneText, lookup: Lookup, table: str, count: int, number: str, index: str) -> str:
    """A vector of what all lanes find, which each ask for a number from 0 to `count`."""
    parts = [
        _loaded(text, lookup, table, number, first, min(count, first + lookup.entries))
        for first in range(0, count, lookup.entries)
    ]
    lanes = lookup.lanes
    wide, indices = f"<{lanes} x {number}>", list(_in_registers(text, index, lanes))
    results = []
    for each in indices:
        picks = _resized(text, each, lanes, number)
        found = ""
        for place, registers in enumerate(parts):
            # Those of two registers take the numbers between them.
            first, *others = [(wide, name) for name in registers]
            picked = text.call(wide, lookup.intrinsic, [first, (wide, picks), *others])
            if found:
                start = f"splat (i32 {place * lookup.entries})"
                is_here = text.emit(f"icmp uge <{lanes} x i32> {each}, {start}")
                picked = text.emit(
                    f"select <{lanes} x i1> {is_here}, {wide} {picked}, {wide} {found}"
                )
            found = picked
        results.append(found)
    whole = text.concatenate(number, results, lanes)
    return text.shuffle(wide, whole, range(text.width)) if text.width < lanes else whole


def _loaded(
    text: LaneText, lookup: Lookup, table: str, number: str, first: int, end: int
) -> list[str]:
    """The registers that hold some entries of a table."""
    lanes, registers = lookup.lanes, []
    for start in range(first, first + lookup.entries, lanes):
        count = min(end - start, lanes)
        if count <= 0:
            registers.append("poison")
            continue
        narrow, size = f"<{count} x {number}>", int(number[1:]) // 8
        place = text.emit(f"getelementptr i8, ptr {table}, i64 {start * size}")
        name = text.emit(f"load {narrow}, ptr {place}, align {size}, !invariant.load !0")
        if count < lanes:
            name = text.shuffle(narrow, name, [each % count for each in range(lanes)])
        registers.append(name)
    return registers


def _in_registers(text: LaneText, index: str, lanes: int) -> list[str]:
    """The numbers of all lanes, as many at a time as one lookup takes."""
    if text.width >= lanes:
        return list(text.split("i32", index, text.width, lanes))
    whole = text.vector_type("i32")
    return [text.shuffle(whole, index, [each % text.width for each in range(lanes)])]


def _resized(text: LaneText, index: str, lanes: int, number: str) -> str:
    """Numbers of 32 bits as those that a lookup takes, which are as large as an entry."""
    if number == "i32":
        return index
    kind = "zext" if number == "i64" else "trunc"
    return text.emit(f"{kind} <{lanes} x i32> {index} to <{lanes} x {number}>")
