"""Fits the polynomials of the mathematical functions and prints compiler/math/coefficients.py.

Each is the polynomial whose greatest weighted error on an interval is least (Remez's exchange). The
coefficients are then rounded to the type one after another, lowest first, and those that remain are
fitted again, so that the rounding of one is made good by the next.

    python tools/fit_polynomials.py > src/groundstate/compiler/math/coefficients.py
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

import mpmath
from mpmath import mp, mpf

mp.prec = 200
POINTS = 400

Function = Callable[[mpf], mpf]


@dataclass
class Fit:
    """One polynomial: what it approximates, where, how errors count, how many terms."""

    name: str
    meaning: str
    target: Function
    weight: Function
    low: float
    high: float
    terms: dict[str, int]


def rounded(value: mpf, kind: str) -> mpf:
    """The nearest number of a type."""
    if kind == "double":
        return mpf(float(value))
    return mpf(struct.unpack("<f", struct.pack("<f", float(value)))[0])


def grid(low: float, high: float) -> list[mpf]:
    """Chebyshev points, which lie closer together near the ends."""
    middle, half = (mpf(low) + high) / 2, (mpf(high) - low) / 2
    return [middle - half * mpmath.cos(mpmath.pi * i / (POINTS - 1)) for i in range(POINTS)]


def exchange(points: list[mpf], values: list[mpf], weights: list[mpf], powers: range) -> list[mpf]:
    """Remez's algorithm over given points; `powers` are the exponents of the free terms."""
    count = len(powers)
    step = (POINTS - 1) / mpf(count)
    chosen = [int(i * step) for i in range(count)] + [POINTS - 1]
    coefficients: list[mpf] = []
    for _ in range(12):
        matrix = mpmath.matrix(count + 1, count + 1)
        right = mpmath.matrix(count + 1, 1)
        for row, at in enumerate(chosen):
            for column, power in enumerate(powers):
                matrix[row, column] = points[at] ** power * weights[at]
            matrix[row, count] = (-1) ** row
            right[row] = values[at] * weights[at]
        solution = mpmath.lu_solve(matrix, right)
        coefficients = [solution[i] for i in range(count)]
        errors = [
            (value - sum(c * x**p for c, p in zip(coefficients, powers, strict=True))) * weight
            for x, value, weight in zip(points, values, weights, strict=True)
        ]
        fresh = extremes(errors, count + 1)
        if fresh is None or fresh == chosen:
            break
        chosen = fresh
    return coefficients


