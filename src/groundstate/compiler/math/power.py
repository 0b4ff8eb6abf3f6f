"""pow, powr, pown, rootn and cbrt.

Of floats: 2^(y log2(x)) in double precision, which has more bits than the largest power uses up.
Of doubles: the C library's pow.
"""

from __future__ import annotations

from groundstate.compiler.math import coefficients
from groundstate.compiler.math.exponential import ROUNDER, scale_far
from groundstate.compiler.math.functions import call, function, library, rarely
from groundstate.compiler.math.logarithm import split
from groundstate.compiler.math.vec import Vec, element

INFINITE = 0x7F800000
"""The bits of an infinite float; larger ones are those of NaNs."""


def _log2(x: Vec) -> Vec:
    """The binary logarithm of positive floats as doubles, to 37 bits.

    A division of floats and one step of Newton's takes less time than a division of doubles.
    """
    tiny = x < 2.0**-126
    k, fraction = split(tiny.choose(x * 2.0**23, x))
    k = tiny.choose(k - 23, k)
    f = (fraction - 1).to_float("double")
    inverse = (1 / (fraction + 1)).to_float("double")
    inverse = inverse.fma(inverse.fma(-(f + 2), 1.0), inverse)
    s = f * inverse
    series = (s * s).estrin(coefficients.LOG2_SERIES["double"])
    return s.fma(series, k.int_to_float("double"))


def _exp2(x: Vec) -> Vec:
    """2^x of doubles as floats: only the whole part needs the precision."""
    bounded = (x > 200.0).choose(200.0, x)
    bounded = (bounded < -200.0).choose(-200.0, bounded)
    shifted = bounded + ROUNDER["double"]
    rest = (bounded - (shifted - ROUNDER["double"])).to_float("float")
    power = rest.fma(rest.polynomial(coefficients.EXP2["float"]), 1.0)
    return scale_far(power, shifted.bits().to_int(32))


def _core(size: Vec, y: Vec, sign: Vec) -> Vec:
    """size^y for finite floats size >= 0 and finite doubles y; any number to the power 0 is 1.

    `sign` is a number of 32 bits, positive, zero or negative as y is.
    """
    power = _exp2(y * _log2(size))
    edge = (sign > 0).choose(power.constant(0.0), float("inf"))
    power = size.equals(0).choose(edge, power)
    return sign.equals(0).choose(1.0, power)


def _unusual(*values: Vec) -> Vec:
    """True if one of the floats is infinite or no number."""
    bits = [each.abs().bits() for each in values]
    largest = bits[0]
    for each in bits[1:]:
        largest = largest.call("umax", each)
    return largest.compare("uge", INFINITE)


@function("pow", types=("float", "double"), branches=True)
def _pow(x: Vec, y: Vec) -> Vec:
    if element(x.t) == "double":
        return library("pow", x, y)
    power = _core(x.abs(), y.to_float("double"), y)
    whole = y.rint().equals(y)
    half = y * 0.5
    odd = half.rint().differs(half) & whole
    signed = power.flip_sign(odd.choose(x.sign_bits(), 0))
    result = ((x < 0) & ~whole).choose(float("nan"), signed)
    unusual = _unusual(x, y)
    return rarely(unusual, result, lambda: library("pow", x, y, only=unusual))


@function("powr", "half_powr", types=("float", "double"), branches=True)
def _powr(x: Vec, y: Vec) -> Vec:
    """Only for x >= 0; 0^0, 1^inf and inf^0 are no numbers."""
    if element(x.t) == "double":
        return _powr_special(x, y, library("pow", x, y))
    power = _core(x.abs(), y.to_float("double"), y)
    nothing = (x < 0) | (x.equals(0) & y.equals(0))
    result = nothing.choose(float("nan"), power)
    unusual = _unusual(x, y)
    return rarely(
        unusual,
        result,
        lambda: _powr_special(x, y, library("pow", x, y, only=unusual)),
    )


def _powr_special(x: Vec, y: Vec, power: Vec) -> Vec:
    """What pow says of x^y, made what powr says."""
    limit = float("inf")
    nothing = (x < 0) | x.is_nan() | y.is_nan()
    nothing = nothing | (y.equals(0) & (x.equals(0) | x.equals(limit)))
    nothing = nothing | (x.equals(1) & y.abs().equals(limit))
    return nothing.choose(float("nan"), power.abs())


@function("native_powr", types=("float",), attributes="alwaysinline")
def _native_powr(x: Vec, y: Vec) -> Vec:
    return call("native_exp2", y * call("native_log2", x))


@function("pown", types=("float", "double"), branches=True)
def _pown(x: Vec, n: Vec) -> Vec:
    y = n.int_to_float("double")
    if element(x.t) == "double":
        return library("pow", x, y)
    odd = (n & 1).differs(0)
    result = _core(x.abs(), y, n).flip_sign(odd.choose(x.sign_bits(), 0))
    unusual = _unusual(x)

    def careful() -> Vec:
        wide = library("pow", x.to_float("double"), y, only=unusual)
        return wide.to_float("float")

    return rarely(unusual, result, careful)


@function("rootn", types=("float", "double"), branches=True)
def _rootn(x: Vec, n: Vec) -> Vec:
    """x^(1/n): of a negative number if n is odd."""
    count = n.int_to_float("double")
    y = 1 / count
    odd = (n & 1).differs(0)
    if element(x.t) == "double":
        # 1/n is not y: x^(1/n - y) is 1 + (1/n - y) log(x), as near as can be.
        size = x.abs()
        missed = y.fma(-count, 1.0) / count
        power = library("pow", size, y)
        usual = (size > 0) & (size < float("inf")) & n.differs(0)
        correction = missed * library("log", usual.choose(size, 1.0))
        power = usual.choose(power.fma(correction, power), power)
    else:
        size = x.abs()
        unusual = _unusual(x)
        power = rarely(
            unusual,
            _core(size, y, n),
            lambda: library("pow", size, y.to_float("float"), only=unusual),
        )
    signed = power.flip_sign(odd.choose(x.sign_bits(), 0))
    nothing = n.equals(0) | (~odd & (x < 0))
    return nothing.choose(float("nan"), signed)


@function("cbrt", types=("float", "double"), branches=True)
def _cbrt(x: Vec) -> Vec:
    if element(x.t) == "double":
        return _cbrt_double(x)
    unusual = _unusual(x)
    third = x.to_float("double").constant(1 / 3)
    root = _core(x.abs(), third, x.constant(1.0)).copysign(x)
    return rarely(unusual, root, lambda: x)


def _cbrt_double(x: Vec) -> Vec:
    """The library's root, and a step of Newton's with the error of its cube: it may be off by two.

    Small numbers are scaled, so that the error is not lost among subnormal numbers.
    """
    tiny = x.abs() < 2.0**-900
    lifted = tiny.choose(x * 2.0**180, x)
    root = library("cbrt", lifted)
    square = root * root
    error = square.fma(root, -lifted) + root.fma(root, -square) * root
    better = root - error / (square * 3)
    better = tiny.choose(better * 2.0**-60, better)
    usual = (x.abs() > 0) & (x.abs() < float("inf"))
    return usual.choose(better, x)
