"""Functions that take numbers apart, and those whose results are exact: no rounding, no limits."""

from __future__ import annotations

from groundstate.compiler.math.functions import call, call_all, function, library, rarely
from groundstate.compiler.math.vec import BIAS, FRACTION, Vec, element

INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1
ILOGB_ZERO, ILOGB_NAN = INT_MIN, INT_MAX
"""FP_ILOGB0 and FP_ILOGBNAN of OpenCL C."""
BOTH = ("float", "double")


def _normalised(x: Vec) -> tuple[Vec, Vec]:
    """Subnormal numbers made normal, and the exponent that the first power of two has, as i32."""
    kind = element(x.t)
    tiny = x.abs() < 2.0 ** (1 - BIAS[kind])
    lifted = tiny.choose(x * 2.0 ** FRACTION[kind], x)
    exponent = (lifted.abs().bits() >> FRACTION[kind]).to_int(32) - BIAS[kind]
    return lifted, tiny.choose(exponent - FRACTION[kind], exponent)


@function("ilogb", types=BOTH)
def _ilogb(x: Vec) -> Vec:
    _, exponent = _normalised(x)
    exponent = x.equals(0).choose(ILOGB_ZERO, exponent)
    finite = x.abs() < float("inf")
    return finite.choose(exponent, ILOGB_NAN)


@function("logb", types=BOTH)
def _logb(x: Vec) -> Vec:
    _, exponent = _normalised(x)
    result = exponent.int_to_float(element(x.t))
    result = x.equals(0).choose(float("-inf"), result)
    return (x.abs() < float("inf")).choose(result, x.abs())


@function("frexp", types=BOTH)
def _frexp(x: Vec) -> tuple[Vec, Vec]:
    """A fraction from 1/2 to below 1, and the power of two that it is to be multiplied with."""
    kind = element(x.t)
    lifted, exponent = _normalised(x)
    bits = lifted.bits()
    kept = bits & ~(((1 << (bits_of(kind) - 1 - FRACTION[kind])) - 1) << FRACTION[kind])
    fraction = (kept | ((BIAS[kind] - 1) << FRACTION[kind])).as_float()
    usual = (x.abs() > 0) & (x.abs() < float("inf"))
    return usual.choose(fraction, x), usual.choose(exponent + 1, 0)


def bits_of(kind: str) -> int:
    """How many bits a floating-point type has."""
    return {"half": 16, "float": 32, "double": 64}[kind]


@function("ldexp", types=BOTH)
def _ldexp(x: Vec, n: Vec) -> Vec:
    """The fraction times two powers of two: the first product is exact, the second rounds once."""
    kind = element(x.t)
    fraction, exponent = call_all("frexp", x)
    bounded = n.call("smax", -10000).call("smin", 10000)
    total = (exponent + bounded).call("smax", -1200).call("smin", 1200)
    if kind == "float":
        total = total.call("smax", -160).call("smin", 140)
    half = total.ashr(1)
    for step in (half, total - half):
        power = ((step + BIAS[kind]).to_int(bits_of(kind)) << FRACTION[kind]).as_float()
        fraction = fraction * power
    return fraction


@function("nextafter")
def _nextafter(x: Vec, y: Vec) -> Vec:
    bits = x.bits()
    grows = (x < y) ^ (x < 0)
    moved = grows.choose(bits + 1, bits - 1)
    smallest = y.sign_bits() | 1
    result = x.equals(0).choose(smallest, moved).as_float()
    result = x.equals(y).choose(y, result)
    return (x.is_nan() | y.is_nan()).choose(x + y, result)


@function("fract")
def _fract(x: Vec) -> tuple[Vec, Vec]:
    """x - floor(x), below 1; and floor(x)."""
    whole = x.floor()
    largest = 1 - 2.0 ** -(FRACTION[element(x.t)] + 1)
    rest = x - whole
    rest = (rest > largest).choose(largest, rest)
    nothing = rest.equals(0) | x.is_infinite()
    return nothing.choose(x.constant(0.0).copysign(x), rest), whole


@function("modf", types=BOTH)
def _modf(x: Vec) -> tuple[Vec, Vec]:
    """The part behind the point and the part before it, both with the sign of x."""
    whole = x.trunc()
    rest = x.is_infinite().choose(0.0, x - whole)
    return rest.copysign(x), whole


@function("fdim", types=BOTH)
def _fdim(x: Vec, y: Vec) -> Vec:
    return (x <= y).choose(0.0, x - y)


@function("maxmag")
def _maxmag(x: Vec, y: Vec) -> Vec:
    first, second = x.abs(), y.abs()
    other = (second > first).choose(y, x.call("maxnum", y))
    return (first > second).choose(x, other)


@function("minmag")
def _minmag(x: Vec, y: Vec) -> Vec:
    first, second = x.abs(), y.abs()
    other = (second < first).choose(y, x.call("minnum", y))
    return (first < second).choose(x, other)


# --- Remainders ----------------------------------------------------------------------------------


@function("fmod", types=BOTH, branches=True)
def _fmod(x: Vec, y: Vec) -> Vec:
    """Of floats with a quotient below 2^28: exact in double precision but for an error of one."""
    if element(x.t) == "double":
        return library("fmod", x, y)
    above, below = x.abs().to_float("double"), y.abs().to_float("double")
    quotient = (above / below).trunc()
    rest = quotient.fma(-below, above)
    rest = (rest < 0).choose(rest + below, rest)
    rest = (rest >= below).choose(rest - below, rest)
    usual = (above < below * 2.0**28) & (below < float("inf"))
    hard = ~usual
    result = rest.to_float("float").copysign(x)
    return rarely(hard, result, lambda: library("fmod", x, y, only=hard))


@function("remquo", types=BOTH)
def _remquo(x: Vec, y: Vec) -> tuple[Vec, Vec]:
    """The remainder, and the low seven bits of the quotient with its sign.

    What is left of |x| after multiples of 128 |y| has a quotient small enough to be divided out.
    """
    above, below = x.to_float("double").abs(), y.to_float("double").abs()
    rest = library("remainder", above, below)
    small = library("fmod", above, below * 128)
    quotient = ((small - rest) / below).rint().to_int(32) & 127
    negative = (x.sign_bits() ^ y.sign_bits()).differs(0)
    quotient = negative.choose(-quotient, quotient)
    fits = rest.compare("ord", rest) & y.abs().compare("one", float("inf"))
    signed = rest.to_float(element(x.t)).flip_sign(x.sign_bits())
    return signed, fits.choose(quotient, 0)


@function("lgamma_r", types=BOTH)
def _lgamma_r(x: Vec) -> tuple[Vec, Vec]:
    """The sign of gamma is -1 between -1 and 0, -3 and -2, ...; there is none at the poles."""
    whole = x.floor()
    half = whole * 0.5
    odd = half.floor().differs(half)
    pole = whole.equals(x)
    negative = (x < 0) & odd
    sign = x.bits().to_int(32)
    sign = negative.choose(sign.constant(-1), 1)
    below_zero = (x.bits() < 0) & x.equals(0)
    sign = below_zero.choose(-1, sign)
    gone = pole & (x < 0)
    return call("lgamma", x), gone.choose(0, sign)


@function("lgamma", types=BOTH)
def _lgamma(x: Vec) -> Vec:
    return library("lgamma", x)
