"""Lengths and directions of vectors. Components are separate arguments of each function.

The sum of squares may overflow or vanish though the length does not: then the components are scaled
by a power of two first. The `fast_` functions do without.
"""

from __future__ import annotations

from groundstate.compiler.math.functions import call, function, rarely, rarely_all
from groundstate.compiler.math.vec import Vec, element

SAFE = {"float": (2.0**-96, 2.0**120), "double": (2.0**-900, 2.0**1000)}
"""Sums of squares between these have lost nothing."""
BOTH = ("float", "double")


def _squares(parts: tuple[Vec, ...]) -> Vec:
    total = parts[0] * parts[0]
    for part in parts[1:]:
        total = part.fma(part, total)
    return total


def _unsafe(squares: Vec) -> Vec:
    low, high = SAFE[element(squares.t)]
    return ~((squares > low) & (squares < high))


def _scaled(parts: tuple[Vec, ...]) -> tuple[tuple[Vec, ...], Vec]:
    """The components over a power of two that brings the largest near one; and its exponent."""
    largest = parts[0].abs()
    for part in parts[1:]:
        largest = largest.call("maxnum", part.abs())
    usual = (largest > 0) & (largest < float("inf"))
    exponent = usual.choose(call("ilogb", largest), 0)
    return tuple(call("ldexp", part, -exponent) for part in parts), exponent


@function("length", types=BOTH, branches=True)
def _length(*parts: Vec) -> Vec:
    if len(parts) == 1:
        return parts[0].abs()
    squares = _squares(parts)

    def careful() -> Vec:
        scaled, exponent = _scaled(parts)
        return call("ldexp", _squares(scaled).sqrt(), exponent)

    return rarely(_unsafe(squares), squares.sqrt(), careful)


@function("fast_length", types=BOTH)
def _fast_length(*parts: Vec) -> Vec:
    return _squares(parts).sqrt()


@function("distance", types=BOTH, branches=True)
def _distance(*parts: Vec) -> Vec:
    return call("length", *_differences(parts))


@function("fast_distance", types=BOTH)
def _fast_distance(*parts: Vec) -> Vec:
    return call("fast_length", *_differences(parts))


def _differences(parts: tuple[Vec, ...]) -> list[Vec]:
    """Of two vectors, one behind the other."""
    count = len(parts) // 2
    return [a - b for a, b in zip(parts[:count], parts[count:], strict=True)]


@function("normalize", types=BOTH, branches=True)
def _normalize(*parts: Vec) -> tuple[Vec, ...]:
    squares = _squares(parts)
    factor = 1 / squares.sqrt()
    usual = tuple(part * factor for part in parts)

    def careful() -> tuple[Vec, ...]:
        """Infinite components are all that counts where there are some; zero stays zero."""
        infinite = parts[0].is_infinite()
        for part in parts[1:]:
            infinite = infinite | part.is_infinite()
        finite = tuple(
            infinite.choose(part.is_infinite().choose(part.constant(1.0), 0.0).copysign(part), part)
            for part in parts
        )
        scaled, _ = _scaled(finite)
        length = _squares(scaled).sqrt()
        return tuple(
            length.equals(0).choose(part, each / length)
            for part, each in zip(parts, scaled, strict=True)
        )

    return rarely_all(_unsafe(squares), usual, careful)


@function("fast_normalize", types=BOTH)
def _fast_normalize(*parts: Vec) -> tuple[Vec, ...]:
    squares = _squares(parts)
    factor = call("native_rsqrt", squares)
    return tuple(squares.equals(0).choose(part, part * factor) for part in parts)


@function("cross")
def _cross(*parts: Vec) -> tuple[Vec, ...]:
    """Of vectors of three, or of four with a last component that stays out of it."""
    a, b = parts[: len(parts) // 2], parts[len(parts) // 2 :]
    result = [a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    if len(a) == 4:
        result.append(a[0].constant(0.0))
    return tuple(result)
