"""Reciprocals and square roots, which some CPUs can estimate much faster than divide.

An estimate is made exact enough by one step of an iteration of third order: with e = 1 - x y^2,
y (1 + e (1/2 + 3/8 e)) is 1 / sqrt(x) to within e^3.
"""

from __future__ import annotations

from groundstate.compiler.math.functions import function, rarely
from groundstate.compiler.math.vec import Vec, element, lanes


def _estimate(x: Vec, name: str) -> Vec | None:
    """The CPU's estimate of 1 / x or 1 / sqrt(x), to 11 bits at least; None if it has none.

    One lane is estimated in a vector of four: the result is the same for any number of lanes.
    """
    widest = x.text.target.estimate_lanes
    if element(x.t) != "float" or not widest or lanes(x.t) not in (0, 4, 8, 16, 32):
        return None
    text = x.text
    if lanes(x.t) == 0:
        four = text.emit(f"insertelement <4 x float> zeroinitializer, float {x.name}, i64 0")
        wide = _estimate(Vec(text, "<4 x float>", four), name)
        assert wide is not None
        return Vec(text, x.t, text.emit(f"extractelement {wide.t} {wide.name}, i64 0"))
    if lanes(x.t) > widest:
        return _in_halves(x, name)
    if widest == 16:
        bits = 32 * lanes(x.t)
        mask = f"i{max(8, lanes(x.t))}"
        function = f"llvm.x86.avx512.{name}14.ps.{bits}"
        text.declarations.setdefault(function, f"declare {x.t} @{function}({x.t}, {x.t}, {mask})")
        operands = f"{x.t} {x.name}, {x.t} zeroinitializer, {mask} -1"
        return Vec(text, x.t, text.emit(f"call {x.t} @{function}({operands})"))
    function = f"llvm.x86.sse.{name}.ps" if lanes(x.t) == 4 else f"llvm.x86.avx.{name}.ps.256"
    return Vec(text, x.t, text.call(x.t, function, [(x.t, x.name)]))


def _thread_rsqrt(x: Vec) -> Vec | None:
    """1 / sqrt(x) by a GPU's instruction: within 2 ulp, for denormals too; None elsewhere."""
    if not x.text.target.compute_capability or x.t != "float":
        return None
    return Vec(x.text, x.t, x.text.call(x.t, "llvm.nvvm.rsqrt.approx.f", [(x.t, x.name)]))


def _in_halves(x: Vec, name: str) -> Vec:
    """The estimate of the lower and the upper half of the lanes, put together."""
    count, text = lanes(x.t), x.text
    half = f"<{count // 2} x float>"
    parts = []
    for part in text.split("float", x.name, count, count // 2):
        found = _estimate(Vec(text, half, part), name)
        assert found is not None
        parts.append(found.name)
    return Vec(text, x.t, text.concatenate("float", parts, count // 2))


@function("rsqrt", "half_rsqrt", branches=True, types=("float", "double"))
def _rsqrt(x: Vec) -> Vec:
    by_thread = _thread_rsqrt(x)
    if by_thread is not None:
        return by_thread
    guess = _estimate(x, "rsqrt")
    if guess is None:
        return 1 / x.sqrt()
    error = (x * guess).fma(-guess, 1.0)
    better = (guess * error).fma(error.fma(0.375, 0.5), guess)
    # Zero, infinities, negative numbers and denormals that are taken for zero: NaN, or far below.
    return rarely(error.compare("ult", -0.5), better, lambda: 1 / x.sqrt())


@function("native_rsqrt", types=("float", "double"), attributes="alwaysinline")
def _native_rsqrt(x: Vec) -> Vec:
    """One step of Newton's; the estimate is right as it is for zero and infinity."""
    by_thread = _thread_rsqrt(x)
    if by_thread is not None:
        return by_thread
    guess = _estimate(x, "rsqrt")
    if guess is None:
        return 1 / x.sqrt()
    error = (x * guess).fma(-guess, 1.0)
    better = (guess * 0.5).fma(error, guess)
    return error.is_nan().choose(guess, better)


@function("native_recip", types=("float", "double"), attributes="alwaysinline")
def _native_recip(x: Vec) -> Vec:
    guess = _estimate(x, "rcp")
    if guess is None:
        return 1 / x
    error = guess.fma(-x, 1.0)
    return error.is_nan().choose(guess, guess.fma(error, guess))


@function("native_divide", types=("float", "double"), attributes="alwaysinline")
def _native_divide(x: Vec, y: Vec) -> Vec:
    return x / y


@function("half_divide", types=("half", "float", "double"), attributes="alwaysinline")
def _half_divide(x: Vec, y: Vec) -> Vec:
    return x / y


@function("half_recip", types=("half", "float", "double"), attributes="alwaysinline")
def _half_recip(x: Vec) -> Vec:
    return 1 / x


@function("native_sqrt", "half_sqrt", types=("half", "float", "double"), attributes="alwaysinline")
def _native_sqrt(x: Vec) -> Vec:
    return x.sqrt()
