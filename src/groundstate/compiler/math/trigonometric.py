"""sin, cos, tan and their relatives that take their argument in half turns.

The argument is reduced by a multiple of pi (of pi/2 for tan and sincos, which need both), given as
the sum of three numbers of the type: the first subtraction is exact, because it is fused and its
result is small, and the others lose less than a bit. A polynomial does the rest. Arguments too
large for that go from float to double, and from double to the C library.
"""

from __future__ import annotations

from groundstate.compiler.math import coefficients
from groundstate.compiler.math.functions import (
    call,
    careful_library,
    function,
    rarely,
)
from groundstate.compiler.math.vec import BITS, Vec, element

PI = {
    "float": (3.1415927410125732, -8.742277657347586e-08, -3.4302490200117637e-15),
    "double": (3.141592653589793, 1.2246467991473532e-16, -2.9947698097183397e-33),
}
"""pi as a sum: the numbers of the type nearest to pi and to what is left."""

INVERSE_PI = 0.3183098861837907
LIMIT = {"float": 65536.0, "double": 1073741824.0}
"""Arguments below this are reduced here."""
ROUNDER = {"float": 12582912.0, "double": 6755399441055744.0}
"""1.5 * 2^p: added to a number it rounds it to a whole one, which then stands in the low bits."""


def _reduce(x: Vec, turns: Vec, scale: float) -> Vec:
    """x - turns * pi * scale; the scale is a power of two."""
    for part in PI[element(x.t)]:
        x = turns.fma(-part * scale, x)
    return x


def _sine(r: Vec) -> Vec:
    """sin for |r| <= pi/2 and a little more."""
    z = r * r
    return (z * r).fma(z.polynomial(coefficients.SIN[element(r.t)]), r)


def _top_bit(n: Vec) -> Vec:
    """The lowest bit of integers, moved to where the sign is."""
    return n << (int(element(n.t)[1:]) - 1)


def _large(name: str, x: Vec, usual: Vec, size: Vec) -> Vec:
    """What to do about arguments that are too large, infinite or no numbers."""
    kind = element(x.t)
    large = size.compare("uge", LIMIT[kind])
    if kind == "double":
        return rarely(large, usual, careful_library(name, [x], large))
    return rarely(large, usual, lambda: call(f"{name}.large", x))


@function("sin.large", types=("float",), attributes="noinline cold")
def _sin_large(x: Vec) -> Vec:
    return call("sin", x.to_float("double")).to_float("float")


@function("cos.large", types=("float",), attributes="noinline cold")
def _cos_large(x: Vec) -> Vec:
    return call("cos", x.to_float("double")).to_float("float")


@function("tan.large", types=("float",), attributes="noinline cold")
def _tan_large(x: Vec) -> Vec:
    return call("tan", x.to_float("double")).to_float("float")


@function("sin", "half_sin", types=("float", "double"), branches=True)
def _sin(x: Vec) -> Vec:
    return _large("sin", x, _sin_small(x), x.abs())


def _sin_small(x: Vec) -> Vec:
    size = x.abs()
    shifted = size.fma(INVERSE_PI, ROUNDER[element(x.t)])
    turns = shifted - ROUNDER[element(x.t)]
    sign = _top_bit(shifted.bits()) ^ x.sign_bits()
    return _sine(_reduce(size, turns, 1.0)).flip_sign(sign)


@function("cos", "half_cos", types=("float", "double"), branches=True)
def _cos(x: Vec) -> Vec:
    return _large("cos", x, _cos_small(x), x.abs())


def _cos_small(x: Vec) -> Vec:
    """cos(x) is sin(x + pi/2): turns and a half."""
    size = x.abs()
    rounder = ROUNDER[element(x.t)]
    shifted = (size.fma(INVERSE_PI, 0.5)) + rounder
    turns = (shifted - rounder) - 0.5
    sign = _top_bit(shifted.bits())
    return _sine(_reduce(size, turns, 1.0)).flip_sign(sign)


