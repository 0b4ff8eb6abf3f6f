"""Powers, roots, logarithms and hyperbolic functions of doubles.

A number that needs more bits than a double has is the sum of two: the nearest, and the rest.
"""

from __future__ import annotations

from groundstate.compiler.math.functions import call, function
from groundstate.compiler.math.logarithm import split, to_float_exponent
from groundstate.compiler.math.vec import Vec

DOUBLE = ("double",)
LN2, LN2_LOW = 0.6931471805599453, 2.3190468138462996e-17
THIRD, THIRD_LOW = 0.3333333333333333, 1.850371707708594e-17
ODD_RECIPROCALS = tuple(1 / each for each in range(5, 29, 2))
"""Of the series of atanh behind its second term."""
FAR = 1000.0
INFINITY = float("inf")

Pair = tuple[Vec, Vec]


def _sum(left: Vec, right: Vec) -> Pair:
    """The sum of two numbers, exactly."""
    total = left + right
    other = total - left
    return total, (left - (total - other)) + (right - other)


def _ordered_sum(large: Vec, small: Vec) -> Pair:
    """The same where the first is known to be larger."""
    total = large + small
    return total, small - (total - large)


def _product(left: Vec, right: Vec) -> Pair:
    """The product of two numbers, exactly."""
    total = left * right
    return total, left.fma(right, -total)


def _log_pair(x: Vec) -> Pair:
    """The natural logarithm of positive finite numbers, to some 65 bits."""
    tiny = x < 2.0**-1022
    lifted = tiny.choose(x * 2.0**54, x)
    k, fraction = split(lifted)
    exponent = to_float_exponent(k, "double") - tiny.choose(x.constant(54.0), 0.0)
    f = fraction - 1
    below = fraction + 1
    lost = fraction - (below - 1)
    s = f / below
    s_low = (s.fma(-below, f) - s * lost) / below
    z, z_low = _product(s, s)
    z_low = z_low + 2 * s * s_low
    series = z * z.estrin(ODD_RECIPROCALS)
    t, t_low = _ordered_sum(x.constant(THIRD), series)
    t_low = t_low + THIRD_LOW
    u, u_low = _product(z, t)
    u_low = u_low + (z * t_low + z_low * t)
    v, v_low = _product(s, u)
    v_low = v_low + (s * u_low + s_low * u)
    total, low = _ordered_sum(s, v)
    low = low + (v_low + s_low)
    total, low = total * 2, low * 2
    high, rest = _product(exponent, x.constant(LN2))
    rest = exponent.fma(LN2_LOW, rest)
    whole, whole_low = _sum(high, total)
    return _ordered_sum(whole, whole_low + (rest + low))


@function("device.pow", types=DOUBLE, branches=True, attributes="noinline")
def _pow(x: Vec, y: Vec) -> Vec:
    size = x.abs()
    usual = (size > 0) & (size < INFINITY)
    high, low = _log_pair(usual.choose(size, 1.0))
    limit = size.equals(0).choose(x.constant(-INFINITY), INFINITY)
    high = usual.choose(high, limit)
    power, rest = _product(y, high)
    rest = y.fma(usual.choose(low, 0.0), rest)
    rest = (power.abs() < FAR).choose(rest, 0.0)
    found = call("exp", power)
    found = (found < INFINITY).choose(found.fma(rest, found), found)
    whole = y.rint().equals(y)
    half = y * 0.5
    odd = whole & half.rint().differs(half)
    found = found.flip_sign(odd.choose(x.sign_bits(), 0))
    found = ((x < 0) & (x > -INFINITY) & ~whole).choose(float("nan"), found)
    found = (x.is_nan() | y.is_nan()).choose(x + y, found)
    one = y.equals(0) | x.equals(1) | (size.equals(1) & y.is_infinite())
    return one.choose(1.0, found)


@function("device.log", types=DOUBLE, branches=True)
def _log(x: Vec) -> Vec:
    return call("log", x)


