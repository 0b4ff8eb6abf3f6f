"""OpenCL.std functions of one number against mpmath, within the bounds that OpenCL sets."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from mpmath import mpf

from tests.compiler.math.math_reference import UNARY, Function
from tests.compiler.math.math_support import FORMATS, Array, evaluate, samples, ulp_error

COUNT = 1000
KINDS = ("half", "float", "double")
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, -0.5, 1.5, 2.0, -2.0, 3.0]
SPECIAL += [2.5, -2.5, 4.5, -3.5, 7.0, -7.0, 64.0, 100.0, -100.0, 1e3, -2e4, 6e4]


@functools.cache
def inputs(kind: str) -> Array:
    """Random numbers, special ones, and the smallest and largest of the format."""
    type_ = FORMATS[kind][0]
    info = np.finfo(type_)
    edges = [info.max, info.min, info.tiny, -info.tiny, info.smallest_subnormal]
    edges += [np.nextafter(type_(1), type_(2)), np.nextafter(type_(1), type_(0))]
    special = np.concatenate([np.array(SPECIAL, type_), np.array(edges, type_)])
    return np.concatenate([special, samples(kind, COUNT, 7), _multiples_of_pi(kind)])


def _multiples_of_pi(kind: str) -> Array:
    """Numbers next to multiples of pi/2, where reductions lose the most."""
    type_ = FORMATS[kind][0]
    counts = np.concatenate([np.arange(1, 60), 2 ** np.arange(6, 30)])
    with np.errstate(over="ignore"):
        return np.array([type_(count * math.pi / 2) for count in counts])


@functools.cache
def results(kind: str, width: int) -> dict[str, Array]:
    """All functions, in one kernel."""
    expressions = {name: f"{name}(a)" for name in UNARY}
    return evaluate(kind, expressions, inputs(kind), width=width)


def worst_error(kind: str, function: Function, x: Array, y: Array) -> tuple[float, float]:
    """The greatest error, and the argument that it was found for."""
    worst, where = 0.0, 0.0
    for argument, result in zip(x.tolist(), y.tolist(), strict=True):
        if not math.isfinite(argument) or any(argument == edge for edge, _ in function.edges):
            continue
        try:
            exact = function.exact(mpf(argument))
        except (ValueError, ZeroDivisionError):
            exact = None
        if exact is None:
            error = 0.0 if not math.isfinite(result) else math.inf
        else:
            error = ulp_error(kind, result, exact)
        if error > worst:
            worst, where = error, argument
    return worst, where


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", UNARY)
def test_error_is_within_the_bound(name: str, kind: str) -> None:
    worst, where = worst_error(kind, UNARY[name], inputs(kind), results(kind, 8)[name])
    assert worst <= UNARY[name].limit(kind), f"{name}({where!r})"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", UNARY)
def test_edges(name: str, kind: str) -> None:
    x, y = inputs(kind), results(kind, 8)[name]
    for argument, expected in UNARY[name].edges:
        same = (x == argument) & (np.signbit(x) == np.signbit(np.float64(argument)))
        found = float(y[same][0])
        if math.isnan(expected):
            assert math.isnan(found), f"{name}({argument})"
        else:
            close = FORMATS[kind][0](expected)
            assert abs(found - close) <= 2e-3 if found != close else True
            assert math.copysign(1, found) == math.copysign(1, expected), f"{name}({argument})"
    if name != "fabs":
        assert np.isnan(y[np.isnan(x)]).all(), f"{name}(nan)"


@pytest.mark.parametrize("width", [1, 4, 16])
@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_lanes_does_not_matter(kind: str, width: int) -> None:
    eight, other = results(kind, 8), results(kind, width)
    for name in UNARY:
        np.testing.assert_array_equal(other[name], eight[name], err_msg=name)
