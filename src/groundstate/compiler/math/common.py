"""The common functions of OpenCL C: mix, step, sign and so on."""

from __future__ import annotations

from groundstate.compiler.math.functions import function
from groundstate.compiler.math.vec import Vec


@function("fclamp", in_place=True)
def _fclamp(x: Vec, low: Vec, high: Vec) -> Vec:
    return x.call("maxnum", low).call("minnum", high)


@function("fma", types=("float", "double", "half"), in_place=True)
def _fma(x: Vec, y: Vec, z: Vec) -> Vec:
    if not x.t.rstrip(">").endswith("half") or x.text.target.has_half_arithmetic:
        return x.fma(y, z)
    return _fma_of_halves(*(each.to_float("float") for each in (x, y, z)))


def _fma_of_halves(x: Vec, y: Vec, z: Vec) -> Vec:
    """In floats, where the product of two halves is exact, and so is what their sum with a third
    loses. A sum that is rounded to odd by that can be rounded again, to half, as if it had never
    been rounded before."""
    product = x * y
    total = product + z
    added = total - product
    lost = (product - (total - added)) + (z - added)
    bits = total.bits()
    towards_exact = bits + ((lost.bits() ^ bits).ashr(31) | 1)
    is_even = (bits & 1).equals(0)
    moves = lost.compare("one", 0.0) & is_even
    return moves.choose(towards_exact, bits).as_float().to_float("half")


@function("mad", types=("float", "double", "half"), in_place=True)
def _mad(x: Vec, y: Vec, z: Vec) -> Vec:
    """As fast as it can be: halves are rounded once, because rounding takes longer than both
    operations where floats stand in for them."""
    if not x.t.rstrip(">").endswith("half") or x.text.target.has_half_arithmetic:
        return x.call("fmuladd", y, z)
    first, second, third = (each.to_float("float") for each in (x, y, z))
    return first.call("fmuladd", second, third).to_float("half")


@function("mix", in_place=True)
def _mix(x: Vec, y: Vec, a: Vec) -> Vec:
    return x + (y - x) * a


@function("step", in_place=True)
def _step(edge: Vec, x: Vec) -> Vec:
    return (x < edge).choose(x.constant(0.0), 1.0)


@function("smoothstep", in_place=True)
def _smoothstep(low: Vec, high: Vec, x: Vec) -> Vec:
    ratio = (x - low) / (high - low)
    t = ratio.call("maxnum", 0.0).call("minnum", 1.0)
    return t * t * (3 - 2 * t)


@function("sign", in_place=True)
def _sign(x: Vec) -> Vec:
    one = x.constant(1.0).copysign(x)
    return x.is_nan().choose(0.0, x.equals(0).choose(x, one))


@function("degrees", in_place=True)
def _degrees(x: Vec) -> Vec:
    return x * 57.29577951308232


@function("radians", in_place=True)
def _radians(x: Vec) -> Vec:
    return x * 0.017453292519943295


@function("bitselect", in_place=True)
def _bitselect(x: Vec, y: Vec, mask: Vec) -> Vec:
    if x.t.rstrip(">").endswith(("half", "float", "double")):
        return _choose_bits(x.bits(), y.bits(), mask.bits()).as_float()
    return _choose_bits(x, y, mask)


def _choose_bits(x: Vec, y: Vec, mask: Vec) -> Vec:
    return x ^ ((x ^ y) & mask)
