"""The kernels that are measured: their sources, sizes, inputs, and what NumPy says they compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SOURCES = Path(__file__).parent / "sources"
Array = NDArray[Any]


@dataclass(frozen=True)
class Local:
    """Local memory as an argument of a kernel."""

    size_bytes: int


@dataclass(frozen=True)
class Picture:
    """An image as an argument of a kernel: [row, column, 4] bytes that stand for 0 to 1."""

    texels: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.texels.shape


Argument = Array | np.generic | Local | Picture


@dataclass(frozen=True)
class Case:
    """One kernel: how it is launched, on what, and how much work that is.

    `work` is what `unit` counts per nanosecond, so that work / time is in the unit.
    """

    name: str
    """That of the kernel and of its source."""
    title: str
    items: tuple[int, ...]
    group: tuple[int, ...]
    arguments: Callable[[], list[Argument]]
    result: int
    """Which argument is the buffer or the image that the kernel writes."""
    expected: Callable[[list[Any]], Array]
    work: float
    unit: str
    tolerance: float = 0.0
    """How far a number may be off, as a part of the largest number expected."""
    strays: float = 0.0
    """How many results may be further off: roundings decide whether a point escapes."""
    limit: str = ""
    """Which hand-written C says how fast it could be, if any does."""
    inputs: str = ""
    """Which of several inputs of the kernel this is."""
    unordered: bool = False
    """The result is a set: where a number is in it does not matter."""
    restored: tuple[int, ...] = ()
    """Arguments that get their first contents back before each launch, which is not timed."""

    @property
    def id(self) -> str:
        """What the case is found by: a kernel has several if it has several inputs."""
        return f"{self.name}-{self.inputs}" if self.inputs else self.name

    @property
    def source(self) -> str:
        """The OpenCL C of the kernel."""
        (path,) = SOURCES.rglob(f"{self.name}.cl")
        return path.read_text(encoding="utf-8")

    @property
    def groups(self) -> tuple[int, ...]:
        """The number of groups along each axis."""
        return tuple(items // size for items, size in zip(self.items, self.group, strict=True))

    def mistake(self, expected: Array, result: Array) -> str:
        """What is wrong with a result, or nothing."""
        if self.unordered:
            expected, result = np.sort(expected, axis=None), np.sort(result, axis=None)
        scale = float(np.max(np.abs(expected.astype(np.float64))))
        difference = np.abs(result.astype(np.float64) - expected.astype(np.float64))
        wrong = ~(difference <= self.tolerance * scale)
        share = float(np.mean(wrong))
        if share <= self.strays:
            return ""
        first = int(np.flatnonzero(wrong)[0])
        return (
            f"{share:.2%} of the results of {self.id} are wrong, the first at {first}: "
            f"{result.flat[first]} instead of {expected.flat[first]}"
        )


MEGA = 1 << 20
GROUP = 256


def _random(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).random(shape, dtype=np.float32)


def _empty(*shape: int, dtype: Any = np.float32) -> Array:
    return np.zeros(shape, dtype)


# --- One number after the other -------------------------------------------------------------------


def _vector_add(n: int) -> Case:
    return Case(
        "vector_add",
        f"vector add, {n // MEGA} Mi",
        (n,),
        (GROUP,),
        lambda: [_random(n), _random(n, seed=2), _empty(n)],
        2,
        lambda given: given[0] + given[1],
        work=12 * n,
        unit="GB/s",
        limit="add",
    )


def _sine_map(n: int) -> Case:
    def waves(given: list[Any]) -> Array:
        x = given[0].astype(np.float64)
        parts = (np.sin(2**k * x) / 2**k for k in range(4))
        return np.asarray(sum(parts)).astype(np.float32)

    return Case(
        "sine_map",
        f"map of four sines, {n // MEGA} Mi",
        (n,),
        (GROUP,),
        lambda: [_random(n) * np.float32(12.0) - np.float32(6.0), _empty(n)],
        1,
        waves,
        work=4 * n,
        unit="G sin/s",
        tolerance=1e-6,
    )


def _histogram(n: int) -> Case:
    def numbers() -> Array:
        return np.random.default_rng(3).integers(0, 1 << 32, n, dtype=np.uint32)

    return Case(
        "histogram",
        f"histogram with atomics, {n // MEGA} Mi",
        (n,),
        (GROUP,),
        lambda: [numbers(), _empty(256, dtype=np.uint32)],
        1,
        lambda given: np.bincount(given[0] & 255, minlength=256).astype(np.uint32),
        work=n,
        unit="G items/s",
    )


# --- Groups that work together --------------------------------------------------------------------


def _reduction(n: int) -> Case:
    return Case(
        "reduction",
        f"tree reduction, {n // MEGA} Mi",
        (n,),
        (GROUP,),
        lambda: [_random(n), _empty(n // GROUP), Local(4 * GROUP)],
        1,
        lambda given: given[0].reshape(-1, GROUP).sum(axis=1, dtype=np.float64),
        work=4 * n,
        unit="GB/s",
        tolerance=1e-6,
        limit="sum",
    )


def _scan(n: int) -> Case:
    def numbers() -> Array:
        return np.random.default_rng(4).integers(-1000, 1000, n, dtype=np.int32)

    return Case(
        "scan",
        f"work-group scan, {n // MEGA} Mi",
        (n,),
        (GROUP,),
        lambda: [numbers(), _empty(n, dtype=np.int32), Local(4 * GROUP)],
        1,
        lambda given: given[0].reshape(-1, GROUP).cumsum(axis=1, dtype=np.int32).reshape(-1),
        work=8 * n,
        unit="GB/s",
        limit="copy",
    )


# --- Matrices and pictures ------------------------------------------------------------------------


def _sgemm(name: str, title: str, group: tuple[int, int], n: int) -> Case:
    return Case(
        name,
        f"{title}, {n}",
        (n, n),
        group,
        lambda: [_random(n, n), _random(n, n, seed=2), _empty(n, n), np.int32(n)],
        2,
        lambda given: given[0].astype(np.float64) @ given[1].astype(np.float64),
        work=2.0 * n**3,
        unit="GFLOP/s",
        tolerance=1e-5,
        limit="multiply-add",
    )


def _transpose(n: int) -> Case:
    return Case(
        "transpose",
        f"transpose in local memory, {n} x {n}",
        (n, n),
        (16, 16),
        lambda: [_random(n, n), _empty(n, n), np.int32(n)],
        1,
        lambda given: np.ascontiguousarray(given[0].T),
        work=8.0 * n * n,
        unit="GB/s",
        limit="copy",
    )


def _stencil(n: int) -> Case:
    def means(given: list[Any]) -> Array:
        old, new = given[0].astype(np.float64), np.zeros((n, n))
        around = old[1:-1, :-2] + old[1:-1, 2:] + old[:-2, 1:-1] + old[2:, 1:-1]
        new[1:-1, 1:-1] = 0.2 * (old[1:-1, 1:-1] + around)
        return new

    return Case(
        "stencil",
        f"5-point stencil, {n} x {n}",
        (n, n),
        (64, 4),
        lambda: [_random(n, n), _empty(n, n), np.int32(n), np.int32(n)],
        1,
        means,
        work=8.0 * n * n,
        unit="GB/s",
        tolerance=1e-6,
        limit="copy",
    )


def _mandelbrot(width: int, height: int, limit: int = 256) -> Case:
    def steps(given: list[Any]) -> Array:
        assert given[0].shape == (height, width)
        one = np.float32(1.0)
        re = np.arange(width, dtype=np.float32) * 3 * one / width - 2 * one
        im = np.arange(height, dtype=np.float32) * 2 * one / height - one
        re, im = (part.ravel() for part in np.meshgrid(re, im))
        counts, at = np.zeros(width * height, np.int32), np.arange(width * height)
        x, y = np.zeros_like(re), np.zeros_like(im)
        for _ in range(limit):
            inside = x * x + y * y < 4
            x, y, re, im, at = x[inside], y[inside], re[inside], im[inside], at[inside]
            counts[at] += 1
            x, y = x * x - y * y + re, 2 * x * y + im
        return counts.reshape(height, width)

    return Case(
        "mandelbrot",
        f"Mandelbrot, {width} x {height}, {limit} steps",
        (width, height),
        (32, 8),
        lambda: [_empty(height, width, dtype=np.int32), *map(np.int32, (width, height, limit))],
        0,
        steps,
        work=width * height * 1e3,
        unit="Mpixel/s",
        strays=0.01,
        limit="mandelbrot",
    )


def _image_scaling(width: int, height: int) -> Case:
    def texels() -> Array:
        shape = (height // 2, width // 2, 4)
        return np.random.default_rng(5).integers(0, 256, shape).astype(np.uint8)

    def along(size: int, half: int) -> tuple[Array, Array, Array]:
        """The texels on both sides of each place along an axis, and how near the second is."""
        at = np.arange(size, dtype=np.float32) / np.float32(size) * np.float32(half) - 0.5
        low = np.floor(at).astype(int)
        ends = (np.clip(each, 0, half - 1) for each in (low, low + 1))
        return *ends, (at - low).astype(np.float32)

    def scaled(given: list[Any]) -> Array:
        left, right, beside = along(width, width // 2)
        above, below, under = along(height, height // 2)
        picture = given[0].texels.astype(np.float32)
        beside, under = beside[None, :, None], under[:, None, None]
        rows = picture[:, left] * (1 - beside) + picture[:, right] * beside
        return np.asarray(rows[above] * (1 - under) + rows[below] * under)

    return Case(
        "image_scaling",
        f"image scaling, bilinear, to {width} x {height}",
        (width, height),
        (64, 1),
        lambda: [
            Picture(texels()),
            Picture(_empty(height, width, 4, dtype=np.uint8)),
            np.uint32(width),
            np.uint32(height),
        ],
        1,
        scaled,
        work=width * height * 1e3,
        unit="Mpixel/s",
        tolerance=0.51 / 255,  # a byte is half a step off at most
    )


def _nbody(n: int) -> Case:
    def pulls(given: list[Any]) -> Array:
        bodies, result = given[0].astype(np.float64), np.zeros((n, 4))
        where, mass = bodies[:, :3], bodies[:, 3]
        for i in range(n):
            away = where - where[i]
            pull = mass / (np.einsum("ij,ij->i", away, away) + 1e-3) ** 1.5
            result[i, :3] = pull @ away
        return result

    return Case(
        "nbody",
        f"n-body, {n}",
        (n,),
        (GROUP,),
        lambda: [_random(n, 4), _empty(n, 4), np.int32(n)],
        1,
        pulls,
        work=float(n) * n,
        unit="G pairs/s",
        tolerance=1e-4,
        limit="nbody",
    )


def _iterate(n: int) -> Case:
    def steps(_: list[Any]) -> Array:
        start = (np.arange(1024, dtype=np.float32)) / np.float32(1024)
        x = start
        for _step in range(64):
            x = np.float32(0.5) * x + start
        return np.tile(x, n // 1024)

    return Case(
        "iterate",
        f"{n:,} work-items",
        (n,),
        (GROUP,),
        lambda: [_empty(n)],
        0,
        steps,
        work=n,
        unit="G items/s",
        tolerance=1e-6,
    )


# --- Groups of different cost ---------------------------------------------------------------------


def _shares(groups: int) -> dict[str, Array]:
    """What each group costs, in five ways; those of a way add up to the same."""
    few = max(1, groups // 20)
    order = np.random.default_rng(6).permutation(groups)
    ways = {
        "equal": np.ones(groups),
        "first": np.where(np.arange(groups) < few, 1.0, 0.001),
        "last": np.where(np.arange(groups) >= groups - few, 1.0, 0.001),
        "power law": (1.0 / (40 + np.arange(groups)))[order],
        "one large": np.where(np.arange(groups) == groups - 1, groups / 31, 1.0),
    }
    return {name: shares / shares.sum() for name, shares in ways.items()}


def _uneven(way: str, groups: int, steps: int) -> Case:
    """Groups that take `steps` in all, divided among them in this way."""
    lengths = np.maximum(1, np.round(_shares(groups)[way] * steps)).astype(np.int32)

    def sums(given: list[Any]) -> Array:
        # x = x / 2 + start comes to rest at twice the start, in less than 40 steps.
        start = np.arange(GROUP, dtype=np.float64) / GROUP
        settled = np.minimum(given[0], 60).astype(np.float64)[:, None]
        return np.asarray(start * (2 - 0.5**settled)).reshape(-1)

    return Case(
        "uneven",
        f"groups of uneven cost, {way}",
        (groups * GROUP,),
        (GROUP,),
        lambda: [lengths, _empty(groups * GROUP)],
        1,
        sums,
        work=float(lengths.sum(dtype=np.int64)) * GROUP,
        unit="G steps/s",
        tolerance=1e-6,
    )


def _cases(
    items: int,
    picture: tuple[int, int],
    screen: tuple[int, int],
    matrix: int,
    plane: int,
    bodies: int,
) -> dict[str, Case]:
    cases = (
        _vector_add(items),
        _sine_map(items),
        _mandelbrot(*picture),
        _image_scaling(*screen),
        _sgemm("sgemm_naive", "SGEMM, naive", (32, 8), matrix),
        _sgemm("sgemm_tiled", "SGEMM, tiles in local memory", (16, 16), matrix),
        _nbody(bodies),
        _reduction(items),
        _histogram(items),
        _stencil(plane),
        _transpose(plane),
        _scan(items),
    )
    return {case.name: case for case in cases}


CASES = _cases(16 * MEGA, (2048, 1024), (3840, 2160), 512, 4096, 8192)
"""By name, as large as the speed of a kernel is measured with."""

SMALL_CASES = _cases(1 << 16, (256, 128), (256, 128), 64, 256, 512)
"""The same, over in no time: for measuring how long the first result takes."""


def _renamed(case: Case) -> Case:
    return replace(case, inputs="small", title=case.title.replace("0 Mi", "64 Ki"))


OCLGRIND_CASES = {
    f"{name}-small": _renamed(SMALL_CASES[name])
    for name in ("vector_add", "sgemm_tiled", "nbody", "reduction", "stencil", "transpose")
}
"""Some of them again, for a peer that takes a second for each."""

SCALING_CASES = {f"iterate-{1024 * 10**power}": _iterate(1024 * 10**power) for power in range(6)}
"""One kernel, from a thousand to a hundred million work-items."""

UNEVEN_CASES = {
    f"uneven-{way.replace(' ', '-')}": _uneven(way, 4096, 1 << 21) for way in _shares(1)
}
"""One kernel whose groups cost the same, or not at all the same."""

EMPTY = Case(
    "empty",
    "empty kernel",
    (64,),
    (64,),
    lambda: [_empty(1024)],
    0,
    lambda given: given[0],
    work=1,
    unit="G launches/s",
)
