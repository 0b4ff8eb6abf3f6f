"""What the functions of OpenCL C should say, through mpmath, and how far off they may be."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import mpmath
from mpmath import mp, mpf

mp.prec = 140
INF, NAN = float("inf"), float("nan")
Number = Any


@dataclass(frozen=True)
class Function:
    """One function: the exact result, the permitted errors, and what happens at the edges."""

    exact: Callable[..., Number]
    """Raises ValueError or gives a complex number where the result is no number."""
    half: float
    single: float
    double: float
    edges: list[tuple[float, float]] = field(default_factory=list)
    """Arguments that are zero or infinite, and the results."""

    def limit(self, kind: str) -> float:
        return {"half": self.half, "float": self.single, "double": self.double}[kind]


def _unary(
    exact: Callable[[Number], Number],
    half: float,
    single: float,
    at_infinity: float,
    at_minus_infinity: float,
    odd: bool = False,
    **edges: float,
) -> Function:
    table = [(INF, at_infinity), (-INF, at_minus_infinity)]
    if odd:
        table += [(0.0, 0.0), (-0.0, -0.0)]
    if "zero" in edges:
        table += [(0.0, edges["zero"]), (-0.0, edges["zero"])]
    return Function(exact, half, single, single, table)


def _domain(low: float, high: float, function: Callable[[Number], Number]) -> Any:
    def checked(x: Number) -> Number:
        if not low <= x <= high:
            raise ValueError
        return function(x)

    return checked


def _tanpi(x: Number) -> Number:
    return mpmath.sinpi(x) / mpmath.cospi(x)


def _cbrt(x: Number) -> Number:
    return mpmath.cbrt(x) if x >= 0 else -mpmath.cbrt(-x)


def _gamma(x: Number) -> Number:
    if x < 0 and x == mpmath.floor(x):
        raise ValueError
    if abs(x) > 2000:
        return mpf(10) ** 1000 if x > 0 else mpf(10) ** -1000
    return mpmath.gamma(x)


def _log10(x: Number) -> Number:
    return mpmath.log(x) / mpmath.log(10)


def _log2(x: Number) -> Number:
    return mpmath.log(x) / mpmath.log(2)


def _over_pi(function: Callable[..., Number]) -> Callable[..., Number]:
    return lambda *x: function(*x) / mpmath.pi


def _erfc(x: Number) -> Number:
    return mpmath.erfc(x) if x < 1000 else mpf(10) ** -1000


def _clipped(function: Callable[[Number], Number]) -> Callable[[Number], Number]:
    """Beyond any format's range, the largest or smallest number will do."""
    return lambda x: function(mpf(5000) if x > 5000 else mpf(-5000) if x < -5000 else x)


_ACOS, _ASIN = _domain(-1, 1, mpmath.acos), _domain(-1, 1, mpmath.asin)
_POSITIVE = _domain(0, INF, mpmath.sqrt)