@function("device.cbrt", types=DOUBLE, branches=True, attributes="noinline")
def _cbrt(x: Vec) -> Vec:
    """Good enough for whoever takes another step of Newton's."""
    size = x.abs()
    usual = (size > 0) & (size < INFINITY)
    root = call("exp", call("log", usual.choose(size, 1.0)) * THIRD)
    return usual.choose(root.copysign(x), x)


@function("device.hypot", types=DOUBLE, attributes="noinline")
def _hypot(x: Vec, y: Vec) -> Vec:
    first, second = x.abs(), y.abs()
    long, short = first.call("maxnum", second), first.call("minnum", second)
    usual = (long > 0) & (long < INFINITY)
    ratio = usual.choose(short, 0.0) / usual.choose(long, 1.0)
    length = long * ratio.fma(ratio, 1.0).sqrt()
    length = (x.is_nan() | y.is_nan()).choose(x + y, length)
    return (first.is_infinite() | second.is_infinite()).choose(INFINITY, length)


@function("device.log1p", types=DOUBLE, branches=True, attributes="noinline")
def _log1p(x: Vec) -> Vec:
    """log(u) where u is 1 + x rounded, and what was rounded off."""
    u = 1 + x
    missed = (x > 1).choose(1 - (u - x), x - (u - 1))
    usual = (x > -1) & (x < INFINITY)
    found = call("log", usual.choose(u, 1.0)) + missed / usual.choose(u, 1.0)
    found = u.equals(1).choose(x, found)
    found = usual.choose(found, (x.equals(-1)).choose(x.constant(-INFINITY), x))
    return (x < -1).choose(float("nan"), found)


@function("device.sinh", types=DOUBLE, branches=True, attributes="noinline")
def _sinh(x: Vec) -> Vec:
    size = x.abs()
    small = call("expm1", (size < 22).choose(size, 0.0))
    near = (small + small / (small + 1)) * 0.5
    far = call("exp", size) * 0.5
    root = call("exp", size * 0.5)
    found = (size < 22).choose(near, (size < 709).choose(far, root * 0.5 * root))
    return (size > 2.0**-28).choose(found.copysign(x), x)


@function("device.cosh", types=DOUBLE, branches=True, attributes="noinline")
def _cosh(x: Vec) -> Vec:
    size = x.abs()
    power = call("exp", size)
    root = call("exp", size * 0.5)
    near = power.fma(0.5, 0.5 / power)
    return (size < 709).choose(near, root * 0.5 * root)


@function("device.tanh", types=DOUBLE, branches=True, attributes="noinline")
def _tanh(x: Vec) -> Vec:
    size = x.abs()
    less = call("expm1", (size < 0.5).choose(size * -2, 0.0))
    near = -less / (less + 2)
    more = call("expm1", (size < 22).choose(size * 2, 44.0))
    far = 1 - 2 / (more + 2)
    found = (size < 0.5).choose(near, far)
    found = (size > 2.0**-28).choose(found.copysign(x), x)
    return x.is_nan().choose(x, found)


@function("device.asinh", types=DOUBLE, branches=True, attributes="noinline")
def _asinh(x: Vec) -> Vec:
    size = x.abs()
    near = (size < 2.0**28).choose(size, 0.0)
    square = near * near
    small = call("device.log1p", near + square / (1 + (square + 1).sqrt()))
    large = call("log", (size < 2.0**28).choose(x.constant(1.0), size)) + LN2
    found = (size < 2.0**28).choose(small, large)
    return (size > 2.0**-28).choose(found.copysign(x), x)


@function("device.acosh", types=DOUBLE, branches=True, attributes="noinline")
def _acosh(x: Vec) -> Vec:
    less = (x < 2.0**28).choose(x, 1.0) - 1
    small = call("device.log1p", less + (less * (less + 2)).sqrt())
    large = call("log", (x < 2.0**28).choose(x.constant(1.0), x)) + LN2
    found = (x < 2.0**28).choose(small, large)
    return (x >= 1).choose(found, float("nan"))


@function("device.atanh", types=DOUBLE, branches=True, attributes="noinline")
def _atanh(x: Vec) -> Vec:
    size = x.abs()
    found = call("device.log1p", 2 * size / (1 - size)) * 0.5
    return (size > 2.0**-28).choose(found.copysign(x), x)
