"""What operations compute, on the bits of numbers: the rows of `ir/ops_arithmetic.py` say which."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import NamedTuple

from groundstate.compiler.spirv import types as t
from groundstate.compiler.spirv.errors import InvalidModule

Unary = Callable[[t.Type, int], int]
Binary = Callable[[t.Type, int, int], int]
Comparison = Callable[[t.Type, int, int], bool]
Conversion = Callable[[t.Type, t.Type, int], int]


def mask(width: int) -> int:
    """A number with the lowest bits set."""
    return (1 << width) - 1


def width_of(kind: t.Type) -> int:
    """How many bits a number has."""
    if isinstance(kind, t.Int | t.Float):
        return kind.width
    if isinstance(kind, t.Bool):
        return 1
    raise InvalidModule(f"a {kind} is not a number")


def as_signed(kind: t.Type, bits: int) -> int:
    """An integer, with its top bit as the sign."""
    width = width_of(kind)
    return bits - ((bits >> (width - 1)) << width)


# --- Integers and truths -------------------------------------------------------------------------


def wrapped(compute: Callable[[int, int], int]) -> Binary:
    """An operation for which the sign of its operands makes no difference."""
    return lambda kind, a, b: compute(a, b) & mask(width_of(kind))


def negated(kind: t.Type, a: int) -> int:
    """The number that gives zero when it is added."""
    return -a & mask(width_of(kind))


def inverted(kind: t.Type, a: int) -> int:
    """A number with all bits changed."""
    return ~a & mask(width_of(kind))


def unchanged(kind: t.Type, a: int) -> int:
    """The number itself."""
    del kind
    return a


def both(a: int, b: int) -> bool:
    """Whether two truths hold."""
    return bool(a & b)


def either(a: int, b: int) -> bool:
    """Whether at least one of two truths holds."""
    return bool(a | b)


def unsigned_divide(kind: t.Type, a: int, b: int) -> int:
    """The quotient. By zero it is undefined in SPIR-V, and here the dividend, which is the rest,
    too: so quotient * divisor + rest is the dividend, as always."""
    del kind
    return a // b if b else a


def unsigned_modulo(kind: t.Type, a: int, b: int) -> int:
    """The rest of a division."""
    del kind
    return a % b if b else a


def signed_divide(kind: t.Type, a: int, b: int) -> int:
    """The quotient, rounded toward zero."""
    x, y = as_signed(kind, a), as_signed(kind, b) or 1
    quotient = abs(x) // abs(y)
    return (quotient if (x < 0) == (y < 0) else -quotient) & mask(width_of(kind))


def signed_remainder(kind: t.Type, a: int, b: int) -> int:
    """The rest of a division, with the sign of the dividend."""
    x, y = as_signed(kind, a), as_signed(kind, b)
    if y == 0:
        return a
    rest = abs(x) % abs(y)
    return (-rest if x < 0 else rest) & mask(width_of(kind))


def signed_modulo(kind: t.Type, a: int, b: int) -> int:
    """The rest of a division, with the sign of the divisor."""
    x, y = as_signed(kind, a), as_signed(kind, b)
    return (x % y if y else x) & mask(width_of(kind))


def shift_left(kind: t.Type, a: int, b: int) -> int:
    """A shift; too far gives zero."""
    width = width_of(kind)
    return (a << b) & mask(width) if b < width else 0


def shift_right(kind: t.Type, a: int, b: int) -> int:
    """A shift that brings in zeros."""
    return a >> min(b, width_of(kind))


def shift_right_signed(kind: t.Type, a: int, b: int) -> int:
    """A shift that brings in copies of the sign."""
    width = width_of(kind)
    return (as_signed(kind, a) >> min(b, width)) & mask(width)


def by_sign(compare: Callable[[int, int], bool]) -> Comparison:
    """A comparison of signed integers."""
    return lambda kind, a, b: compare(as_signed(kind, a), as_signed(kind, b))


def plain(compare: Callable[[int, int], bool]) -> Comparison:
    """A comparison of unsigned integers or truths."""
    return lambda kind, a, b: compare(a, b)


# --- Floating-point numbers -----------------------------------------------------------------------

FORMATS = {16: "e", 32: "f", 64: "d"}


def to_float(kind: t.Type, bits: int) -> float:
    """The number that bits stand for."""
    if isinstance(kind, t.Float) and kind.is_bfloat16:
        kind, bits = t.Float(32), bits << 16
    if not isinstance(kind, t.Float) or kind.encoding is not None:
        raise InvalidModule(f"a {kind} cannot be computed with before the program runs")
    code = FORMATS.get(kind.width)
    if code is None:
        raise InvalidModule(f"a {kind} cannot be computed with before the program runs")
    value: float = struct.unpack("<" + code, bits.to_bytes(kind.width // 8, "little"))[0]
    return value


def from_float(kind: t.Type, value: float) -> int:
    """The bits of a number, rounded to the nearest of its type."""
    if not isinstance(kind, t.Float) or (kind.encoding is not None and not kind.is_bfloat16):
        raise InvalidModule(f"a {kind} cannot be computed with before the program runs")
    if kind.is_bfloat16:
        bits = from_float(t.Float(32), value)
        return bits >> 16 if math.isnan(value) else (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    code = FORMATS.get(kind.width)
    if code is None:
        raise InvalidModule(f"a {kind} cannot be computed with before the program runs")
    try:
        raw = struct.pack("<" + code, value)
    except OverflowError:
        raw = struct.pack("<" + code, math.copysign(math.inf, value))
    return int.from_bytes(raw, "little")


def on_floats(compute: Callable[[float, float], float]) -> Binary:
    """An operation on floating-point numbers."""
    return lambda kind, a, b: from_float(kind, compute(to_float(kind, a), to_float(kind, b)))


def divide(a: float, b: float) -> float:
    """The quotient, as IEEE 754 has it also for zero."""
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def remainder(a: float, b: float) -> float:
    """The rest of a division, with the sign of the dividend."""
    if b == 0 or math.isinf(a):
        return math.nan
    return math.fmod(a, b)


def modulo(a: float, b: float) -> float:
    """The rest of a division, with the sign of the divisor."""
    rest = remainder(a, b)
    if rest == 0:
        return math.copysign(0.0, b)
    return rest + b if (rest < 0) != (b < 0) else rest


def ordered(compare: Callable[[float, float], bool]) -> Comparison:
    """A comparison that is false if an operand is not a number."""
    return lambda kind, a, b: compare(to_float(kind, a), to_float(kind, b))


def ordered_not_equal(a: float, b: float) -> bool:
    """Whether two numbers differ, and both are numbers."""
    return a < b or a > b


def unordered(compare: Callable[[float, float], bool]) -> Comparison:
    """A comparison that is true if an operand is not a number."""

    def result(kind: t.Type, a: int, b: int) -> bool:
        x, y = to_float(kind, a), to_float(kind, b)
        return math.isnan(x) or math.isnan(y) or compare(x, y)

    return result


def sign_flipped(kind: t.Type, bits: int) -> int:
    """A floating-point number with the other sign."""
    return bits ^ (1 << (width_of(kind) - 1))


# --- Conversions ----------------------------------------------------------------------------------


def resize_unsigned(source: t.Type, target: t.Type, bits: int) -> int:
    """An integer of another width; zeros come in."""
    return bits & mask(width_of(target))


def resize_signed(source: t.Type, target: t.Type, bits: int) -> int:
    """An integer of another width; copies of the sign come in."""
    return as_signed(source, bits) & mask(width_of(target))


def float_to_integer(source: t.Type, target: t.Type, bits: int) -> int:
    """A number without what is behind the point; what does not fit is undefined, and zero here."""
    value = to_float(source, bits)
    return int(value) & mask(width_of(target)) if math.isfinite(value) else 0


def integer_to_float(source: t.Type, target: t.Type, bits: int) -> int:
    """An unsigned integer as a floating-point number."""
    return from_integer(target, bits)


def signed_to_float(source: t.Type, target: t.Type, bits: int) -> int:
    """A signed integer as a floating-point number."""
    return from_integer(target, as_signed(source, bits))


def from_integer(target: t.Type, value: int) -> int:
    """The nearest floating-point number, rounded once, ties to even."""
    keep = {16: 11, 32: 24, 64: 53}.get(width_of(target), 53)
    if isinstance(target, t.Float) and target.is_bfloat16:
        keep = 8
    size = abs(value).bit_length()
    if size > keep:
        drop = size - keep
        half, rest = 1 << (drop - 1), abs(value) & mask(drop)
        rounded = abs(value) >> drop
        if rest > half or (rest == half and rounded & 1):
            rounded += 1
        value = (rounded << drop) * (1 if value > 0 else -1)
    try:
        return from_float(target, float(value))
    except OverflowError:
        return from_float(target, math.inf if value > 0 else -math.inf)


def float_to_float(source: t.Type, target: t.Type, bits: int) -> int:
    """A floating-point number of another width."""
    return from_float(target, to_float(source, bits))


def quantized(source: t.Type, target: t.Type, bits: int) -> int:
    """A number as it would be after a trip through 16 bits."""
    half = t.Float(16)
    return from_float(target, to_float(half, from_float(half, to_float(source, bits))))


# --- Rows -----------------------------------------------------------------------------------------


class Fold(NamedTuple):
    """How an operation is computed whose operands are known; its row in `ir/ops.py` has one."""

    arity: int
    """How many operands there are."""
    compute: Callable[..., int]
    """The bits of the result, from the types of the first operand and of the result, and the bits
    of the operands."""


def unary(compute: Unary) -> Fold:
    """One number of a type to another one of that type."""
    return Fold(1, lambda source, target, a: compute(source, a))


def binary(compute: Binary) -> Fold:
    """Two numbers of a type to a third."""
    return Fold(2, lambda source, target, a, b: compute(source, a, b))


def comparison(compare: Comparison) -> Fold:
    """Two numbers to a truth value."""
    return Fold(2, lambda source, target, a, b: int(compare(source, a, b)))


def conversion(convert: Conversion) -> Fold:
    """A number of a type to one of another."""
    return Fold(1, convert)
