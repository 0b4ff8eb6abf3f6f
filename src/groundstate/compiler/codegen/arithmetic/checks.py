"""Checks of the arithmetic checker: whether operands lead to an undefined or infinite result.

All components and lanes are tested together, with one branch that is hardly ever taken; behind it
each component reports for itself. What only tells mistakes from their consequences (an infinity
that came from another one) is looked at there, too.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.codegen.arithmetic.conversions import (
    LARGEST,
    MANTISSA_BITS,
)
from groundstate.compiler.codegen.control.speculation import MOSTLY
from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.reports import active_bits, write_report
from groundstate.compiler.codegen.text import float_literal, overloaded
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir import Node

EXPONENTS = {"half": (16, 0x7C00), "float": (32, 0x7F800000), "double": (64, 0x7FF << 52)}
"""Of each format: the bits, and those of the exponent, which are all set in what is not finite."""
IS_NAN = 1 << 8
"""Beside the number of the component in the first word of a record."""
MOST_VALUES = 3


class _Component:
    """One component of an operation: the vectors of its operands and of its result."""

    def __init__(self, emitter: Emitter, operands: list[Lanes], result: Lanes) -> None:
        self.emitter, self.text = emitter, emitter.text
        self.lanes, self.result_lanes = operands, result
        self.given = [self.text.as_vector(each) for each in operands]
        self.result = self.text.as_vector(result)
        self.scalar, self.first = result.type, operands[0].type
        self.truth = self.text.vector_type("i1")

    def constant(self, scalar: str, literal: object) -> str:
        return self.text.splat(scalar, str(literal))

    def is_equal(self, name: str, number: int) -> str:
        wide = self.text.vector_type(self.first)
        return self.text.emit(f"icmp eq {wide} {name}, {self.constant(self.first, number)}")

    def both(self, one: str, other: str, op: str = "and") -> str:
        return self.text.emit(f"{op} {self.truth} {one}, {other}")

    def is_infinite(self, value: Lanes) -> str:
        """Whether a number is an infinity or no number at all."""
        text, (bits, mask) = self.text, EXPONENTS[value.type]
        whole = text.vector_type(f"i{bits}")
        name = text.emit(
            f"bitcast {text.vector_type(value.type)} {text.as_vector(value)} to {whole}"
        )
        exponent = text.emit(f"and {whole} {name}, {self.constant(f'i{bits}', mask)}")
        return text.emit(f"icmp eq {whole} {exponent}, {self.constant(f'i{bits}', mask)}")


def _divides_badly(of: _Component, op: str) -> str:
    dividend, divisor = of.given
    bad = of.is_equal(divisor, 0)
    if op.startswith("S"):
        least = of.is_equal(dividend, -(1 << (int(of.first[1:]) - 1)))
        bad = of.both(bad, of.both(least, of.is_equal(divisor, -1)), "or")
    return bad


def _overflows(of: _Component, op: str) -> str:
    text, wide = of.text, of.text.vector_type(of.scalar)
    zero = of.constant(of.scalar, 0)
    if op == "ShiftLeftLogical":
        most = of.constant(of.scalar, int(of.scalar[1:]) - 1)
        amount = text.emit(f"and {wide} {of.given[1]}, {most}")
        back = text.emit(f"ashr {wide} {of.result}, {amount}")
        return text.emit(f"icmp ne {wide} {back}, {of.given[0]}")
    if op == "IMul":
        pair = f"{{ {wide}, {of.truth} }}"
        function = f"llvm.smul.with.overflow.{overloaded(wide)}"
        made = text.call(pair, function, [(wide, each) for each in of.given])
        return text.emit(f"extractvalue {pair} {made}, 1")
    first, second = (zero, *of.given) if op == "SNegate" else of.given
    one = text.emit(f"xor {wide} {first}, {second if op in ('ISub', 'SNegate') else of.result}")
    other = text.emit(f"xor {wide} {second if op == 'IAdd' else first}, {of.result}")
    signs = text.emit(f"and {wide} {one}, {other}")
    return text.emit(f"icmp slt {wide} {signs}, {zero}")


def _shifts_too_far(of: _Component, op: str) -> str:
    del op
    amount = of.lanes[1].type
    width = of.constant(amount, int(of.scalar[1:]))
    return of.text.emit(f"icmp uge {of.text.vector_type(amount)} {of.given[1]}, {width}")


def _converts_badly(of: _Component, op: str) -> str:
    """Out of the range of an integer, or no number. The ends are numbers of the format: below the
    least integer there may be none that is cut off to it."""
    text, wide, bits = of.text, of.text.vector_type(of.first), int(of.scalar[1:])
    is_signed, _, rounding = op.partition(" ")
    name, exact = of.given[0], {"half": 11, **MANTISSA_BITS}[of.first]
    if rounding:
        name = text.call(wide, f"llvm.{rounding}.{overloaded(wide)}", [(wide, name)])
    least = -(1 << (bits - 1)) if is_signed == "ConvertFToS" else 0
    end = 1 << (bits - 1 if is_signed == "ConvertFToS" else bits)
    has_next = rounding == "" and (-least).bit_length() <= exact
    low, above = (least - 1, "ogt") if has_next else (least, "oge")

    def within(comparison: str, limit: int) -> str | None:
        if abs(limit) > LARGEST[of.first]:
            return None
        literal = of.constant(of.first, float_literal(float(limit), of.first))
        return text.emit(f"fcmp {comparison} {wide} {name}, {literal}")

    tests = [each for each in (within(above, low), within("olt", end)) if each is not None]
    if len(tests) < 2:
        return of.is_infinite(of.lanes[0])
    return of.both(of.both(*tests), of.constant("i1", "true"), "xor")


def _is_not_finite(of: _Component, op: str) -> str:
    del op
    return of.is_infinite(of.result_lanes)


RULES: dict[str, Callable[[_Component, str], str]] = {
    "divide": _divides_badly,
    "overflow": _overflows,
    "shift": _shifts_too_far,
    "convert": _converts_badly,
    "float": _is_not_finite,
    "mixed": _is_not_finite,
}
"""For each rule of instrument/arithmetic.py: what writes the test of one component."""


@handles("CheckArithmetic")
def _check(emitter: Emitter, node: Node) -> None:
    text = emitter.text
    rule, op = str(node.literals[1]), str(node.literals[2])
    site, count = int(str(node.literals[0])), int(str(node.literals[3]))
    values = [emitter.get(each) for each in node.operands]
    wanted = values[count + 1] if len(values) > count + 1 else None
    parts = list(_components(emitter, values[:count], values[count]))
    tests = []
    for number, part in enumerate(parts):
        test = text.emit(f"freeze {part.truth} {RULES[rule](part, op)}")
        if wanted is not None:
            test = part.both(test, text.as_vector(_picked(wanted, number)))
        tests.append(test)
    some = tests[0]
    for test in tests[1:]:
        some = parts[0].both(some, test, "or")
    bits = active_bits(emitter, Lanes("i1", some, None))
    rare, after = text.label("rare"), text.label("after")
    none = text.emit(f"icmp eq i64 {bits}, 0")
    text.do(f"br i1 {none}, label %{after}, label %{rare}, !prof {MOSTLY}")
    text.start(rare)
    for number, part in enumerate(parts):
        _report(emitter, site, rule, number, part, tests[number], values[:count])
    text.do(f"br label %{after}")
    text.start(after)


def _picked(value: Value, number: int) -> Lanes:
    picked = value[number] if isinstance(value, list) else value
    assert isinstance(picked, Lanes)
    return picked


def _components(emitter: Emitter, operands: list[Value], result: Value) -> list[_Component]:
    results = result if isinstance(result, list) else [result]
    made = []
    for number, each in enumerate(results):
        assert isinstance(each, Lanes)
        given = [_picked(value, number) for value in operands]
        made.append(_Component(emitter, given, each))
    return made


def _report(
    emitter: Emitter,
    site: int,
    rule: str,
    number: int,
    part: _Component,
    test: str,
    operands: list[Value],
) -> None:
    text, word = emitter.text, Lanes("i64", str(number))
    if rule in ("float", "mixed"):
        given: list[Value] = list(operands) if rule == "mixed" else list(part.lanes)
        for each in _floats(given):
            came = part.is_infinite(each)
            is_new = part.both(came, part.constant("i1", "true"), "xor")
            test = part.both(test, is_new)
        wide, type_ = text.vector_type("i64"), text.vector_type(part.scalar)
        is_nan = text.emit(f"fcmp uno {type_} {part.result}, {part.result}")
        numbers = [part.constant("i64", each) for each in (number | IS_NAN, number)]
        name = text.emit(f"select {part.truth} {is_nan}, {wide} {numbers[0]}, {wide} {numbers[1]}")
        word = Lanes("i64", name, None)
    words = [word, *(part.lanes if rule != "mixed" else [])][: 1 + MOST_VALUES]
    write_report(emitter, site, active_bits(emitter, Lanes("i1", test, None)), words)


def _floats(values: list[Value]) -> list[Lanes]:
    """All floating-point numbers of some operands."""
    flat = [each for value in values for each in (value if isinstance(value, list) else [value])]
    return [each for each in flat if isinstance(each, Lanes) and each.type in EXPONENTS]
