"""Logarithms: the exponent of the argument, and a polynomial for its fraction.

A number is 2^k * (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), so that f and k are both zero
near one and nothing cancels there.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.math import coefficients
from groundstate.compiler.math.exponential import LN2, LOG10_2
from groundstate.compiler.math.functions import call, function, rarely
from groundstate.compiler.math.vec import BIAS, BITS, FRACTION, Vec, element

LOG2_E = {
    "float": (1.4426950216293335, 1.925963033500011e-08),
    "double": (1.4426950408889634, 2.0355273740931033e-17),
}
LOG10_E = {
    "float": (0.4342944920063019, -1.0103049952192578e-08),
    "double": (0.4342944819032518, 1.098319650216765e-17),
}
"""Factors from natural to other logarithms, as sums of two numbers of the type."""
ROOT_HALF = {"float": 0x3F3504F3, "double": 0x3FE6A09E667F3BCD}
"""The bits of sqrt(1/2)."""


def split(x: Vec) -> tuple[Vec, Vec]:
    """k as an integer, and 1 + f, of normal numbers."""
    kind = element(x.t)
    above = x.bits() - ROOT_HALF[kind]
    exponent = above.ashr(FRACTION[kind])
    fraction = (above & ((1 << FRACTION[kind]) - 1)) + ROOT_HALF[kind]
    return exponent, fraction.as_float()


def _natural(f: Vec) -> Vec:
    """log(1 + f)."""
    if element(f.t) == "float":
        return (f * f).fma(f.polynomial(coefficients.LOG["float"]), f)
    s = f / (f + 2)
    z = s * s
    half = f * f * 0.5
    rest = z * z.estrin(coefficients.LOG_SERIES["double"])
    return f - (half - s * (half + rest))


def to_float_exponent(k: Vec, kind: str) -> Vec:
    """The exponent as a floating-point number, through 32 bits: many CPUs convert no others."""
    return k.to_int(32).int_to_float(kind)


def _ln(k: Vec, f: Vec) -> Vec:
    high, low = LN2[element(f.t)]
    return k.fma(high, k.fma(low, _natural(f)))


def _log2(k: Vec, f: Vec) -> Vec:
    high, low = LOG2_E[element(f.t)]
    y = _natural(f)
    return y.fma(high, y.fma(low, k))


def _log10(k: Vec, f: Vec) -> Vec:
    kind = element(f.t)
    y = _natural(f)
    tail = k.fma(LOG10_2[kind][1], y * LOG10_E[kind][1])
    return k.fma(LOG10_2[kind][0], y.fma(LOG10_E[kind][0], tail))


def _of_normal(x: Vec, combine: Callable[[Vec, Vec], Vec], less: Vec | None = None) -> Vec:
    """The logarithm of normal numbers; `less` is taken off the exponent."""
    k, fraction = split(x)
    exponent = to_float_exponent(k, element(x.t))
    if less is not None:
        exponent = exponent - less
    return combine(exponent, fraction - 1)


def _special(x: Vec, result: Vec) -> Vec:
    """Zero, infinity, negative numbers, NaN."""
    result = x.equals(0).choose(float("-inf"), result)
    result = x.equals(float("inf")).choose(x, result)
    return (x >= 0).choose(result, float("nan"))


def _careful(x: Vec, combine: Callable[[Vec, Vec], Vec]) -> Vec:
    kind = element(x.t)
    smallest = 2.0 ** (1 - BIAS[kind])
    tiny = x < smallest
    lifted = tiny.choose(x * 2.0 ** FRACTION[kind], x)
    less = tiny.choose(x.constant(float(FRACTION[kind])), 0.0)
    return _special(x, _of_normal(lifted, combine, less))


def is_unusual(x: Vec) -> Vec:
    """True for all but positive normal numbers."""
    kind = element(x.t)
    first = 1 << FRACTION[kind]
    count = ((1 << (BITS[kind] - 1 - FRACTION[kind])) - 2) << FRACTION[kind]
    return (x.bits() - first).compare("uge", count)


def _register(name: str, combine: Callable[[Vec, Vec], Vec]) -> None:
    @function(f"{name}.careful", types=("float", "double"), attributes="noinline cold")
    def careful(x: Vec) -> Vec:
        return _careful(x, combine)

    @function(name, f"half_{name}", types=("float", "double"), branches=True)
    def usual(x: Vec) -> Vec:
        return rarely(is_unusual(x), _of_normal(x, combine), lambda: call(f"{name}.careful", x))

    @function(f"native_{name}", types=("float",), attributes="alwaysinline")
    def native(x: Vec) -> Vec:
        """Subnormal numbers and infinity have the logarithms of those next to them."""
        result = x.equals(0).choose(float("-inf"), _of_normal(x, combine))
        return (x >= 0).choose(result, float("nan"))


for _name, _combine in (("log", _ln), ("log2", _log2), ("log10", _log10)):
    _register(_name, _combine)


@function("log1p", types=("float",))
def _log1p(x: Vec) -> Vec:
    """log(u) where u is 1 + x rounded; what was rounded off goes into the fraction.

    Near zero the fraction is x itself. A large x loses nothing that counts.
    """
    u = 1 + x
    lost = (x > 1).choose(1 - (u - x), x - (u - 1))
    k, fraction = split(u)
    unit = ((BIAS["float"] - k.call("smin", 100)) << FRACTION["float"]).as_float()
    f = (fraction - 1) + lost * unit
    f = k.equals(0).choose(x, f)
    result = _ln(to_float_exponent(k, "float"), f)
    result = x.equals(-1).choose(float("-inf"), result)
    result = x.equals(float("inf")).choose(x, result)
    return (x >= -1).choose(x.equals(0).choose(x, result), float("nan"))
