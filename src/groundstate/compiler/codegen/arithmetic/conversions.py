"""Conversions between kinds of numbers, with the rounding and saturation that decorations ask
for.
"""

from __future__ import annotations

import math

from groundstate.compiler.codegen.arithmetic.bfloat import as_float, is_bfloat, upper_half
from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.text import float_literal, overloaded
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.math.vec import Vec, element, like
from groundstate.compiler.spirv.types import Type

SATURATED, ROUNDING_MODE = 28, 39
NEAREST_EVEN, TOWARD_ZERO, TOWARD_POSITIVE, TOWARD_NEGATIVE = 0, 1, 2, 3
ROUNDING = {NEAREST_EVEN: "roundeven", TOWARD_POSITIVE: "ceil", TOWARD_NEGATIVE: "floor"}
BITS = {"half": 16, "float": 32, "double": 64}
LARGEST = {"half": 65504.0, "float": 3.4e38, "double": 1.7e308}
MANTISSA_BITS = {"float": 24, "double": 53}
WIDTHS = (8, 16, 32, 64)


def _rounding(node: Node) -> int | None:
    mode = node.decorations.get(ROUNDING_MODE)
    return int(mode[0]) if isinstance(mode, tuple) and mode else None


class _Side:
    """The text types and names of one component of a conversion."""

    def __init__(self, emitter: Emitter, type_: Type, operand: Lanes) -> None:
        text = emitter.text
        self.text = text
        self.vector = emitter.width > 1 and operand.stride != 0
        self.scalar = scalar_type(type_)
        self.target = text.vector_type(self.scalar) if self.vector else self.scalar
        self.source = text.vector_type(operand.type) if self.vector else operand.type
        self.name = text.as_vector(operand) if self.vector else operand.name
        self.from_scalar = operand.type

    def constant(self, scalar: str, literal: str) -> str:
        return f"splat ({scalar} {literal})" if self.vector else literal

    def result(self, name: str) -> Lanes:
        return Lanes(self.scalar, name, None if self.vector else 0)


@handles("ConvertFToS", "ConvertFToU")
def _to_integer(emitter: Emitter, node: Node) -> None:
    """Out of range, OpenCL leaves the result open unless it saturates; here it always does."""
    signed = node.op == "ConvertFToS"
    mode = _rounding(node)
    from_bfloat = is_bfloat(node.operands[0].type)

    def one(type_: Type, parts: list[Lanes]) -> Lanes:
        side = _Side(emitter, type_, parts[0])
        if from_bfloat:
            floats = as_float(Vec(side.text, side.source, side.name))
            side = _Side(emitter, type_, Lanes("float", floats.name, None if side.vector else 0))
        name = side.name
        if mode in ROUNDING:
            function = f"llvm.{ROUNDING[mode]}.{overloaded(side.source)}"
            name = side.text.call(side.source, function, [(side.source, name)])
        if side.vector and int(side.scalar[1:]) in WIDTHS:
            return side.result(_limited(side, signed, name))
        kind = "fptosi" if signed else "fptoui"
        function = f"llvm.{kind}.sat.{overloaded(side.target)}.{overloaded(side.source)}"
        return side.result(side.text.call(side.target, function, [(side.source, name)]))

    _define(emitter, node, one)


def _limited(side: _Side, signed: bool, name: str) -> str:
    """Vectors of integers, of floats that are limited first: LLVM would convert each lane alone."""
    text, bits = side.text, int(side.scalar[1:]) - signed
    given, source = side.from_scalar, side.source
    if given == "half":
        given, source = "float", like(source, "float")
        name = text.emit(f"fpext {side.source} {name} to {source}")
    target = side.target if bits > 16 else like(side.target, "i32")
    truth = like(side.target, "i1")
    low, high = -(1 << bits) if signed else 0, (1 << bits) - 1
    last = high - high % (1 << max(0, bits - MANTISSA_BITS[given]))
    limited = name
    for comparison, limit in (("olt", low), ("ogt", last), ("uno", 0)):
        end = side.constant(given, float_literal(float(limit), given))
        beyond = text.emit(f"fcmp {comparison} {source} {limited}, {end}")
        limited = text.emit(f"select {truth} {beyond}, {source} {end}, {source} {limited}")
    kind = "fptosi" if signed or bits <= 16 else "fptoui"
    number = text.emit(f"{kind} {source} {limited} to {target}")
    if last != high:
        end = side.constant(given, float_literal(float(last), given))
        beyond = text.emit(f"fcmp ogt {source} {name}, {end}")
        most = side.constant(side.scalar, str(high))
        number = text.emit(f"select {truth} {beyond}, {target} {most}, {target} {number}")
    if target == side.target:
        return number
    return text.emit(f"trunc {target} {number} to {side.target}")


