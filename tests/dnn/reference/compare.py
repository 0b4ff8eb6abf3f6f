"""Whether a result is right: benchdnn's rules, point by point, and no looser ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.dnn.reference.numbers import EPSILON, INTEGERS, Array, representable
from tests.dnn.reference.problem import Attributes

TINY = 1e-5  # below this a relative difference says nothing
Mask = NDArray[np.bool_]
COMPUTING = ("add", "sub", "mul", "div")


@dataclass(frozen=True)
class Points:
    """Expected and given numbers, with their differences."""

    exact: Array  # what the reference says in f32
    expected: Array  # the same, as the type of the result can say it
    got: Array
    difference: Array
    relative: Array


@dataclass(frozen=True)
class Rule:
    """What a family tolerates for one of its results."""

    threshold: float
    whole_tensor: bool = False  # the difference of the whole tensor may be small instead
    also: Callable[[Points], Mask] | None = None


@dataclass(frozen=True)
class Mismatch:
    """Where a result is wrong, and by how much."""

    name: str
    count: int
    total: int
    first: tuple[int, ...]
    expected: float
    got: float
    relative: float

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.count} of {self.total} wrong, first at {list(self.first)}: "
            f"expected {self.expected:.9g}, got {self.got:.9g} (relative {self.relative:.2g})"
        )


def measure(exact: Array, got: Array, dtype: str) -> Points:
    """The points of a comparison."""
    with np.errstate(all="ignore"):
        expected = representable(exact, dtype)
        difference = np.abs(expected - got)
        size = np.where(np.abs(expected) > np.finfo(np.float32).tiny, np.abs(expected), 1.0)
        return Points(exact, expected, got, difference, difference / size)


def compare(
    name: str, exact: Array, got: Array, dtype: str, rule: Rule, attributes: Attributes
) -> Mismatch | None:
    """None if the result is right."""
    if exact.shape != got.shape:
        return Mismatch(name, got.size, exact.size, (), float("nan"), float("nan"), float("nan"))
    if not exact.size:
        return None
    points = measure(exact, got, dtype)
    with np.errstate(all="ignore"):
        fine = right_points(points, dtype, rule)
        fine |= after_attributes(points, dtype, attributes)
        if fine.all() or (rule.whole_tensor and norm_is_small(points, rule.threshold)):
            return None
    first = tuple(int(i) for i in np.argwhere(~fine)[0])
    return Mismatch(
        name,
        int((~fine).sum()),
        exact.size,
        first,
        float(points.expected[first]),
        float(got[first]),
        float(points.relative[first]),
    )


def right_points(points: Points, dtype: str, rule: Rule) -> Mask:
    """Which points are right by the rule of the family."""
    size = np.abs(points.expected)
    fine = (points.exact == points.got) | (points.expected == points.got)
    fine |= (size <= TINY) & (points.difference < EPSILON["f32"])
    fine |= np.where(size > TINY, points.relative, points.difference) <= rule.threshold
    fine |= np.isnan(points.expected) & np.isnan(points.got)
    if dtype in INTEGERS:
        fine |= np.isnan(points.exact) | off_by_one(points)
    if dtype == "s32":  # f32 cannot say the largest s32
        fine |= (points.expected >= 2**31 - 1) & (points.got >= 2**31 - 128)
    if rule.also is not None:
        fine |= rule.also(points)
    return fine


def off_by_one(points: Points) -> Mask:
    """A number half-way between two integers may become either."""
    low, high = np.floor(points.exact), np.ceil(points.exact)
    half_way = np.abs(low + 0.5 - points.exact) < 9e-6
    return half_way & ((points.got == low) | (points.got == high))


def after_attributes(points: Points, dtype: str, attributes: Attributes) -> Mask:
    """What post-ops and scales of the result may add to an error."""
    epsilon = EPSILON[dtype]
    fine = np.zeros(points.got.shape, dtype=bool)
    eltwise = [p.algorithm for p in attributes.post_ops if p.kind == "eltwise"]
    if eltwise:
        fine |= points.difference <= max(epsilon, 2e-5)
        fine |= points.relative <= max(epsilon, 8e-6)
    if any(q.argument == "dst" for q in attributes.scales):
        fine |= points.relative <= max(epsilon, 1e-5)
    if any(p.kind == "binary" and p.algorithm in COMPUTING for p in attributes.post_ops):
        if dtype == "f16":
            fine |= points.difference <= 5e-3
        if dtype == "f32":
            fine |= (points.difference <= 4e-6) | (points.relative <= 1e-5)
    return fine


def norm_is_small(points: Points, threshold: float) -> bool:
    """Whether the difference of all points together is small beside the expected numbers."""
    usable = np.isfinite(points.expected)
    if not np.array_equal(usable, np.isfinite(points.got)):
        return False
    expected, difference = points.expected[usable], points.difference[usable]
    size = float(np.sqrt((expected**2).sum()))
    distance = float(np.sqrt((difference**2).sum()))
    return distance <= threshold * size
