"""Rays, random numbers, particles and points: searches that end early, and places that collide."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.cases import Argument, Array, Case
from benchmarks.kernels.irregular.inputs import (
    GROUP,
    PERIOD,
    empty,
    floats,
    generator,
    lengths,
)

SPHERES = 256
SAMPLES = 8
"""How many random numbers a work-item wants to accept."""
TRIES = 4
"""For one of them, on average, besides those that miss the circle."""
CELLS = 512
"""The grid has as many rows and columns."""
PARTS = 256
"""What a charge is divided into along an axis."""
NEIGHBOURS = 8
POINTS = 1024

F = np.float32


def ray_sphere(inputs: str, rays: int) -> Case:
    """Each work-item looks for the first sphere of a list that its ray hits.

    The spheres are alike if uniform, of different sizes if skewed. Of the adversarial rays one of
    61 misses them all, and the others hit the first one.
    """

    def arguments() -> list[Argument]:
        centres = np.column_stack((floats(SPHERES, 2, seed=27), floats(SPHERES, seed=28) + 1))
        radii = np.full(SPHERES, 0.05)
        if inputs == "skewed":
            radii = 0.01 * np.sqrt(lengths(inputs, SPHERES, 16))
        spheres = np.column_stack((centres, radii)).astype(F)
        origins, directions = empty(rays, 4), empty(rays, 4)
        origins[:, :2] = floats(rays, 2, seed=29)
        directions[:, :2] = 0.1 * (floats(rays, 2, seed=30) - F(0.5))
        directions[:, 2] = 1
        if inputs == "adversarial":
            origins[:, :2], directions[:, :2] = spheres[0, :2], 0
            directions[::PERIOD, 2] = -1
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return [origins, directions, spheres, np.int32(SPHERES), empty(rays, dtype=np.int32)]

    def hits(given: list[Any]) -> Array:
        origins, directions = given[0][:, :3], given[1][:, :3]
        result, live = np.full(rays, -1, np.int32), np.arange(rays)
        for index, sphere in enumerate(given[2]):
            away = sphere[:3] - origins[live]
            along = np.einsum("ij,ij->i", away, directions[live])
            apart = np.einsum("ij,ij->i", away, away) - along * along
            hit = (along > 0) & (apart < sphere[3] * sphere[3])
            result[live[hit]] = index
            live = live[~hit]
        return result

    return Case(
        "ray_sphere",
        f"rays and {SPHERES} spheres, {inputs} hits",
        (rays,),
        (GROUP,),
        arguments,
        4,
        hits,
        work=rays * 1e3,
        unit="M rays/s",
        strays=0.001,
        inputs=inputs,
    )


def _shifted(state: Array) -> Array:
    state = state ^ state << np.uint32(13)
    state ^= state >> np.uint32(17)
    return np.asarray(state ^ state << np.uint32(5))


def _fraction(state: Array) -> Array:
    return (state >> np.uint32(8)).astype(F) * F(2.0**-24)


def monte_carlo(inputs: str, n: int) -> Case:
    """Each work-item draws points of a square until enough are in a circle, as large as it says."""

    def arguments() -> list[Argument]:
        seeds = generator(31).integers(1, 1 << 32, n, dtype=np.uint32)
        squares = (1 / lengths(inputs, n, TRIES)).astype(F)
        return [seeds, squares, np.int32(SAMPLES), empty(n)]

    def sums(given: list[Any]) -> Array:
        state, squares = given[0].copy(), given[1]
        live, result, left = np.arange(n), np.zeros(n, F), np.full(n, SAMPLES)
        while len(live):
            state = _shifted(state)
            x = 2 * _fraction(state) - 1
            state = _shifted(state)
            y = 2 * _fraction(state) - 1
            inside = x * x + y * y < squares
            result[live[inside]] += x[inside]
            left[live[inside]] -= 1
            more = left[live] > 0
            live, state, squares = live[more], state[more], squares[more]
        return result

    return Case(
        "monte_carlo",
        f"Monte Carlo with rejection, {inputs}",
        (n,),
        (GROUP,),
        arguments,
        3,
        sums,
        work=n * SAMPLES * 1e3,
        unit="M samples/s",
        tolerance=1e-5,
        strays=0.001,
        limit="monte_carlo",
        inputs=inputs,
    )


def particles_in_cells(inputs: str, n: int) -> Case:
    """Each work-item adds the charge of a particle to the four cells around it, by atomics.

    Particles are anywhere if uniform, in a cloud if skewed, nearly all in one cell if adversarial.
    """

    def arguments() -> list[Argument]:
        chance = generator(32)
        where = chance.random((n, 2), dtype=F)
        if inputs == "skewed":
            where = np.clip(chance.normal(0.5, 0.01, (n, 2)), 0, 0.999).astype(F)
        if inputs == "adversarial":
            where[np.arange(n) % PERIOD != 0] = F(0.5) + F(0.25 / CELLS)
        where *= F(CELLS - 2)
        return [where, empty(CELLS, CELLS, dtype=np.uint32), np.int32(CELLS)]

    def charges(given: list[Any]) -> Array:
        where = given[0]
        cell = where.astype(np.int64)
        parts = ((where - cell) * PARTS).astype(np.int64)
        total = np.zeros(CELLS * CELLS)
        for row in (0, 1):
            for column in (0, 1):
                beside = parts[:, 0] if column else PARTS - parts[:, 0]
                under = parts[:, 1] if row else PARTS - parts[:, 1]
                at = (cell[:, 1] + row) * CELLS + cell[:, 0] + column
                total += np.bincount(at, beside * under, CELLS * CELLS)
        return (
            (total.astype(np.uint64) & np.uint64(0xFFFFFFFF)).astype(np.uint32).reshape(CELLS, -1)
        )

    return Case(
        "particles_in_cells",
        f"particles in cells, {inputs} places",
        (n,),
        (GROUP,),
        arguments,
        1,
        charges,
        work=n * 1e3,
        unit="M particles/s",
        inputs=inputs,
    )


def nearest_neighbours(inputs: str, n: int) -> Case:
    """Each work-item keeps the eight points that are nearest to its own, in a sorted list.

    The points are anywhere if uniform, in clouds if skewed; the adversarial ones come nearer and
    nearer, so that each goes to the front of the list.
    """

    def arguments() -> list[Argument]:
        chance = generator(33)
        points, queries = floats(POINTS, 4, seed=34), floats(n, 4, seed=35)
        if inputs == "skewed":
            clouds = chance.random((8, 4), dtype=F)
            points = clouds[chance.integers(0, 8, POINTS)] + F(0.02) * points
            queries = clouds[chance.integers(0, 8, n)] + F(0.02) * queries
        if inputs == "adversarial":
            points = np.linspace(2, 1, POINTS, dtype=F)[:, None] * np.ones(4, F)
            queries *= F(0.1)
        return [points, np.int32(POINTS), queries, empty(n, NEIGHBOURS)]

    def distances(given: list[Any]) -> Array:
        points, queries = (given[each][:, :3].astype(np.float64) for each in (0, 2))
        result = np.empty((n, NEIGHBOURS))
        for first in range(0, n, 1024):
            some = queries[first : first + 1024]
            squares = ((some[:, None, :] - points[None]) ** 2).sum(axis=2)
            nearest = np.partition(squares, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
            result[first : first + 1024] = np.sort(nearest, axis=1)
        return result

    return Case(
        "nearest_neighbours",
        f"{NEIGHBOURS} nearest neighbours of {POINTS}, {inputs}",
        (n,),
        (GROUP,),
        arguments,
        3,
        distances,
        work=n * POINTS,
        unit="G pairs/s",
        tolerance=1e-5,
        inputs=inputs,
    )