@handles("SatConvertSToU", "SatConvertUToS")
def _saturate(emitter: Emitter, node: Node) -> None:
    from_signed = node.op == "SatConvertSToU"
    _define(
        emitter,
        node,
        lambda type_, parts: _clamped(emitter, type_, parts[0], from_signed, not from_signed),
    )


@handles("SConvert", "UConvert")
def _resize(emitter: Emitter, node: Node) -> None:
    signed = node.op == "SConvert"
    saturated = SATURATED in node.decorations
    shape = emitter.divergence.stride(node)

    def one(type_: Type, parts: list[Lanes]) -> Lanes:
        if saturated:
            return _clamped(emitter, type_, parts[0], signed, signed)
        return _plain_resize(emitter, type_, parts[0], signed, shape)

    _define(emitter, node, one)


def _plain_resize(
    emitter: Emitter, type_: Type, operand: Lanes, signed: bool, shape: int | None
) -> Lanes:
    target = scalar_type(type_)
    before, after = int(operand.type[1:]), int(target[1:])
    if before == after:
        return operand
    kind = "trunc" if after < before else "sext" if signed else "zext"
    text = emitter.text
    if operand.stride is not None and (shape is not None or operand.stride == 0):
        return Lanes(
            target, text.emit(f"{kind} {operand.type} {operand.name} to {target}"), operand.stride
        )
    source, wide = text.vector_type(operand.type), text.vector_type(target)
    return Lanes(target, text.emit(f"{kind} {source} {text.as_vector(operand)} to {wide}"), None)


def _clamped(
    emitter: Emitter, type_: Type, operand: Lanes, from_signed: bool, to_signed: bool
) -> Lanes:
    """An integer brought into the range of another type first."""
    side = _Side(emitter, type_, operand)
    text = side.text
    before, after = int(operand.type[1:]), int(side.scalar[1:])
    low = -(1 << (after - 1)) if to_signed else 0
    high = (1 << (after - 1 if to_signed else after)) - 1
    name = side.name
    least = -(1 << (before - 1)) if from_signed else 0
    most = (1 << (before - 1 if from_signed else before)) - 1
    sign = "s" if from_signed else "u"
    if high < most:
        limit = side.constant(operand.type, str(high))
        name = text.call(
            side.source,
            f"llvm.{sign}min.{overloaded(side.source)}",
            [(side.source, name), (side.source, limit)],
        )
    if low > least:
        limit = side.constant(operand.type, str(low))
        name = text.call(
            side.source,
            f"llvm.{sign}max.{overloaded(side.source)}",
            [(side.source, name), (side.source, limit)],
        )
    if before == after:
        return side.result(name)
    kind = "trunc" if after < before else "sext" if from_signed else "zext"
    return side.result(text.emit(f"{kind} {side.source} {name} to {side.target}"))


@handles("ConvertSToF", "ConvertUToF")
def _from_integer(emitter: Emitter, node: Node) -> None:
    signed = node.op == "ConvertSToF"
    mode = _rounding(node)
    to_bfloat = is_bfloat(node.type)

    def one(type_: Type, parts: list[Lanes]) -> Lanes:
        side = _Side(emitter, type_, parts[0])
        kind = "sitofp" if signed else "uitofp"
        if to_bfloat:
            whole = _exact_in_double(Vec(side.text, side.source, side.name))
            double = like(side.source, "double")
            name = side.text.emit(f"{kind} {side.source} {whole.name} to {double}")
            return side.result(upper_half(Vec(side.text, double, name), mode or 0).name)
        name = side.text.emit(f"{kind} {side.source} {side.name} to {side.target}")
        if mode in (None, NEAREST_EVEN):
            return side.result(name)
        return side.result(_step_to(side, mode, name, _sides(side, signed, name)))

    _define(emitter, node, one)


