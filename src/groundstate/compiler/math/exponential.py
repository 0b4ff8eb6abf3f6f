"""exp and its relatives: a power of two for the whole part, a polynomial for the rest."""

from __future__ import annotations

from groundstate.compiler.math import coefficients
from groundstate.compiler.math.functions import call, function, rarely
from groundstate.compiler.math.vec import BIAS, FRACTION, Vec, element

LN2 = {
    "float": (0.6931471824645996, -1.9046542121259336e-09),
    "double": (0.6931471805599453, 2.3190468138462996e-17),
}
"""The natural logarithm of 2 as a sum of two numbers of the type."""
LOG10_2 = {
    "float": (0.3010300099849701, -1.432098883924482e-08),
    "double": (0.3010299956639812, -2.8037281277851704e-18),
}
"""The decimal logarithm of 2, likewise."""
LOG2_E, LOG2_10, LN_10 = 1.4426950408889634, 3.321928094887362, 2.302585092994046
ROUNDER = {"float": 12582912.0, "double": 6755399441055744.0}
"""1.5 * 2^p: added to a number it rounds it to a whole one, which then stands in the low bits."""
SAFE = {"float": (87.0, 126.0, 37.0), "double": (708.0, 1022.0, 307.0)}
"""Up to these sizes of the argument, exp, exp2 and exp10 are normal numbers."""
EXTREME = {"float": (105.0, 152.0, 46.0), "double": (747.0, 1078.0, 325.0)}
"""Beyond these, they are zero or infinite."""


def _series(r: Vec) -> Vec:
    """exp for |r| <= log(2) / 2."""
    kind = element(r.t)
    evaluate = r.estrin if kind == "double" else r.polynomial
    return (r * r).fma(evaluate(coefficients.EXP[kind]), r) + 1


def scale(x: Vec, whole: Vec) -> Vec:
    """x * 2^n where the low bits of `whole` are n and the result is a normal number."""
    return (x.bits() + (whole << FRACTION[element(x.t)])).as_float()


def scale_safely(x: Vec, whole: Vec) -> Vec:
    """The same where x may be no number, and 2^n is a normal number."""
    kind = element(x.t)
    return x * ((whole + BIAS[kind]) << FRACTION[kind]).as_float()


def scale_far(x: Vec, whole: Vec) -> Vec:
    """x * 2^n in two steps, so that the result may be zero, subnormal or infinite."""
    kind = element(x.t)
    half = whole.ashr(1)
    steps = (half, whole - half)
    for step in steps:
        x = x * ((step + BIAS[kind]) << FRACTION[kind]).as_float()
    return x


def _parts(x: Vec, base: int) -> tuple[Vec, Vec]:
    """Where base^x is 2^n * exp(r): n in low bits, and r."""
    kind = element(x.t)
    rounder = ROUNDER[kind]
    shifted = x.fma((LOG2_E, 1.0, LOG2_10)[base], rounder) if base != 1 else x + rounder
    whole = shifted - rounder
    if base == 1:
        return shifted.bits(), (x - whole) * LN2[kind][0]
    high, low = (LN2 if base == 0 else LOG10_2)[kind]
    rest = whole.fma(-low, whole.fma(-high, x))
    return shifted.bits(), rest if base == 0 else rest * LN_10


def _usual(x: Vec, base: int) -> Vec:
    whole, rest = _parts(x, base)
    return scale(_series(rest), whole)


def _careful(x: Vec, base: int) -> Vec:
    """Also where the result is zero, subnormal, infinite or no number."""
    kind = element(x.t)
    limit = EXTREME[kind][base]
    bounded = (x > limit).choose(limit, x)
    bounded = (bounded < -limit).choose(-limit, bounded)
    shifted, rest = _parts(bounded, base)
    whole = shifted - bounded.constant(ROUNDER[kind]).bits()
    return scale_far(_series(rest), whole)


def _register(name: str, base: int) -> None:
    @function(f"{name}.careful", types=("float", "double"), attributes="noinline cold")
    def careful(x: Vec) -> Vec:
        return _careful(x, base)

    @function(name, f"half_{name}", types=("float", "double"), branches=True)
    def usual(x: Vec) -> Vec:
        rare = x.abs().compare("uge", SAFE[element(x.t)][base])
        return rarely(rare, _usual(x, base), lambda: call(f"{name}.careful", x))

    @function(f"native_{name}", types=("float",), attributes="alwaysinline")
    def native(x: Vec) -> Vec:
        return _native(x, (LOG2_E, 1.0, LOG2_10)[base])


