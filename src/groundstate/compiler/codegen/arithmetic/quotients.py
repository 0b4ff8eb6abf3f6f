"""Division of numbers that go up from lane to lane by one that all lanes share.

No CPU divides vectors of integers: each lane would take a division of its own. But `i / width` and
`i % width` of neighbouring work-items need only one. If the divisor is larger than the distance
from the first lane to the last, all have the quotient of the first one, and rests that go up with
the lanes; but at one place the rest may start over, and the quotient is one more from there on.
Whether that holds is looked at when the program runs; if not, each lane divides.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.codegen.arithmetic.tables import write_operation
from groundstate.compiler.codegen.control.speculation import MOSTLY
from groundstate.compiler.codegen.text import overloaded
from groundstate.compiler.codegen.values import Lanes, LaneText

SIGNS = {"UDiv": "u", "UMod": "u", "SDiv": "s", "SRem": "s"}
"""The divisions that are written so: with numbers that are not negative, both signs are alike."""
TYPES = ("i32", "i64")


def divides_once(op: str, operands: list[Lanes]) -> bool:
    """True for a division of neighbours by what they share. A power of two is a shift or a mask."""
    if op not in SIGNS or operands[0].type not in TYPES or operands[1].stride != 0:
        return False
    digits = operands[1].name
    is_power = digits.isdecimal() and int(digits) & (int(digits) - 1) == 0
    return (operands[0].stride or 0) > 0 and not is_power


def divide_once(
    text: LaneText, op: str, operands: list[Lanes], each_lane: Callable[[], str]
) -> str:
    """The vector of quotients, or of rests; `each_lane` writes it for what does not hold."""
    number, divisor = operands
    type_, sign, wide = number.type, SIGNS[op], text.vector_type(number.type)
    assert number.stride is not None
    across = number.stride * (text.width - 1)
    first = text.emit(f"freeze {type_} {number.name}")
    by = text.emit(f"freeze {type_} {divisor.name}")
    quotient = write_operation(text, f"{op[0]}Div", type_, type_, [first, by], "")
    whole = text.emit(f"mul {type_} {quotient}, {by}")
    rest = text.emit(f"sub {type_} {first}, {whole}")
    last = text.emit(f"add {type_} {first}, {across}")
    holds = text.emit(f"icmp {sign}gt {type_} {by}, {across}")
    conditions = [f"icmp {sign}le {type_} {first}, {last}"]
    conditions += [f"icmp sge {type_} {first}, 0"] if sign == "s" else []
    for condition in conditions:
        holds = text.emit(f"and i1 {holds}, {text.emit(condition)}")
    near, far, after = text.label("once"), text.label("each"), text.label("divided")
    text.do(f"br i1 {holds}, label %{near}, label %{far}, !prof {MOSTLY}")
    text.start(far)
    others = each_lane()
    text.do(f"br label %{after}")
    text.start(near)
    rests = text.as_vector(Lanes(type_, rest, number.stride))
    shared = text.splat(type_, by)
    less = text.emit(f"sub {wide} {rests}, {shared}")
    if op in ("UMod", "SRem"):  # the smaller one: what is below zero is a large number
        smaller = f"llvm.umin.{overloaded(wide)}"
        found = text.call(wide, smaller, [(wide, rests), (wide, less)])
    else:
        is_next = text.emit(f"icmp uge {wide} {rests}, {shared}")
        more = text.emit(f"zext {text.vector_type('i1')} {is_next} to {wide}")
        found = text.emit(f"add {wide} {text.splat(type_, str(quotient))}, {more}")
    text.do(f"br label %{after}")
    text.start(after)
    return text.emit(f"phi {wide} [ {found}, %{near} ], [ {others}, %{far} ]")
