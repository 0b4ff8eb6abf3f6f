"""Remainders, which are exact, and angles beyond those that are reduced by subtraction."""

from __future__ import annotations

from itertools import pairwise

from groundstate.compiler.math import coefficients
from groundstate.compiler.math.device.loops import Slot, repeat
from groundstate.compiler.math.functions import call, function
from groundstate.compiler.math.vec import Vec

DOUBLE = ("double",)
STEP = 50
"""Bits of the quotient that one step takes off: it must be exact as a double."""
TWO_OVER_PI = (
    "A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424DD2E0"
    "06492EEA09D1921CFE1DEB1CB129A73EE88235F52EBB4484E99C7026B45F7E413991D639835339F4"
    "9C845F8BBDF9283B1FF897FFDE05980FEF2F118B5A0A6D1F6D367ECF27CB09B74F463F669E5FEA2D"
    "7527BAC7EBE5F17B3D0739F78A5292EA6BFB5FB11F8D5D0856033046FC7B6BABF0CFBC209AF4361D"
)
"""The first bits of 2/pi behind the point."""
TABLE = "gs.two.over.pi"
FRONT = 64
"""Zero bits in front of them, for the smallest angles."""
WORDS = 20
HALF_PI = 1.5707963267948966
PLAIN_LIMIT = 2.0**1022
TINY = 2.0**-1021


def _exponent(x: Vec) -> Vec:
    """The exponent of finite positive numbers, also of subnormal ones, as i32."""
    small = x < 2.0**-1022
    lifted = small.choose(x * 2.0**54, x)
    field = (lifted.bits() >> 52).to_int(32) - 1023
    return small.choose(field - 54, field)


def _power_of_two(exponent: Vec) -> Vec:
    """2^n for a normal exponent, an i32."""
    return ((exponent + 1023).zero_extend(64) << 52).as_float()


def _scaled(x: Vec, exponent: Vec) -> Vec:
    """x * 2^n for n >= 0, where that does not overflow."""
    half = exponent.ashr(1)
    return x * _power_of_two(half) * _power_of_two(exponent - half)


@function("device.fmod", types=DOUBLE, attributes="noinline")
def _fmod(x: Vec, y: Vec) -> Vec:
    """The quotient is taken off in pieces; what is left is exact after each."""
    above, below = x.abs(), y.abs()
    usual = (above < float("inf")) & (below > 0) & (below < float("inf"))
    divisor = usual.choose(below, 1.0)
    rest = Slot(usual.choose(above, 0.0))

    def step() -> Vec:
        left = rest.get()
        far = _exponent((left > 0).choose(left, divisor)) - _exponent(divisor) - STEP
        far = far.call("smax", 0)
        part = _scaled(divisor, far)
        quotient = (left / part).trunc()
        less = quotient.fma(-part, left)
        less = (less < 0).choose(less + part, less)
        less = (less >= part).choose(less - part, less)
        rest.put(less)
        return far > 0

    repeat(x, step)
    result = usual.choose(rest.get(), float("nan"))
    unchanged = (above < float("inf")) & below.equals(float("inf"))
    return unchanged.choose(x, result.copysign(x))


@function("device.remainder", types=DOUBLE, attributes="noinline")
def _remainder(x: Vec, y: Vec) -> Vec:
    """What is left of twice the divisor is less than two of it, and up to two are taken off."""
    size, divisor = x.abs(), y.abs()
    rest = (divisor < PLAIN_LIMIT).choose(call("device.fmod", size, divisor * 2), size)
    tiny = divisor < TINY
    scaled = tiny.choose(rest * 2, rest)
    half = tiny.choose(divisor, divisor * 0.5)
    once = scaled > half
    rest = once.choose(rest - divisor, rest)
    scaled = tiny.choose(rest * 2, rest)
    rest = (once & (scaled >= half)).choose(rest - divisor, rest)
    signed = rest.flip_sign(x.sign_bits())
    wrong = size.is_infinite() | size.is_nan() | divisor.is_nan() | divisor.equals(0)
    kept = divisor.is_infinite() & ~wrong
    return wrong.choose(float("nan"), kept.choose(x, signed))


# --- Large angles -------------------------------------------------------------------------------


