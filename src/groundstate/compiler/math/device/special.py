"""Inverse trigonometric functions, the error function and gamma, of doubles."""

from __future__ import annotations

import math

from groundstate.compiler.math.device.loops import Slot, down_from
from groundstate.compiler.math.functions import call, function
from groundstate.compiler.math.vec import Vec

DOUBLE = ("double",)
INFINITY = float("inf")
HALF_PI, HALF_PI_LOW = 1.5707963267948966, 6.123233995736766e-17
ATAN_SERIES = tuple((-1) ** each / (2 * each + 1) for each in range(1, 11))
"""Of atan(t) / t - 1 in powers of t^2, which is at most 1/64."""
ATANS = (
    (0.0, 0.0),
    (0.24497866312686414, 1.0698755618734451e-17),
    (0.4636476090008061, 2.2698777452961687e-17),
    (0.6435011087932844, 1.5834785051444286e-17),
    (0.7853981633974483, 3.061616997868383e-17),
)
"""Of the quarters from 0 to 1: the nearest double, and the rest."""


def _atan_parts(x: Vec) -> tuple[Vec, Vec]:
    """atan of numbers from 0 to 1, as the sum of two."""
    quarters = (x * 4).rint()
    number = quarters.to_int(32)
    point = quarters * 0.25
    t = (x - point) / x.fma(point, 1.0)
    high, low = x.constant(0.0), x.constant(0.0)
    for at, (nearest, rest) in enumerate(ATANS[1:], 1):
        here = number.equals(at)
        high, low = here.choose(nearest, high), here.choose(rest, low)
    z = t * t
    return high, (t * z).fma(z.polynomial(ATAN_SERIES), t) + low


@function("device.atan", types=DOUBLE, attributes="noinline")
def _atan(x: Vec) -> Vec:
    size = x.abs()
    outer = size > 1
    high, low = _atan_parts(outer.choose(1 / size, size))
    far = (HALF_PI - high) - (low - HALF_PI_LOW)
    found = outer.choose(far, high + low)
    return x.is_nan().choose(x, found.copysign(x))


@function("device.atan2", types=DOUBLE, attributes="noinline")
def _atan2(y: Vec, x: Vec) -> Vec:
    """By the smaller over the larger: the angle from the nearest axis."""
    above, side = y.abs(), x.abs()
    steep = above > side
    long, short = steep.choose(above, side), steep.choose(side, above)
    both = above.is_infinite() & side.is_infinite()
    ratio = short / long.equals(0).choose(1.0, long)
    ratio = both.choose(1.0, ratio)
    high, low = _atan_parts((ratio >= 0).choose(ratio, 0.0))
    left = x.sign_bits().differs(0)
    # Quarter turns before the angle, and whether it is counted back from there.
    flat = left.choose((2 * HALF_PI - high) - (low - 2 * HALF_PI_LOW), high + low)
    upright = left.choose(
        (HALF_PI + high) + (low + HALF_PI_LOW), (HALF_PI - high) - (low - HALF_PI_LOW)
    )
    found = steep.choose(upright, flat).copysign(y)
    return (x.is_nan() | y.is_nan()).choose(x + y, found)


@function("device.asin", types=DOUBLE, attributes="noinline")
def _asin(x: Vec) -> Vec:
    found = call("device.atan2", x, ((1 - x) * (1 + x)).sqrt())
    return (x.abs() <= 1).choose(found, float("nan"))


@function("device.acos", types=DOUBLE, attributes="noinline")
def _acos(x: Vec) -> Vec:
    found = call("device.atan2", ((1 - x) * (1 + x)).sqrt(), x)
    return (x.abs() <= 1).choose(found, float("nan"))


# --- The error function -------------------------------------------------------------------------

SERIES_END = 0.75
"""Up to here erfc is 1 - erf, which loses little."""
SERIES_TERMS = 90
FRACTION_TERMS = 300
"""Of the continued fraction, which converges slowly at its beginning."""
BELOW_ONE = 6.0
"""From here on erf is 1."""
VANISHES = 27.3


def _gauss(x: Vec) -> Vec:
    """exp(-x^2), with what the square loses."""
    square = x * x
    lost = x.fma(x, -square)
    power = call("exp", -square)
    return power.fma(-lost, power)


def _erf_series(x: Vec) -> Vec:
    """For 0 <= x < 3: terms that are all positive, summed from the smallest one on."""
    double_square = x * x * 2
    total = Slot(x.constant(1.0))

    def term(number: Vec) -> None:
        odd = (number * 2 + 1).int_to_float("double")
        total.put((double_square / odd).fma(total.get(), 1.0))

    down_from(Vec(x.text, "i32", "0").constant(SERIES_TERMS), term)
    return x * (2 / math.sqrt(math.pi)) * _gauss(x) * total.get()


