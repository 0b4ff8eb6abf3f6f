"""What is asked before a loop: that its indices do not pass 2^32 (opt/indices/nowrap.py), and that
what it stores keeps off what it loads (opt/hoist_loads.py)."""

from __future__ import annotations

from groundstate.compiler.analysis.affine import LOW_WORD
from groundstate.compiler.codegen.control.speculated_values import low_word
from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Node

PREDICATES = {
    "SLessThan": "slt",
    "SGreaterThan": "sgt",
    "ULessThan": "ult",
    "UGreaterThan": "ugt",
    "INotEqual": "ne",
}


@handles("NeverWraps")
def _never_wraps(emitter: Emitter, node: Node) -> None:
    """True if the index of no lane passes 2^32 in any iteration."""
    text = emitter.text
    first = emitter.scalar(node.operands[0])
    assert first.stride is not None or text.width == 1
    across = (first.stride or 0) * (text.width - 1)
    trip_count, conditions = _trip_count(emitter, node, *node.operands[1:3])
    way = text.emit(f"mul i64 {trip_count}, {_step(emitter, node)}")
    start = low_word(text, first.type, first.name)
    room = text.emit(f"sub i64 {LOW_WORD - across}, {start}")
    conditions.append(text.emit(f"icmp ule i64 {trip_count}, {LOW_WORD}"))
    conditions.append(text.emit(f"icmp sge i64 {room}, 0"))
    fits = text.emit(f"icmp ule i64 {way}, {room}")
    for condition in conditions:
        fits = text.emit(f"and i1 {fits}, {condition}")
    emitter.define(node, Lanes("i1", fits))


@handles("NeverOverlaps")
def _never_overlaps(emitter: Emitter, node: Node) -> None:
    """True if what a loop stores at a fixed step lies before something in memory, or behind it."""
    text = emitter.text
    trip_count, conditions = _trip_count(emitter, node, *node.operands[:2])
    step, stored, loaded = (int(str(each)) for each in node.literals[2:])
    first, place = (
        text.emit(f"ptrtoint ptr {emitter.scalar(each).name} to i64") for each in node.operands[2:]
    )
    way = text.emit(f"mul i64 {trip_count}, {step}")
    last = text.emit(f"add i64 {first}, {way}")
    lowest, highest = (first, last) if step >= 0 else (last, first)
    end, behind = text.emit(f"add i64 {place}, {loaded}"), text.emit(f"add i64 {highest}, {stored}")
    before = text.emit(f"icmp ule i64 {end}, {lowest}")
    after = text.emit(f"icmp uge i64 {place}, {behind}")
    clear = text.emit(f"or i1 {before}, {after}")
    conditions.append(text.emit(f"icmp ule i64 {trip_count}, {LOW_WORD}"))
    for condition in conditions:
        clear = text.emit(f"and i1 {clear}, {condition}")
    emitter.define(node, Lanes("i1", clear))


def _step(emitter: Emitter, node: Node) -> str:
    """By how much the index goes up in each iteration, in 64 bits."""
    if node.literals[2] is not None:
        return str(node.literals[2])
    step = emitter.scalar(node.operands[3])
    return low_word(emitter.text, step.type, step.name)


def _trip_count(emitter: Emitter, node: Node, number: Node, end: Node) -> tuple[str, list[str]]:
    """How often a loop is run again at most, in 64 bits, and under which conditions."""
    text, op, step = emitter.text, str(node.literals[0]), int(str(node.literals[1]))
    variable, bound = (emitter.scalar(each) for each in (number, end))
    type_, size = variable.type, abs(step)
    ends = (bound.name, variable.name) if step > 0 else (variable.name, bound.name)
    distance = text.emit(f"sub {type_} {ends[0]}, {ends[1]}")
    goes_on = text.emit(f"icmp {PREDICATES[op]} {type_} {variable.name}, {bound.name}")
    way = text.emit(f"select i1 {goes_on}, {type_} {distance}, {type_} 0")
    if type_ != "i64":
        way = text.emit(f"zext {type_} {way} to i64")
    if size == 1:
        return way, []
    steps = text.emit(f"udiv i64 {way}, {size}")
    return text.emit(f"add i64 {steps}, 1"), [_stops(emitter, op, bound, step)]


def _stops(emitter: Emitter, op: str, bound: Lanes, step: int) -> str:
    """Whether a number that goes by larger steps cannot jump over the end of all numbers."""
    bits = int(bound.type[1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if op[0] == "S" else (0, (1 << bits) - 1)
    sign = op[0].lower()
    last, side = (high - step + 1, "le") if step > 0 else (low - step - 1, "ge")
    return emitter.text.emit(f"icmp {sign}{side} {bound.type} {bound.name}, {last}")