UNARY: dict[str, Function] = {
    "acos": _unary(_ACOS, 2, 4, NAN, NAN),
    "acosh": _unary(_domain(1, INF, mpmath.acosh), 2, 4, INF, NAN),
    "acospi": _unary(_over_pi(_ACOS), 2, 5, NAN, NAN),
    "asin": _unary(_ASIN, 2, 4, NAN, NAN, odd=True),
    "asinh": _unary(mpmath.asinh, 2, 4, INF, -INF, odd=True),
    "asinpi": _unary(_over_pi(_ASIN), 2, 5, NAN, NAN, odd=True),
    "atan": _unary(mpmath.atan, 2, 5, math.pi / 2, -math.pi / 2, odd=True),
    "atanh": _unary(_domain(-1, 1, mpmath.atanh), 2, 5, NAN, NAN, odd=True),
    "atanpi": _unary(_over_pi(mpmath.atan), 2, 5, 0.5, -0.5, odd=True),
    "cbrt": _unary(_cbrt, 2, 2, INF, -INF, odd=True),
    "ceil": _unary(mpmath.ceil, 0, 0, INF, -INF, odd=True),
    "cos": _unary(mpmath.cos, 2, 4, NAN, NAN, zero=1.0),
    "cosh": _unary(_clipped(mpmath.cosh), 2, 4, INF, INF, zero=1.0),
    "cospi": _unary(mpmath.cospi, 2, 4, NAN, NAN, zero=1.0),
    "erf": _unary(_clipped(mpmath.erf), 4, 16, 1.0, -1.0, odd=True),
    "erfc": _unary(_erfc, 4, 16, 0.0, 2.0, zero=1.0),
    "exp": _unary(_clipped(mpmath.exp), 2, 3, INF, 0.0, zero=1.0),
    "exp10": _unary(_clipped(lambda x: mpf(10) ** x), 2, 3, INF, 0.0, zero=1.0),
    "exp2": _unary(_clipped(lambda x: mpf(2) ** x), 2, 3, INF, 0.0, zero=1.0),
    "expm1": _unary(_clipped(mpmath.expm1), 2, 3, INF, -1.0, odd=True),
    "fabs": _unary(abs, 0, 0, INF, INF, zero=0.0),
    "floor": _unary(mpmath.floor, 0, 0, INF, -INF, odd=True),
    "log": _unary(_domain(0, INF, mpmath.log), 2, 3, INF, NAN, zero=-INF),
    "log10": _unary(_domain(0, INF, _log10), 2, 3, INF, NAN, zero=-INF),
    "log1p": _unary(_domain(-1, INF, mpmath.log1p), 2, 2, INF, NAN, odd=True),
    "log2": _unary(_domain(0, INF, _log2), 2, 3, INF, NAN, zero=-INF),
    "logb": _unary(lambda x: mpf(mpmath.frexp(x)[1] - 1), 0, 0, INF, INF, zero=-INF),
    "rint": _unary(mpmath.nint, 0, 0, INF, -INF, odd=True),
    "round": _unary(
        lambda x: mpmath.sign(x) * mpmath.floor(abs(x) + 0.5), 0, 0, INF, -INF, odd=True
    ),
    "rsqrt": _unary(_domain(0, INF, lambda x: 1 / mpmath.sqrt(x)), 1, 2, 0.0, NAN),
    "sin": _unary(mpmath.sin, 2, 4, NAN, NAN, odd=True),
    "sinh": _unary(_clipped(mpmath.sinh), 2, 4, INF, -INF, odd=True),
    "sinpi": _unary(mpmath.sinpi, 2, 4, NAN, NAN, odd=True),
    "sqrt": _unary(_POSITIVE, 0.5, 0.5, INF, NAN, odd=True),
    "tan": _unary(mpmath.tan, 2, 5, NAN, NAN, odd=True),
    "tanh": _unary(mpmath.tanh, 2, 5, 1.0, -1.0, odd=True),
    "tanpi": _unary(_tanpi, 2, 6, NAN, NAN, odd=True),
    "tgamma": _unary(_gamma, 4, 16, INF, NAN),
    "trunc": _unary(
        lambda x: mpmath.floor(x) if x > 0 else mpmath.ceil(x), 0, 0, INF, -INF, odd=True
    ),
}

UNARY["rsqrt"].edges.extend([(0.0, INF), (-0.0, -INF)])


# --- Functions of two numbers --------------------------------------------------------------------


def _pow(x: Number, y: Number) -> Number:
    if x == 0 or y == 0:
        raise ValueError
    if x < 0 and y != mpmath.floor(y):
        raise ValueError
    sign = -1 if x < 0 and y % 2 == 1 else 1
    exponent = y * mpmath.log(abs(x))
    return sign * mpmath.exp(max(min(exponent, mpf(5000)), mpf(-5000)))


def _powr(x: Number, y: Number) -> Number:
    if x < 0:
        raise ValueError
    return _pow(x, y)


def _atan2(y: Number, x: Number) -> Number:
    if x == 0 or y == 0:
        raise ValueError
    return mpmath.atan2(y, x)


def _copysign(x: Number, y: Number) -> Number:
    if y == 0:
        raise ValueError
    return abs(x) if y > 0 else -abs(x)


def _fmod(x: Number, y: Number) -> Number:
    if y == 0:
        raise ValueError
    return _exact_remainder(x, y, False)


def _remainder(x: Number, y: Number) -> Number:
    if y == 0:
        raise ValueError
    return _exact_remainder(x, y, True)


