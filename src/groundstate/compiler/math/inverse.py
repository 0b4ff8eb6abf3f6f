"""The inverse trigonometric functions. Those of doubles are the C library's."""

from __future__ import annotations

from groundstate.compiler.math import coefficients
from groundstate.compiler.math.functions import call, function, library
from groundstate.compiler.math.vec import Vec, element

PI, HALF_PI = 3.141592653589793, 1.5707963267948966
HALF_PI_LOW = -4.371139000186241e-08
"""What the nearest float to pi/2 misses."""


def _atan_series(x: Vec) -> Vec:
    """atan for 0 <= x <= 1."""
    z = x * x
    return (z * x).fma(z.polynomial(coefficients.ATAN["float"]), x)


def _from_half_pi(angle: Vec) -> Vec:
    """pi/2 - angle."""
    return HALF_PI - (angle - HALF_PI_LOW)


@function("atan", types=("float",))
def _atan(x: Vec) -> Vec:
    size = x.abs()
    steep = size > 1
    angle = _atan_series(steep.choose(1 / size, size))
    return steep.choose(_from_half_pi(angle), angle).copysign(x)


@function("atan2", types=("float",))
def _atan2(y: Vec, x: Vec) -> Vec:
    """The angle in the first octant, then the seven others by the signs and which is larger."""
    up, right = y.abs(), x.abs()
    steep = up > right
    small, large = steep.choose(right, up), steep.choose(up, right)
    slope = small / large
    slope = small.equals(0).choose(0.0, slope)
    slope = small.equals(float("inf")).choose(1.0, slope)
    angle = _atan_series(slope)
    angle = steep.choose(_from_half_pi(angle), angle)
    backwards = x.bits() < 0
    turned = PI - (angle - 2 * HALF_PI_LOW)
    angle = backwards.choose(turned, angle)
    return (x.is_nan() | y.is_nan()).choose(x + y, angle.copysign(y))


def _asin_parts(x: Vec) -> tuple[Vec, Vec]:
    """asin(|x|) for |x| <= 1/2, elsewhere asin(sqrt((1 - |x|) / 2)); and where that is."""
    size = x.abs()
    outer = size > 0.5
    z = outer.choose((1 - size) * 0.5, size * size)
    root = outer.choose(z.sqrt(), size)
    return (z * root).fma(z.polynomial(coefficients.ASIN["float"]), root), outer


@function("asin", types=("float",))
def _asin(x: Vec) -> Vec:
    angle, outer = _asin_parts(x)
    return outer.choose(_from_half_pi(angle * 2), angle).copysign(x)


@function("acos", types=("float",))
def _acos(x: Vec) -> Vec:
    angle, outer = _asin_parts(x)
    inner = _from_half_pi(angle.copysign(x))
    near = angle * 2
    far = PI - (near - 2 * HALF_PI_LOW)
    return outer.choose((x < 0).choose(far, near), inner)


def _in_half_turns(name: str) -> None:
    """asinpi and the others: the angle in double precision, over pi."""

    @function(f"{name}pi", types=("float", "double"))
    def write(*arguments: Vec) -> Vec:
        wide = library(name, *(each.to_float("double") for each in arguments))
        return (wide / PI).to_float(element(arguments[0].t))


for _name in ("acos", "asin", "atan", "atan2"):
    _in_half_turns(_name)


@function("hypot", types=("float",))
def _hypot(x: Vec, y: Vec) -> Vec:
    """In double precision no square of a float overflows or vanishes."""
    wide, high = x.to_float("double"), y.to_float("double")
    length = wide.fma(wide, high * high).sqrt().to_float("float")
    return (x.is_infinite() | y.is_infinite()).choose(float("inf"), length)


@function("acosh", types=("float",), branches=True)
def _acosh(x: Vec) -> Vec:
    """log(x + sqrt(x^2 - 1)) in double precision; written with x - 1, which is exact."""
    less = x.to_float("double") - 1
    root = (less * (less + 2)).sqrt()
    small = call("log1p.wide", less + root).to_float("float")
    return (x >= 1).choose(small, float("nan"))


@function("asinh", types=("float",), branches=True)
def _asinh(x: Vec) -> Vec:
    size = x.abs().to_float("double")
    square = size * size
    inside = size + square / (1 + (square + 1).sqrt())
    result = call("log1p.wide", inside).to_float("float")
    unchanged = x.equals(0) | x.is_infinite()
    return unchanged.choose(x, result.copysign(x))


@function("atanh", types=("float",), branches=True)
def _atanh(x: Vec) -> Vec:
    """log((1 + x) / (1 - x)) / 2, that is log1p(2x / (1 - x)) / 2."""
    size = x.abs().to_float("double")
    result = (call("log1p.wide", 2 * size / (1 - size)) * 0.5).to_float("float")
    return x.equals(0).choose(x, result.copysign(x))


@function("log1p.wide", types=("double",), branches=True)
def _log1p_wide(x: Vec) -> Vec:
    """log(1 + x) of doubles x >= 0 to the precision of floats: 1 + x, and what it missed."""
    u = 1 + x
    missed = (x > 1).choose(1 - (u - x), x - (u - 1))
    fixed = call("log", u) + missed / u
    return (x < float("inf")).choose(fixed, x)
