"""Compares two buffers as the numbers that they hold, with tolerances.

A pair differs if it is neither close by `atol + rtol * |expected|` nor within `ulp` representable
numbers. NaN equals NaN, and a zero equals the other zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PIECE = 1 << 22
"""So many elements are compared at a time."""


class NumPyMissing(RuntimeError):  # noqa: N818 (named for what happened)
    """Tolerances need NumPy."""

    def __init__(self) -> None:
        super().__init__("comparing with tolerances needs NumPy: pip install numpy")


@dataclass(frozen=True)
class Tolerance:
    """How far numbers may be apart; integers and bytes must be equal unless `atol` allows it."""

    rtol: float = 0.0
    atol: float = 0.0
    ulp: int = 0

    @property
    def exact(self) -> bool:
        """Whether nothing but equal numbers will do."""
        return not (self.rtol or self.atol or self.ulp)


@dataclass(frozen=True)
class Difference:
    """Where and how much two buffers differ."""

    count: int
    elements: int
    first: int
    worst: int
    expected: float | int
    found: float | int
    absolute: float
    relative: float | None
    ulps: int | None
    dtype: str

    def __str__(self) -> str:
        apart = f"{self.absolute:.6g} apart"
        if self.ulps is not None:
            apart += f", {self.ulps:,} ulp"
        return (
            f"{self.count:,} of {self.elements:,} elements ({self.dtype}), the first at "
            f"{self.first:,}; the worst at {self.worst:,}: {self.expected!r} and {self.found!r}, "
            f"{apart}"
        )


def difference(
    expected: bytes, found: bytes, dtype: str, tolerance: Tolerance | None = None
) -> Difference | None:
    """How two buffers differ, or None if they are equal or close enough.

    Buffers of different sizes are compared as far as both reach; the caller knows the sizes.
    """
    tolerance = tolerance or Tolerance()
    if expected == found:
        return None
    try:
        import numpy
    except ImportError:
        raise NumPyMissing from None
    kind = numpy.dtype(dtype)
    size = min(len(expected), len(found)) // kind.itemsize
    one = numpy.frombuffer(expected, kind, size)
    other = numpy.frombuffer(found, kind, size)
    worst = _Worst(numpy, kind)
    for begin in range(0, size, PIECE):
        worst.add(one[begin : begin + PIECE], other[begin : begin + PIECE], begin, tolerance)
    return worst.found(size)


class _Worst:
    """The pair that is furthest apart so far, and how many differ."""

    def __init__(self, numpy: Any, kind: Any) -> None:
        self._numpy = numpy
        self._kind = kind
        self._count = 0
        self._first = -1
        self._distance = -1.0
        self._place = 0
        self._pair: tuple[Any, Any] = (0, 0)

    def add(self, one: Any, other: Any, begin: int, tolerance: Tolerance) -> None:
        numpy = self._numpy
        with numpy.errstate(all="ignore"):
            apart, wrong = self._wrong(one, other, tolerance)
        places = numpy.flatnonzero(wrong)
        if not len(places):
            return
        if self._first < 0:
            self._first = begin + int(places[0])
        self._count += len(places)
        distances = numpy.nan_to_num(apart[places], nan=numpy.inf, posinf=numpy.inf)
        most = int(numpy.argmax(distances))
        if float(distances[most]) > self._distance:
            place = int(places[most])
            self._distance = float(distances[most])
            self._place = begin + place
            self._pair = (one[place], other[place])

    def _wrong(self, one: Any, other: Any, tolerance: Tolerance) -> tuple[Any, Any]:
        numpy = self._numpy
        if self._kind.kind not in "fc":
            unequal = one != other
            apart = numpy.abs(one.astype(numpy.float64) - other.astype(numpy.float64))
            return apart, unequal & ~(apart <= tolerance.atol)
        wide = numpy.complex128 if self._kind.kind == "c" else numpy.float64
        first, second = one.astype(wide), other.astype(wide)
        same = (one == other) | (numpy.isnan(one) & numpy.isnan(other))
        apart = numpy.where(same, 0.0, numpy.abs(first - second))
        close = apart <= tolerance.atol + tolerance.rtol * numpy.abs(first)
        close &= numpy.isfinite(first) & numpy.isfinite(second)
        if tolerance.ulp and self._kind.kind == "f":
            close |= _steps(numpy, one, other) <= tolerance.ulp
        return apart, ~(same | close)

    def found(self, elements: int) -> Difference | None:
        if not self._count:
            return None
        one, other = self._pair
        steps = None
        if self._kind.kind == "f":
            pair = [self._numpy.array([each], self._kind) for each in (one, other)]
            steps = int(_steps(self._numpy, *pair)[0])
        expected = one.item()
        scale = abs(expected) if not isinstance(expected, bool) else 1
        return Difference(
            self._count,
            elements,
            self._first,
            self._place,
            expected,
            other.item(),
            self._distance,
            self._distance / scale if scale else None,
            steps,
            str(self._kind),
        )


def _steps(numpy: Any, one: Any, other: Any) -> Any:
    """How many representable numbers two arrays of floats are apart."""
    signed = {2: numpy.int16, 4: numpy.int32, 8: numpy.int64}[one.dtype.itemsize]
    places = []
    for each in (one, other):
        bits = each.view(signed).astype(numpy.int64)
        lowest = numpy.int64(numpy.iinfo(signed).min)
        places.append(numpy.where(bits < 0, lowest - bits, bits))
    # The distance of two such places may need all of 64 bits.
    high, low = numpy.maximum(*places), numpy.minimum(*places)
    return high.view(numpy.uint64) - low.view(numpy.uint64)
