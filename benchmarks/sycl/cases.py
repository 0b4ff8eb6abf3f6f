"""What dpnp is asked to do: each case once for dpnp, whose time counts, and once for NumPy.

This file is imported by the environment that dpnp is installed in, so it needs NumPy alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

Arrays = list[Any]
Module = Any
"""dpnp or NumPy."""
SEED = 20

PI_DRAWS = 1_000_000


@dataclass(frozen=True)
class Case:
    """An operation on some arrays, the same for both libraries, and how far results may differ."""

    name: str
    title: str
    operate: Callable[..., Any]
    """Takes the library and the arrays."""
    arrays: Callable[[], Arrays]
    """Makes the arrays, by NumPy; dpnp gets copies of them."""
    relative: float = 1e-4
    """Of the largest number in the result."""
    check: Callable[[Any, Any], str] | None = None
    """What is wrong with a result, where NumPy's is not to be expected: of random numbers."""
    by_library: bool = False
    """True if oneMKL does the work, which has other code for CPUs than for GPUs."""

    def mistake(self, result: Any, expected: Any) -> str:
        """What is wrong with a result; empty if it is right."""
        if self.check is not None:
            return self.check(result, expected)
        return compare(np.asarray(result), np.asarray(expected), self.relative)


def compare(result: Any, expected: Any, relative: float) -> str:
    """What is wrong with numbers that should be others."""
    if result.shape != expected.shape:
        return f"the shape is {result.shape} instead of {expected.shape}"
    if expected.dtype.kind in "biu":
        return "" if (result == expected).all() else "whole numbers differ"
    farthest = float(np.max(np.abs(result - expected), initial=0.0))
    largest = float(np.max(np.abs(expected), initial=0.0))
    right = farthest <= relative * max(largest, 1e-30)
    return "" if right else f"wrong by {farthest:g} where numbers go up to {largest:g}"