def _exact_in_double(whole: Vec) -> Vec:
    """An integer that a double holds and that is rounded to fewer bits as the given one is: of long
    ones the last bits are left out, and the bit before says whether there were any."""
    if element(whole.t) != "i64":
        return whole
    spare = 64 - MANTISSA_BITS["double"]
    last = (1 << spare) - 1
    odd = whole | (whole & last).differs(0).choose(whole.constant(1 << spare), 0)
    return ((whole + (1 << 52)) >> MANTISSA_BITS["double"]).equals(0).choose(whole, odd & ~last)


def _sides(side: _Side, signed: bool, name: str) -> tuple[str, str]:
    """Whether the rounded number lies above, and below, the integer it came from.

    It is turned back for that, which saturates: the first number past the largest integer counts as
    above. Where that is none, as in a half, an infinity is above or below every integer."""
    text = side.text
    width = int(side.from_scalar[1:])
    kind, sign = ("fptosi", "s") if signed else ("fptoui", "u")
    function = f"llvm.{kind}.sat.{overloaded(side.source)}.{overloaded(side.target)}"
    back = text.call(side.source, function, [(side.target, name)])
    greater = text.emit(f"icmp {sign}gt {side.source} {back}, {side.name}")
    end = 2.0 ** (width - 1 if signed else width)
    truth = side.target.replace(side.scalar, "i1")
    if end > LARGEST[side.scalar]:
        end = math.inf
    limit = side.constant(side.scalar, float_literal(end, side.scalar))
    past = text.emit(f"fcmp oge {side.target} {name}, {limit}")
    above = text.emit(f"or {truth} {greater}, {past}")
    below = text.emit(f"icmp {sign}lt {side.source} {back}, {side.name}")
    if signed and end == math.inf:
        least = side.constant(side.scalar, float_literal(-end, side.scalar))
        infinite = text.emit(f"fcmp oeq {side.target} {name}, {least}")
        below = text.emit(f"or {truth} {below}, {infinite}")
    return above, below


@handles("FConvert")
def _resize_float(emitter: Emitter, node: Node) -> None:
    mode = _rounding(node)
    from_bfloat, to_bfloat = is_bfloat(node.operands[0].type), is_bfloat(node.type)

    def one(type_: Type, parts: list[Lanes]) -> Lanes:
        side = _Side(emitter, type_, parts[0])
        given = Vec(side.text, side.source, side.name)
        if from_bfloat or to_bfloat:
            given = as_float(given) if from_bfloat else given
            made = upper_half(given, mode or 0) if to_bfloat else given.to_float(side.scalar)
            return side.result(made.name)
        if side.source == side.target:
            return parts[0]
        wider = BITS[side.scalar] > BITS[side.from_scalar]
        name = given.to_float(side.scalar).name
        if wider or mode in (None, NEAREST_EVEN):
            return side.result(name)
        back = Vec(side.text, side.target, name).to_float(side.from_scalar).name
        above = side.text.emit(f"fcmp ogt {side.source} {back}, {side.name}")
        below = side.text.emit(f"fcmp olt {side.source} {back}, {side.name}")
        return side.result(_step_to(side, mode, name, (above, below)))

    _define(emitter, node, one)