def _erfc_fraction(x: Vec) -> Vec:
    """For x >= SERIES_END: the continued fraction x + 1/2/(x + 1/(x + 3/2/(x + ..."""
    total = Slot(x)

    def term(number: Vec) -> None:
        total.put(x + number.int_to_float("double") * 0.5 / total.get())

    down_from(Vec(x.text, "i32", "0").constant(FRACTION_TERMS), term)
    return _gauss(x) / (total.get() * math.sqrt(math.pi))


@function("device.erf", types=DOUBLE, branches=True, attributes="noinline")
def _erf(x: Vec) -> Vec:
    size = x.abs()
    near = _erf_series((size < 2).choose(size, 0.0))
    far = 1 - _erfc_fraction((size >= 2).choose(size.call("minnum", BELOW_ONE), 2.0))
    found = (size < 2).choose(near, (size < BELOW_ONE).choose(far, 1.0))
    return x.is_nan().choose(x, found.copysign(x))


@function("device.erfc", types=DOUBLE, branches=True, attributes="noinline")
def _erfc(x: Vec) -> Vec:
    size = x.abs()
    near = _erf_series((size < SERIES_END).choose(size, 0.0))
    inner = (size >= SERIES_END) & (size < VANISHES)
    far = _erfc_fraction(inner.choose(size, 1.0))
    far = (size < VANISHES).choose(far, 0.0)
    small = (x < 0).choose(1 + near, 1 - near)
    large = (x < 0).choose(2 - far, far)
    found = (size < SERIES_END).choose(small, large)
    return x.is_nan().choose(x, found)


# --- Gamma --------------------------------------------------------------------------------------

STIRLING_FROM = 12.0
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
"""Of the logarithm of gamma behind Stirling's formula, in powers of 1/x^2 times 1/x."""
LARGEST = 185.0
"""Beyond it, gamma is infinite, and that of its negative zero."""


def _correction(x: Vec) -> Vec:
    inverse = 1 / x
    return inverse * (inverse * inverse).polynomial(STIRLING)


def _gamma_parts(x: Vec, missed: Vec) -> tuple[Vec, Vec]:
    """gamma(x + missed) for 0.5 <= x <= LARGEST, as a product of two.

    Stirling's formula holds from STIRLING_FROM on; what is smaller goes there in steps of one.
    What is rounded off on the way counts, by the derivative of the logarithm."""
    shifted, product = Slot(x), Slot(x.constant(1.0))

    def up(number: Vec) -> None:
        del number
        at = shifted.get()
        low = at < STIRLING_FROM
        product.put(low.choose(product.get() * at, product.get()))
        shifted.put(low.choose(at + 1, at))

    down_from(Vec(x.text, "i32", "0").constant(int(STIRLING_FROM)), up)
    at = shifted.get()
    steps = (at - x).rint()
    lost = missed + (x - (at - steps))
    root = call("device.pow", at, at * 0.5) * call("exp", at * -0.5)
    slope = call("log", at) - 0.5 / at
    rest = call("expm1", lost.fma(slope, _correction(at)))
    factor = math.sqrt(2 * math.pi) / at.sqrt()
    return root * factor.fma(rest, factor) / product.get(), root


@function("device.tgamma", types=DOUBLE, branches=True, attributes="noinline")
def _tgamma(x: Vec) -> Vec:
    """Below one half by that of the number on the other side of it."""
    reflected = x < 0.5
    size = reflected.choose(1 - x, x)
    missed = reflected.choose((1 - size) - x, 0.0)
    inside = (size >= 0.5) & (size <= LARGEST)
    first, second = _gamma_parts(inside.choose(size, 1.0), inside.choose(missed, 0.0))
    plain = inside.choose(first * second, INFINITY)
    sine = call("sinpi", x)
    mirrored = inside.choose(math.pi / (sine * first) / second, 0.0)
    found = reflected.choose(mirrored, plain)
    found = (x.abs() < 2.0**-60).choose(1 / x, found)
    pole = (x < 0) & x.floor().equals(x)
    found = pole.choose(float("nan"), found)
    return x.is_nan().choose(x, found)


@function("device.lgamma", types=DOUBLE, branches=True, attributes="noinline")
def _lgamma(x: Vec) -> Vec:
    """By Stirling's formula from STIRLING_FROM on, and by gamma itself below."""
    size = x.abs()
    large = size >= STIRLING_FROM
    at = (large & (size < INFINITY)).choose(size, STIRLING_FROM)
    log = call("log", at)
    far = (at - 0.5) * (log - 1) + ((0.5 * math.log(2 * math.pi) - 0.5) + _correction(at))
    sine = call("sinpi", (size < 2.0**52).choose(size, 0.0)).abs()
    mirrored = math.log(math.pi) - call("log", sine * at) - far
    near = call("log", call("device.tgamma", large.choose(x.constant(1.0), x)).abs())
    tiny = size < 2.0**-60
    near = tiny.choose(-call("log", tiny.choose(size, 1.0)), near)
    found = large.choose((x < 0).choose(mirrored, far), near)
    pole = (x <= 0) & x.floor().equals(x)
    found = (pole | x.is_infinite()).choose(INFINITY, found)
    return x.is_nan().choose(x, found)