def count_name(count: int) -> str:
    """10000000 as `10 M`."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if count >= size:
            return f"{count // size} {unit}"
    return str(count)


def uniform(*shape: int, kind: str, arrays: int = 1) -> Arrays:
    """Arrays of numbers between 0 and 1, the same in every process."""
    source = np.random.default_rng(SEED)
    return [source.random(shape).astype(kind) for _ in range(arrays)]


# --- Element by element ---------------------------------------------------------------------------


def multiply_add(xp: Module, a: Any, b: Any, c: Any) -> Any:
    """Two operations bound by memory."""
    return a * b + c


def functions(xp: Module, a: Any, b: Any, c: Any) -> Any:
    """Operations bound by arithmetic."""
    return xp.sqrt(xp.sin(a) * xp.sin(a) + xp.exp(-b)) + xp.log(c + 1)


def choose(xp: Module, a: Any, b: Any, c: Any) -> Any:
    """Comparisons and choices."""
    return xp.where(xp.logical_and(a > b, b > c), a, xp.minimum(b, c))


def _element_wise() -> list[Case]:
    kinds = (
        ("multiply-add", "a * b + c", multiply_add, ("f4", "f8"), (1_000, 1_000_000, 10_000_000)),
        ("functions", "sin, exp, log, sqrt", functions, ("f4", "f8"), (1_000, 1_000_000)),
        ("functions", "sin, exp, log, sqrt", functions, ("f4",), (10_000_000,)),
        ("where", "compare, where, minimum", choose, ("f4", "f8"), (1_000_000,)),
        ("where", "compare, where, minimum", choose, ("f4",), (10_000_000,)),
    )
    return [
        Case(
            f"{name}-{kind}-{count}",
            f"{title}, {kind}, {count_name(count)}",
            operate,
            partial(uniform, count, kind=kind, arrays=3),
        )
        for name, title, operate, types, counts in kinds
        for kind in types
        for count in counts
    ]


# --- Reductions -----------------------------------------------------------------------------------


def _method(name: str, **options: Any) -> Callable[..., Any]:
    """An operation that both libraries have under one name."""

    def operate(xp: Module, *arrays: Any) -> Any:
        return getattr(xp, name)(*arrays, **options)

    return operate


def _reductions() -> list[Case]:
    def of(name: str, kind: str, *shape: int, **options: Any) -> Case:
        sizes = " x ".join(count_name(size) for size in shape)
        axis = f" along axis {options['axis']}" if "axis" in options else ""
        return Case(
            "-".join([name, kind, *map(str, shape), *map(str, options.values())]),
            f"{name}{axis}, {kind}, {sizes}",
            _method(name, **options),
            partial(uniform, *shape, kind=kind),
        )

    return [
        of("sum", "f4", 1_000_000),
        of("sum", "f4", 10_000_000),
        of("sum", "f8", 10_000_000),
        of("max", "f4", 10_000_000),
        of("mean", "f4", 1_000_000),
        of("argmax", "f4", 1_000_000),
        of("sum", "f4", 3_000, 3_000, axis=0),
        of("sum", "f4", 3_000, 3_000, axis=1),
        of("max", "f8", 2_000, 2_000, axis=0),
        of("cumsum", "f4", 1_000_000),
        of("cumsum", "f8", 1_000_000),
    ]


# --- Sorting and indexing -------------------------------------------------------------------------


def _whole_numbers(count: int) -> Arrays:
    source = np.random.default_rng(SEED)
    return [source.integers(-(2**31), 2**31, count, dtype=np.int32)]


def _positions(count: int) -> Arrays:
    source = np.random.default_rng(SEED)
    return [source.random(count).astype("f4"), source.integers(0, count, count)]


def _distinct(count: int, kind: str) -> Arrays:
    """Numbers that all differ, so that there is one order only."""
    return [np.random.default_rng(SEED).permutation(count).astype(kind)]


def mask(xp: Module, a: Any) -> Any:
    """The elements that fulfil a condition."""
    return a[a > 0.5]


def transpose(xp: Module, a: Any) -> Any:
    """Elements that are neighbours in the other direction."""
    return xp.ascontiguousarray(a.T)


def _sorting() -> list[Case]:
    million = 1_000_000
    return [
        Case("sort-f4", "sort, f4, 1 M", _method("sort"), partial(_distinct, million, "f4")),
        Case("sort-f8", "sort, f8, 1 M", _method("sort"), partial(_distinct, million, "f8")),
        Case("sort-i4", "sort, i4, 1 M", _method("sort"), partial(_whole_numbers, million)),
        Case(
            "argsort-f4", "argsort, f4, 1 M", _method("argsort"), partial(_distinct, million, "f4")
        ),
        Case(
            "argsort-i4", "argsort, i4, 1 M", _method("argsort"), partial(_distinct, million, "i4")
        ),
        Case("take", "take, f4, 1 M", _method("take"), partial(_positions, million)),
        Case("mask", "elements above 0.5, f4, 1 M", mask, partial(uniform, million, kind="f4")),
        Case(
            "transpose",
            "transposed copy, f4, 2 k x 2 k",
            transpose,
            partial(uniform, 2_000, 2_000, kind="f4"),
        ),
    ]


# --- Linear algebra -------------------------------------------------------------------------------


def _linear_algebra() -> list[Case]:
    cases = []
    for kind in ("f4", "f8"):
        shared = {"kind": kind, "arrays": 2}
        cases += [
            Case(
                f"matmul-{kind}",
                f"matmul, {kind}, 1024 x 1024",
                _method("matmul"),
                partial(uniform, 1024, 1024, **shared),
                by_library=True,
            ),
            Case(
                f"dot-{kind}",
                f"dot, {kind}, 1 M",
                _method("dot"),
                partial(uniform, 1_000_000, **shared),
                by_library=True,
            ),
            Case(
                f"matvec-{kind}",
                f"matrix by vector, {kind}, 2048 x 2048",
                _method("matmul"),
                partial(_matrix_and_vector, kind),
                by_library=True,
            ),
        ]
    return cases


def _matrix_and_vector(kind: str) -> Arrays:
    return [*uniform(2048, 2048, kind=kind), *uniform(2048, kind=kind)]


# --- Random numbers -------------------------------------------------------------------------------


def draw(xp: Module) -> Any:
    """A million numbers between 0 and 1."""
    return xp.random.uniform(0.0, 1.0, PI_DRAWS)


def draw_normal(xp: Module) -> Any:
    """A million numbers of the normal distribution."""
    return xp.random.normal(0.0, 1.0, PI_DRAWS)


def estimate_pi(xp: Module) -> Any:
    """How many of a million points of a square lie in a quarter of a circle."""
    x, y = draw(xp), draw(xp)
    return 4.0 * xp.sum(x * x + y * y <= 1.0) / PI_DRAWS


def black_scholes(xp: Module, price: Any, strike: Any, years: Any) -> Any:
    """What options on shares are worth, for a million of them."""
    rate, volatility = 0.05, 0.2
    deviation = volatility * xp.sqrt(years)
    d1 = (xp.log(price / strike) + (rate + volatility**2 / 2) * years) / deviation
    d2 = d1 - deviation
    return price * _normal(xp, d1) - strike * xp.exp(-rate * years) * _normal(xp, d2)


def _normal(xp: Module, x: Any) -> Any:
    """The normal distribution, by a formula of elementary functions (error below 1e-4)."""
    return 0.5 * (1.0 + xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def _market() -> Arrays:
    price, strike, years = uniform(1_000_000, kind="f4", arrays=3)
    return [price * 50 + 50, strike * 50 + 50, years * 2 + 0.25]


def _same_moments(result: Any, expected: Any) -> str:
    mean, deviation = float(np.mean(result)), float(np.std(result))
    right = abs(mean - np.mean(expected)) < 0.01 and abs(deviation - np.std(expected)) < 0.01
    return "" if right else f"the mean is {mean:g} and the standard deviation {deviation:g}"


def _random() -> list[Case]:
    none = partial(uniform, 1, kind="f4", arrays=0)
    return [
        Case("uniform", "random.uniform, f8, 1 M", draw, none, check=_same_moments),
        Case("normal", "random.normal, f8, 1 M", draw_normal, none, check=_same_moments),
        Case("pi", "Monte-Carlo: pi, 1 M points", estimate_pi, none, check=_same_moments),
        Case("black-scholes", "Black-Scholes, f4, 1 M", black_scholes, _market, 1e-3),
    ]


# --- Small arrays ---------------------------------------------------------------------------------


def add_one(xp: Module, a: Any) -> Any:
    """The least that can be asked for."""
    return a + 1


def _small() -> list[Case]:
    ten = partial(uniform, 10, kind="f8")
    return [
        Case("small-add", "a + 1, 10 elements", add_one, ten),
        Case("small-sum", "sum, 10 elements", _method("sum"), ten),
    ]


CASES = {
    case.name: case
    for case in [
        *_element_wise(),
        *_reductions(),
        *_sorting(),
        *_linear_algebra(),
        *_random(),
        *_small(),
    ]
}
