"""Numbers are compared as the tolerances say."""

from __future__ import annotations

import math

import numpy
import pytest

from groundstate.capture.views.comparing import PIECE, Tolerance, difference


def apart(one: list[float], other: list[float], kind: str = "float32", **tolerance: float) -> bool:
    first, second = (numpy.array(each, kind).tobytes() for each in (one, other))
    return difference(first, second, kind, Tolerance(**tolerance)) is not None  # type: ignore[arg-type]


def test_where_and_how_much() -> None:
    one = numpy.arange(10, dtype="float32")
    other = one.copy()
    other[3] += 0.5
    other[7] = -7
    found = difference(one.tobytes(), other.tobytes(), "float32")
    assert found is not None
    assert (found.count, found.elements, found.first, found.worst) == (2, 10, 3, 7)
    assert (found.expected, found.found, found.absolute) == (7.0, -7.0, 14.0)
    assert found.relative == 2.0
    assert "2 of 10 elements (float32), the first at 3; the worst at 7: 7.0 and -7.0" in str(found)


def test_tolerances() -> None:
    assert apart([1.0], [1.001])
    assert not apart([1.0], [1.001], rtol=0.01)
    assert not apart([1.0], [1.001], atol=0.01)
    assert apart([0.0], [1.0], rtol=0.5)
    assert not apart([5], [6], "int32", atol=1)
    assert apart([5], [7], "int32", atol=1)
    assert apart([250], [1], "uint8", atol=10)


def test_steps_between_floats() -> None:
    for kind in ("float16", "float32", "float64"):
        one = numpy.array([1.5, -2.0, 0.0], kind)
        next_ones = numpy.nextafter(one, numpy.array(math.inf, kind))
        pair = one.tobytes(), next_ones.tobytes()
        assert difference(*pair, kind, Tolerance(ulp=1)) is None
        found = difference(*pair, kind)
        assert found is not None
        assert (found.count, found.ulps) == (3, 1)
    smallest = float(numpy.nextafter(numpy.float32(0), numpy.float32(1)))
    assert not apart([smallest], [-smallest], ulp=2)
    assert apart([smallest], [-smallest], ulp=1)


def test_what_is_no_number() -> None:
    nan, inf = math.nan, math.inf
    assert not apart([nan, inf, 0.0], [nan, inf, -0.0])
    assert apart([nan], [1.0], rtol=10, atol=10)
    assert apart([1.0], [nan], rtol=10, atol=10)
    assert apart([inf], [-inf], rtol=10, atol=10)
    assert apart([1.0], [inf], atol=10)


def test_many_elements_and_different_sizes() -> None:
    one = numpy.zeros(PIECE + 10, "uint8")
    other = one.copy()
    other[PIECE + 5] = 9
    found = difference(one.tobytes(), other.tobytes(), "uint8")
    assert found is not None
    assert (found.first, found.worst, found.expected, found.found) == (PIECE + 5, PIECE + 5, 0, 9)
    assert difference(bytes(8), bytes(12), "uint32") is None


@pytest.mark.parametrize("kind", ["complex64", "bool", "int64", "uint64"])
def test_other_types(kind: str) -> None:
    one, other = numpy.array([0, 1], kind), numpy.array([0, 0], kind)
    found = difference(one.tobytes(), other.tobytes(), kind)
    assert found is not None
    assert (found.count, found.first) == (1, 1)