def _exact_remainder(x: Number, y: Number, nearest: bool) -> Number:
    """With whole numbers: both as multiples of one small power of two."""
    (a, p), (b, q) = _signed(x), _signed(y)
    unit = min(p, q)
    a, b = a << (p - unit), abs(b) << (q - unit)
    rest = abs(a) % b
    if nearest and (2 * rest > b or (2 * rest == b and (abs(a) // b) % 2)):
        rest -= b
    return mpmath.ldexp(mpf(rest if a >= 0 else -rest), unit)


def _signed(x: Number) -> tuple[int, int]:
    mantissa, power = mpf(x).man_exp
    return (-int(mantissa) if x < 0 and mantissa > 0 else int(mantissa)), int(power)


BINARY: dict[str, Function] = {
    "atan2": Function(_atan2, 2, 6, 6),
    "atan2pi": Function(_over_pi(_atan2), 2, 6, 6),
    "copysign": Function(_copysign, 0, 0, 0),
    "fdim": Function(lambda x, y: x - y if x > y else mpf(0), 0.5, 0.5, 0.5),
    "fmax": Function(max, 0, 0, 0),
    "fmin": Function(min, 0, 0, 0),
    "fmod": Function(_fmod, 0, 0, 0),
    "hypot": Function(mpmath.hypot, 2, 4, 4),
    "maxmag": Function(lambda x, y: max(x, y, key=lambda v: (abs(v), v)), 0, 0, 0),
    "minmag": Function(lambda x, y: min(x, y, key=lambda v: (abs(v), v)), 0, 0, 0),
    "pow": Function(_pow, 4, 16, 16),
    "powr": Function(_powr, 4, 16, 16),
    "remainder": Function(_remainder, 0, 0, 0),
    "step": Function(lambda edge, x: mpf(0) if x < edge else mpf(1), 0, 0, 0),
}

PI = math.pi
BINARY_EDGES: dict[str, list[tuple[float, float, float]]] = {
    "atan2": [
        (0.0, 0.0, 0.0),
        (-0.0, 0.0, -0.0),
        (0.0, -0.0, PI),
        (-0.0, -0.0, -PI),
        (INF, INF, PI / 4),
        (-INF, -INF, -3 * PI / 4),
        (1.0, INF, 0.0),
        (1.0, -INF, PI),
        (INF, 1.0, PI / 2),
        (NAN, 1.0, NAN),
    ],
    "atan2pi": [(0.0, -0.0, 1.0), (INF, -INF, 0.75), (-1.0, 0.0, -0.5), (1.0, -INF, 1.0)],
    "fdim": [(INF, INF, 0.0), (NAN, 1.0, NAN), (1.0, 2.0, 0.0)],
    "fmax": [(NAN, 1.0, 1.0), (1.0, NAN, 1.0), (NAN, NAN, NAN)],
    "fmin": [(NAN, 1.0, 1.0), (1.0, NAN, 1.0), (NAN, NAN, NAN)],
    "fmod": [(1.0, INF, 1.0), (INF, 1.0, NAN), (1.0, 0.0, NAN), (-0.0, 1.0, -0.0)],
    "hypot": [(INF, NAN, INF), (NAN, -INF, INF), (-3.0, 4.0, 5.0), (NAN, 1.0, NAN)],
    "maxmag": [(-2.0, 1.0, -2.0), (2.0, -2.0, 2.0), (NAN, 1.0, 1.0)],
    "minmag": [(-2.0, 1.0, 1.0), (2.0, -2.0, -2.0), (NAN, 1.0, 1.0)],
    "pow": [
        (0.0, 0.0, 1.0),
        (NAN, 0.0, 1.0),
        (1.0, NAN, 1.0),
        (-1.0, INF, 1.0),
        (-0.0, 3.0, -0.0),
        (-0.0, 2.0, 0.0),
        (-0.0, -3.0, -INF),
        (0.0, -2.0, INF),
        (0.5, INF, 0.0),
        (2.0, INF, INF),
        (2.0, -INF, 0.0),
        (-INF, 3.0, -INF),
        (-INF, -3.0, -0.0),
        (-8.0, 0.5, NAN),
        (-2.0, 3.0, -8.0),
        (INF, -1.0, 0.0),
    ],
    "powr": [
        (0.0, 0.0, NAN),
        (INF, 0.0, NAN),
        (1.0, INF, NAN),
        (1.0, -INF, NAN),
        (-2.0, 2.0, NAN),
        (-0.0, 3.0, 0.0),
        (-0.0, -3.0, INF),
        (0.0, -INF, INF),
        (INF, 2.0, INF),
        (2.0, NAN, NAN),
        (1.0, NAN, NAN),
        (3.0, 0.0, 1.0),
    ],
    "remainder": [(1.0, INF, 1.0), (INF, 1.0, NAN), (1.0, 0.0, NAN), (-0.0, 1.0, -0.0)],
    "step": [(1.0, 1.0, 1.0)],
    "copysign": [(1.0, -0.0, -1.0), (INF, -1.0, -INF)],
}
"""Results for arguments that are zero, infinite or no numbers."""