def _step_to(side: _Side, mode: int | None, name: str, where: tuple[str, str]) -> str:
    """The number next to a rounded one, in the direction of the mode, if it was rounded the
    other way."""
    above, below = where
    text = side.text
    bits = side.target.replace(side.scalar, f"i{BITS[side.scalar]}")
    truth = side.target.replace(side.scalar, "i1")
    plain = text.emit(f"bitcast {side.target} {name} to {bits}")
    zero = side.constant(f"i{BITS[side.scalar]}", "0")
    negative = text.emit(f"icmp slt {bits} {plain}, {zero}")
    positive = text.emit(f"xor {truth} {negative}, {side.constant('i1', 'true')}")
    if mode == TOWARD_ZERO:
        down = text.emit(f"and {truth} {above}, {positive}")
        up = text.emit(f"and {truth} {below}, {negative}")
        inward = text.emit(f"or {truth} {down}, {up}")
        step = text.emit(f"sub {bits} {plain}, {side.constant(f'i{BITS[side.scalar]}', '1')}")
        changed = text.emit(f"select {truth} {inward}, {bits} {step}, {bits} {plain}")
        return text.emit(f"bitcast {bits} {changed} to {side.target}")
    wanted = below if mode == TOWARD_POSITIVE else above
    one = side.constant(f"i{BITS[side.scalar]}", "1")
    more, less = text.emit(f"add {bits} {plain}, {one}"), text.emit(f"sub {bits} {plain}, {one}")
    grows = positive if mode == TOWARD_POSITIVE else negative
    stepped = text.emit(f"select {truth} {grows}, {bits} {more}, {bits} {less}")
    # From zero, the next number below is the smallest negative one, not the bits before zero.
    nothing = side.constant(side.scalar, float_literal(0.0, side.scalar))
    is_zero = text.emit(f"fcmp oeq {side.target} {name}, {nothing}")
    smallest = 1 if mode == TOWARD_POSITIVE else 1 - (1 << (BITS[side.scalar] - 1))
    tiny = side.constant(f"i{BITS[side.scalar]}", str(smallest))
    stepped = text.emit(f"select {truth} {is_zero}, {bits} {tiny}, {bits} {stepped}")
    changed = text.emit(f"select {truth} {wanted}, {bits} {stepped}, {bits} {plain}")
    return text.emit(f"bitcast {bits} {changed} to {side.target}")


@handles("QuantizeToF16")
def _quantize(emitter: Emitter, node: Node) -> None:
    def one(type_: Type, parts: list[Lanes]) -> Lanes:
        side = _Side(emitter, type_, parts[0])
        half = side.source.replace("float", "half")
        small = side.text.emit(f"fptrunc {side.source} {side.name} to {half}")
        return side.result(side.text.emit(f"fpext {half} {small} to {side.target}"))

    _define(emitter, node, one)


@handles("ConvertFToBF16INTEL")
def _to_bfloat(emitter: Emitter, node: Node) -> None:
    """The upper half of a float, rounded to nearest even; the result is a 16-bit integer."""

    def one(type_: Type, parts: list[Lanes]) -> Lanes:
        side = _Side(emitter, type_, parts[0])
        return side.result(upper_half(Vec(side.text, side.source, side.name)).name)

    _define(emitter, node, one)


@handles("ConvertBF16ToFINTEL")
def _from_bfloat(emitter: Emitter, node: Node) -> None:
    def one(type_: Type, parts: list[Lanes]) -> Lanes:
        side = _Side(emitter, type_, parts[0])
        wide = side.source.replace("i16", "i32")
        shift = side.constant("i32", "16")
        bits = side.text.emit(f"zext {side.source} {side.name} to {wide}")
        high = side.text.emit(f"shl {wide} {bits}, {shift}")
        return side.result(side.text.emit(f"bitcast {wide} {high} to {side.target}"))

    _define(emitter, node, one)


@handles("RoundFToTF32INTEL")
def _to_tf32(emitter: Emitter, node: Node) -> None:
    """A float with ten bits of fraction, rounded to nearest even."""

    def one(type_: Type, parts: list[Lanes]) -> Lanes:
        side = _Side(emitter, type_, parts[0])
        value = Vec(side.text, side.source, side.name)
        bits = value.bits()
        rounded = bits + 0xFFF + ((bits >> 13) & 1)
        kept = value.compare("uno", value).choose(bits | 0x400000, rounded) & 0xFFFFE000
        return side.result(kept.as_float().name)

    _define(emitter, node, one)


def _define(emitter: Emitter, node: Node, one: object) -> None:
    operands = [emitter.get(node.operands[0])]
    value = emitter.map_components(node.type, operands, one)  # type: ignore[arg-type]
    assert value is not None
    emitter.define(node, value)