def _native(x: Vec, factor: float) -> Vec:
    """2^(factor x) with a polynomial for the fraction: zero below 2^-127, infinite from 2^127.5."""
    bottom, top = -127 / factor, 128 / factor
    bounded = (x < bottom).choose(bottom, x)
    bounded = (bounded > top).choose(top, bounded)
    shifted = bounded.fma(factor, ROUNDER["float"])
    rest = bounded.fma(factor, ROUNDER["float"] - shifted)
    power = rest.fma(rest.polynomial(coefficients.EXP2["float"]), 1.0)
    return scale_safely(power, shifted.bits())


for _base, _name in enumerate(("exp", "exp2", "exp10")):
    _register(_name, _base)


# --- exp(x) - 1 and the hyperbolic functions ----------------------------------------------------


def _expm1_series(r: Vec) -> Vec:
    kind = element(r.t)
    evaluate = r.estrin if kind == "double" else r.polynomial
    return (r * r).fma(evaluate(coefficients.EXPM1[kind]), r)


@function("expm1", types=("float", "double"), branches=True)
def _expm1(x: Vec) -> Vec:
    """2^n * expm1(r) + (2^n - 1); beyond the range of that, exp(x) is as good, or -1."""
    kind = element(x.t)
    top, bottom = {"float": (88.0, -20.0), "double": (709.0, -40.0)}[kind]
    bounded = (x > top).choose(top, x)
    bounded = (bounded < bottom).choose(bottom, bounded)
    shifted, rest = _parts(bounded, 0)
    power = scale_safely(x.constant(1.0), shifted)
    result = power.fma(_expm1_series(rest), power - 1)
    result = x.equals(0).choose(x, result)
    return (x > top).choose(call("exp", (x > top).choose(x, 1.0)), result)


def _half_exp(x: Vec) -> Vec:
    """exp(x) / 2 for 0 <= x <= 90: in range where exp(x) itself may not be."""
    shifted, rest = _parts(x, 0)
    return scale(_series(rest), shifted - 1)


@function("cosh", types=("float",))
def _cosh(x: Vec) -> Vec:
    size = x.abs()
    bounded = (size > 90.0).choose(90.0, size)
    half = _half_exp(bounded)
    result = half + 0.25 / half
    return x.is_nan().choose(x, (size > 89.5).choose(float("inf"), result))


@function("sinh", types=("float",))
def _sinh(x: Vec) -> Vec:
    size = x.abs()
    z = x * x
    small = (z * x).fma(z.polynomial(coefficients.SINH["float"]), x)
    bounded = (size > 90.0).choose(90.0, size)
    half = _half_exp(bounded)
    large = (size > 89.5).choose(float("inf"), half - 0.25 / half).copysign(x)
    return (size < 1.0).choose(small, x.is_nan().choose(x, large))


@function("tanh", types=("float",))
def _tanh(x: Vec) -> Vec:
    size = x.abs()
    z = x * x
    small = (z * x).fma(z.polynomial(coefficients.TANH["float"]), x)
    bounded = (size > 10.0).choose(10.0, size)
    shifted, rest = _parts(bounded * 2, 0)
    power = scale_safely(_series(rest), shifted)
    large = 1 - 2 / (power + 1)
    return (size < 0.625).choose(small, large).copysign(x)


@function("erf", types=("float",))
def _erf(x: Vec) -> Vec:
    """1 - exp(-p(|x|)) in the tail; a NaN stays one in either branch."""
    size = x.abs()
    small = x * (x * x).polynomial(coefficients.ERF["float"])
    bounded = (size > 4.0).choose(4.0, size)
    shifted, rest = _parts(-bounded.polynomial(coefficients.ERF_TAIL["float"]), 0)
    large = (1 - scale_safely(_series(rest), shifted)).copysign(x)
    return (size < 1.0).choose(small, large)


@function("erfc", types=("float",))
def _erfc(x: Vec) -> Vec:
    """exp(-x^2), where x^2 is taken exactly, and a polynomial for what falls slowly."""
    size = x.abs()
    bounded = (size > 10.5).choose(10.5, size)
    square = bounded * bounded
    shifted, rest = _parts(-square, 0)
    power = scale_far(_series(rest), shifted - x.constant(ROUNDER["float"]).bits())
    power = power.fma(-bounded.fma(bounded, -square), power)
    tail = power * (1 / (bounded + 3)).estrin(coefficients.ERFC["float"])
    return (x < 0.0).choose(2 - tail, tail)