def extremes(errors: list[mpf], wanted: int) -> list[int] | None:
    """Where the error is greatest between changes of sign; None if it changes too seldom."""
    found: list[int] = []
    for at, error in enumerate(errors):
        if found and (errors[found[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[found[-1]]):
                found[-1] = at
        else:
            found.append(at)
    while len(found) > wanted:
        if abs(errors[found[0]]) < abs(errors[found[-1]]):
            found.pop(0)
        else:
            found.pop()
    return found if len(found) == wanted else None


def fit(row: Fit, kind: str) -> tuple[list[mpf], mpf]:
    """The rounded coefficients and the greatest weighted error."""
    points = [x for x in grid(row.low, row.high) if x != 0]
    while len(points) < POINTS:
        points.append(points[-1])
    values = [row.target(x) for x in points]
    weights = [row.weight(x) for x in points]
    done: list[mpf] = []
    terms = row.terms[kind]
    for at in range(terms):
        rest = [
            value - sum(c * x**p for p, c in enumerate(done))
            for x, value in zip(points, values, strict=True)
        ]
        free = exchange(points, rest, weights, range(at, terms))
        done.append(rounded(free[0], kind))
    worst = max(
        abs((value - sum(c * x**p for p, c in enumerate(done))) * weight)
        for x, value, weight in zip(points, values, weights, strict=True)
    )
    return done, worst


def odd_rest(function: Function) -> Function:
    """f(x) = x + x^3 * rest(x^2)."""

    def rest(z: mpf) -> mpf:
        x = mpmath.sqrt(z)
        return (function(x) / x - 1) / z

    return rest


def odd_weight(function: Function) -> Function:
    def weight(z: mpf) -> mpf:
        x = mpmath.sqrt(z)
        return x * z / function(x)

    return weight


def odd_all(function: Function) -> tuple[Function, Function]:
    """f(x) = x * all(x^2), and the weight that makes its error relative."""

    def target(z: mpf) -> mpf:
        x = mpmath.sqrt(z)
        return function(x) / x

    return target, lambda z: 1 / target(z)


def odd(name: str, function: Function, reach: float, terms: dict[str, int]) -> Fit:
    """An odd function as x + x^3 * p(x^2)."""
    meaning = f"{name}(x) = x + x^3 p(x^2) for |x| <= {reach}"
    return Fit(name, meaning, odd_rest(function), odd_weight(function), 0, reach**2, terms)


def scaled_erfc(x: mpf) -> mpf:
    """erfc(x) without the factor that makes it vanish."""
    return mpmath.erfc(x) * mpmath.exp(x * x)


def erf_tail(x: mpf) -> mpf:
    return -mpmath.log(mpmath.erfc(x))


def log_series(z: mpf) -> mpf:
    """(2 atanh(s) / s - 2) / s^2, where s^2 = z."""
    s = mpmath.sqrt(z)
    return (2 * mpmath.atanh(s) / s - 2) / z


def log2_series(z: mpf) -> mpf:
    s = mpmath.sqrt(z)
    return 2 * mpmath.atanh(s) / s / mpmath.log(2)


SINPI, SINPI_WEIGHT = odd_all(lambda x: mpmath.sin(mpmath.pi * x))
ERF, ERF_WEIGHT = odd_all(mpmath.erf)
S_SQUARED = float((mpmath.sqrt(2) - 1) ** 2 / (mpmath.sqrt(2) + 1) ** 2) * 1.001

FITS = [
    odd("sin", mpmath.sin, 1.62, {"float": 4, "double": 9}),
    odd("sin_octant", mpmath.sin, 0.81, {"float": 3, "double": 7}),
    Fit(
        "cos_octant",
        "cos(x) = 1 - x^2 / 2 + x^4 p(x^2) for |x| <= 0.81",
        lambda z: (mpmath.cos(mpmath.sqrt(z)) - 1 + z / 2) / z**2,
        lambda z: z**2 / mpmath.cos(mpmath.sqrt(z)),
        0,
        0.81**2,
        {"float": 3, "double": 7},
    ),
    Fit(
        "sinpi",
        "sin(pi x) = x p(x^2) for |x| <= 0.5",
        SINPI,
        SINPI_WEIGHT,
        0,
        0.25,
        {"float": 5, "double": 9},
    ),
    Fit(
        "exp",
        "exp(x) = 1 + x + x^2 p(x) for |x| <= 0.352",
        lambda x: (mpmath.exp(x) - 1 - x) / x**2,
        lambda x: x**2 / mpmath.exp(x),
        -0.352,
        0.352,
        {"float": 5, "double": 11},
    ),
    Fit(
        "exp2",
        "2^x = 1 + x p(x) for |x| <= 1/2",
        lambda x: (mpf(2) ** x - 1) / x,
        lambda x: abs(x) * mpf(2) ** -x,
        -0.5,
        0.5,
        {"float": 6},
    ),
    Fit(
        "expm1",
        "expm1(x) = x + x^2 p(x) for |x| <= 0.352",
        lambda x: (mpmath.expm1(x) - x) / x**2,
        lambda x: abs(x**2 / mpmath.expm1(x)),
        -0.352,
        0.352,
        {"float": 5, "double": 11},
    ),
    Fit(
        "log",
        "log(1 + x) = x + x^2 p(x) for sqrt(1/2) <= 1 + x <= sqrt(2)",
        lambda x: (mpmath.log1p(x) - x) / x**2,
        lambda x: abs(x**2 / mpmath.log1p(x)),
        -0.2932,
        0.4146,
        {"float": 9},
    ),
    Fit(
        "log_series",
        "2 atanh(s) = s (2 + z p(z)), z = s^2, for (1 + s) / (1 - s) <= sqrt(2)",
        log_series,
        lambda z: z / (2 + z * log_series(z)),
        0,
        S_SQUARED,
        {"double": 7},
    ),
    Fit(
        "log2_series",
        "2 atanh(s) / log(2) = s p(z), z = s^2, for (1 + s) / (1 - s) <= sqrt(2)",
        log2_series,
        lambda z: 1 / log2_series(z),
        0,
        S_SQUARED,
        {"double": 5},
    ),
    odd("atan", mpmath.atan, 1.0, {"float": 8}),
    odd("asin", mpmath.asin, 0.5, {"float": 5}),
    odd("sinh", mpmath.sinh, 1.0, {"float": 3}),
    odd("tanh", mpmath.tanh, 0.625, {"float": 5}),
    Fit("erf", "erf(x) = x p(x^2) for |x| <= 1", ERF, ERF_WEIGHT, 0, 1, {"float": 7}),
    Fit(
        "erf_tail",
        "erf(x) = 1 - exp(-p(x)) for 1 <= x <= 4",
        erf_tail,
        lambda x: mpmath.erfc(x) / mpmath.erf(x),
        1,
        4,
        {"float": 6},
    ),
    Fit(
        "erfc",
        "erfc(x) = exp(-x^2) p(1 / (x + 3)) for 0 <= x <= 10.5",
        lambda t: scaled_erfc(1 / t - 3),
        lambda t: 1 / scaled_erfc(1 / t - 3),
        1 / 13.5,
        1 / 3,
        {"float": 10},
    ),
]


def main() -> None:
    """Prints the module."""
    print('"""Coefficients of polynomials, lowest first, from tools/fit_polynomials.py.\n')
    print("The bound is that of the relative error of the function, before rounding while it is")
    print('computed: 2^-24 is half a unit in the last place of a float, 2^-53 of a double."""\n')
    for row in FITS:
        print(f"{row.name.upper()}: dict[str, tuple[float, ...]] = {{")
        bounds = []
        for kind in row.terms:
            coefficients, worst = fit(row, kind)
            bounds.append(f"{kind}: error below 2^{float(mpmath.log(worst, 2)) + 0.05:.1f}")
            print(f'    "{kind}": (')
            for each in coefficients:
                print(f"        {float(each)!r},")
            print("    ),")
        print("}")
        print(f'"""{row.meaning}.\n\n{"; ".join(bounds).capitalize()}.\n"""\n')


if __name__ == "__main__":
    main()