def _table(x: Vec) -> None:
    """The constant with the bits of 2/pi."""
    bits = int(TWO_OVER_PI, 16)
    length = 4 * len(TWO_OVER_PI)
    words = [0]
    for at in range(WORDS):
        words.append((bits >> (length - 64 * (at + 1))) & ((1 << 64) - 1))
    listed = ", ".join(f"i64 {each - (1 << 64) if each >> 63 else each}" for each in words)
    x.text.declarations.setdefault(
        TABLE,
        f"@{TABLE} = internal unnamed_addr addrspace(1) constant [{len(words)} x i64] [{listed}]",
    )


def _word(x: Vec, index: Vec) -> Vec:
    place = x.text.emit(f"getelementptr i64, ptr addrspace(1) @{TABLE}, i64 {index.name}")
    return Vec(x.text, "i64", x.text.emit(f"load i64, ptr addrspace(1) {place}, align 8"))


def _quarters(x: Vec) -> tuple[Vec, Vec]:
    """Quarter turns as an i64 of which two bits count, and the rest as an angle of at most pi/4.

    The number is m * 2^e. Of the product of m with 192 bits of 2/pi, those from the weight 2 on
    count: the two highest bits are the quarter turns, the others the fraction of one."""
    _table(x)
    bits = x.bits()
    exponent = ((bits >> 52) & 0x7FF) - 1075
    whole = (bits & ((1 << 52) - 1)) | (1 << 52)
    first = exponent - 2 + FRONT
    index, shift = first >> 6, first & 63
    words = [_word(x, index + at) for at in range(4)]
    window = []
    for high, low in pairwise(words):
        moved = (low >> 1) >> (63 - shift)
        window.append((high << shift) | moved)
    wide = whole.zero_extend(128)
    low = wide * window[2].zero_extend(128)
    middle = wide * window[1].zero_extend(128) + (low >> 64)
    high = wide * window[0].zero_extend(128) + (middle >> 64)
    top, second = high.to_int(64), middle.to_int(64)
    quarters = top >> 62
    fraction = (top << 2) | (second >> 62)
    less = (second << 2) | (low.to_int(64) >> 62)
    beyond = fraction < 0  # a half or more: the next quarter, and the rest is negative
    turned = beyond.choose(quarters + 1, quarters)
    flipped = beyond.choose(~fraction, fraction)
    tail = beyond.choose(~less, less)
    zeros = flipped.call("umax", 1)
    count = Vec(
        x.text,
        "i64",
        x.text.call("i64", "llvm.ctlz.i64", [("i64", zeros.name), ("i1", "false")]),
    )
    aligned = (flipped << count) | ((tail >> 1) >> (63 - count))
    number = Vec(x.text, "double", x.text.emit(f"uitofp i64 {aligned.name} to double"))
    scale = ((1023 - 64 - count) << 52).as_float()
    angle = number * scale * HALF_PI
    return turned, beyond.choose(-angle, angle)


def _both(x: Vec) -> tuple[Vec, Vec, Vec]:
    """sin and cos of the angle that is left, and the quarter turns."""
    quarters, r = _quarters(x.abs())
    z = r * r
    sine = (z * r).fma(z.polynomial(coefficients.SIN_OCTANT["double"]), r)
    cosine = (z * z).fma(z.polynomial(coefficients.COS_OCTANT["double"]), z.fma(-0.5, 1.0))
    return sine, cosine, quarters


def _if_finite(x: Vec, result: Vec) -> Vec:
    return (x.abs() < float("inf")).choose(result, float("nan"))


@function("device.sin", types=DOUBLE, attributes="noinline cold")
def _sin(x: Vec) -> Vec:
    sine, cosine, quarters = _both(x)
    found = (quarters & 1).differs(0).choose(cosine, sine)
    signs = ((quarters & 2) << 62) ^ x.sign_bits()
    return _if_finite(x, found.flip_sign(signs))


@function("device.cos", types=DOUBLE, attributes="noinline cold")
def _cos(x: Vec) -> Vec:
    sine, cosine, quarters = _both(x)
    found = (quarters & 1).differs(0).choose(sine, cosine)
    return _if_finite(x, found.flip_sign(((quarters + 1) & 2) << 62))


@function("device.tan", types=DOUBLE, attributes="noinline cold")
def _tan(x: Vec) -> Vec:
    sine, cosine, quarters = _both(x)
    odd = (quarters & 1).differs(0)
    found = odd.choose(-cosine / sine, sine / cosine)
    return _if_finite(x, found.flip_sign(x.sign_bits()))