def _both(x: Vec) -> tuple[Vec, Vec, Vec, Vec]:
    """|x| reduced by quarter turns: sin and cos of the rest, the quarters as bits, and |x|."""
    kind = element(x.t)
    size = x.abs()
    shifted = size.fma(2 * INVERSE_PI, ROUNDER[kind])
    quarters = shifted - ROUNDER[kind]
    r = _reduce(size, quarters, 0.5)
    z = r * r
    sine = (z * r).fma(z.polynomial(coefficients.SIN_OCTANT[kind]), r)
    cosine = (z * z).fma(z.polynomial(coefficients.COS_OCTANT[kind]), z.fma(-0.5, 1.0))
    return sine, cosine, shifted.bits(), size


@function("sincos", types=("float", "double"), branches=True)
def _sincos(x: Vec) -> tuple[Vec, Vec]:
    sine, cosine, quarters, size = _both(x)
    odd = (quarters & 1).differs(0)
    half = _top_bit(quarters >> 1)
    first = odd.choose(cosine, sine).flip_sign(half ^ x.sign_bits())
    second = odd.choose(sine, cosine).flip_sign(half ^ _top_bit(quarters))
    return _large("sin", x, first, size), _large("cos", x, second, size)


@function("tan", "half_tan", types=("float", "double"), branches=True)
def _tan(x: Vec) -> Vec:
    sine, cosine, quarters, size = _both(x)
    odd = (quarters & 1).differs(0)
    above, below = odd.choose(cosine, sine), odd.choose(sine, cosine)
    ratio = (above / below).flip_sign(_top_bit(quarters) ^ x.sign_bits())
    return _large("tan", x, ratio, size)


# --- The native ones: no large arguments ---------------------------------------------------------


@function("native_sin", types=("float",), attributes="alwaysinline")
def _native_sin(x: Vec) -> Vec:
    return _sin_small(x)


@function("native_cos", types=("float",), attributes="alwaysinline")
def _native_cos(x: Vec) -> Vec:
    return _cos_small(x)


@function("native_tan", types=("float",), attributes="alwaysinline")
def _native_tan(x: Vec) -> Vec:
    sine, cosine, quarters, _ = _both(x)
    odd = (quarters & 1).differs(0)
    ratio = odd.choose(cosine, sine) / odd.choose(sine, cosine)
    return ratio.flip_sign(_top_bit(quarters) ^ x.sign_bits())


# --- Half turns ----------------------------------------------------------------------------------


def _sine_of_half_turns(r: Vec) -> Vec:
    """sin(pi r) for |r| <= 1/2."""
    return r * (r * r).polynomial(coefficients.SINPI[element(r.t)])


def _fold(x: Vec) -> Vec:
    """|x| less the nearest even number: between -1 and 1, exactly."""
    size = x.abs()
    return size - (size * 0.5).rint() * 2


@function("sinpi", types=("float", "double"))
def _sinpi(x: Vec) -> Vec:
    """Zero has the sign of the argument, which is that of no other half turn."""
    rest = _fold(x)
    far = rest.abs()
    near = (far > 0.5).choose(1 - far, far)
    sine = _sine_of_half_turns(near)
    sign = sine.equals(0).choose(0, rest.sign_bits())
    return sine.flip_sign(sign ^ x.sign_bits())


@function("cospi", types=("float", "double"))
def _cospi(x: Vec) -> Vec:
    rest = 0.5 - _fold(x).abs()
    return _sine_of_half_turns(rest)


@function("tanpi", types=("float", "double"))
def _tanpi(x: Vec) -> Vec:
    """Poles and zeros have the signs that IEEE 754 gives them, as sinpi / cospi would."""
    fold = _fold(x)
    far = fold.abs()
    near = (far > 0.5).choose(1 - far, far)
    sine, cosine = _sine_of_half_turns(near), _sine_of_half_turns(0.5 - near)
    # Beyond a quarter of a full turn the cosine is negative; beyond a half one, so is the sine.
    negative = (far > 0.5).choose(sine.bits().constant(_sign_bit(x)), 0)
    turned = sine.equals(0).choose(0, fold.sign_bits())
    return (sine / cosine).flip_sign(negative ^ turned ^ x.sign_bits())


def _sign_bit(x: Vec) -> int:
    return 1 << (BITS[element(x.t)] - 1)
