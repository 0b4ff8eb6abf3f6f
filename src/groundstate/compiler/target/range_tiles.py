"""How a range of work-items is run as tiles of a matrix: how many rows and columns a tile has.

A kernel whose work-items are numbered along a line, but make the elements of a matrix
(`opt/split_range.py`), runs in tiles of some rows and one vector of columns, or several. What rows
share is loaded once for all of them; where they differ in where they branch, the vectors of one row
share what they can. Tiles that do not lie in the matrix as a whole run row by row.
"""

from __future__ import annotations

from typing import NamedTuple

from groundstate.compiler.analysis import facts
from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.analysis.cost import Shared, estimate
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.analysis.index_digits import Digit
from groundstate.compiler.analysis.rows import differing_values, is_plain, rows_together
from groundstate.compiler.ir import Kernel
from groundstate.compiler.ir.passes import GroupSize, Variant
from groundstate.compiler.opt.split_range import MOST_COLUMNS, RangeInRows
from groundstate.compiler.target import Target

LEAST_LOADS = 12
"""Of a kernel without loops that is worth two versions."""
LARGE = 2
"""How many times as large a kernel may be as others whose vectors fill several registers: products
gain most from that, and the rest of a tile's code is the same for all of them."""

LARGEST_BLOCK = 1 << 24
"""Work-items among which the lanes of a vector are picked."""


class Tiles(NamedTuple):
    """The tiles of a range."""

    range: RangeInRows
    lanes: int
    rows: int
    """Of a tile."""
    vectors: int
    """Of lanes in a row of a tile."""
    distance: int
    """Work-items from a row to the next one in a tile."""

    @property
    def group_size(self) -> GroupSize:
        """Of the group that makes a tile."""
        return self.lanes * self.vectors, self.rows, 1

    @property
    def has_whole_vectors(self) -> bool:
        """Whether no row ends inside of a vector."""
        return self.range.columns % self.lanes == 0

    @property
    def block(self) -> int:
        """The work-items among which those of a row are picked."""
        first = self.range.first
        return first.place * first.extent if first else 1

    @property
    def stride(self) -> int:
        """How far the work-items of a row are apart."""
        return self.range.first.place if self.range.first else 1

    def values(self, target: Target, rows: int | None = None) -> Divergence:
        """The values of the kernel for a tile, or one of fewer rows."""
        columns, all_rows, _ = self.group_size
        count = rows or all_rows
        kernel = self.range.inside(self.distance, count)
        variant = Variant((columns, count, 1), self.lanes, self.lanes)
        return Divergence(kernel, CFG(kernel), variant, target)

    def values_anywhere(self, target: Target) -> Divergence:
        """The values of the kernel for a vector that need not lie in the matrix."""
        kernel = self.range.anywhere(self.distance)
        variant = Variant((self.lanes, 1, 1), self.lanes, self.lanes)
        return Divergence(kernel, CFG(kernel), variant, target)


def tiles_of(usual: Divergence) -> Tiles | None:
    """The tiles that a kernel's range is best run in, or None if it should run as it is."""
    kernel, target = usual.kernel, usual.target
    items, *others = usual.group_size
    if target.lanes == 1 or others != [1, 1] or items == 1 or not _has_work(kernel):
        return None
    in_rows = RangeInRows(kernel, items)
    usual_cost = estimate(usual).as_vector / usual.width
    found = _along_lowest(in_rows, usual_cost, usual)
    if found is not None and found.rows > 1 and found.lanes >= target.lanes:
        return found
    if found is not None:
        usual_cost = _cost(found, target)
    for first in _firsts(in_rows, target):
        turned = RangeInRows(kernel, items, first)
        whole = turned.columns and turned.columns % target.lanes == 0
        tiles = _of_rows(turned, target.lanes, target) if whole else None
        if tiles is not None:
            cost = _cost(tiles, target)
            if cost * target.clearly_faster < usual_cost:
                found, usual_cost = tiles, cost
    return found


def _firsts(in_rows: RangeInRows, target: Target) -> list[Digit]:
    """The digits that lanes may lie along besides the lowest one: those that fill vectors."""
    found = []
    for place, extent in in_rows.higher_digits:
        if extent % target.lanes == 0 and place * (extent or target.lanes) <= LARGEST_BLOCK:
            found.append(Digit(place, extent or target.lanes))
    return found


def _cost(tiles: Tiles, target: Target) -> float:
    """Of a work-item, in cycles."""
    values = tiles.values(target)
    lockstep = rows_together(values, True)
    shared = Shared(lockstep.vectors, differing_values(values, lockstep.along_row))
    return estimate(values, shared=shared).as_vector / tiles.lanes


def _along_lowest(in_rows: RangeInRows, usual_cost: float, usual: Divergence) -> Tiles | None:
    """Tiles whose rows go along the lowest digit, or None."""
    kernel, target = usual.kernel, usual.target
    is_large = sum(1 for _ in kernel.nodes()) > LARGE * target.large_kernel
    lanes = _lanes(in_rows.columns, 1 if is_large else target.vectors_per_value, target)
    if not lanes:
        return None
    found = _of_rows(in_rows, lanes, target)
    if found is not None and lanes > target.lanes and _walks_along_rows(found.values(target)):
        found = _of_rows(in_rows, _lanes(in_rows.columns, 1, target), target)
    if found is not None:
        return found
    whole = in_rows.columns // lanes
    vectors = max(each for each in (*target.rows_together, 1) if whole % each == 0)
    tiles = Tiles(in_rows, lanes, 1, vectors, in_rows.columns)
    cost = estimate(tiles.values(target)).as_vector / lanes
    return tiles if cost * target.clearly_faster < usual_cost else None


def _has_work(kernel: Kernel) -> bool:
    """True if a kernel is plain enough, and has more to do than to compute an element or two."""
    if not is_plain(kernel) or any(node.location is not None for node in kernel.nodes()):
        return False
    loads = sum(node.op == "Load" for node in kernel.nodes())
    return not facts.is_loop_free(kernel) or loads >= LEAST_LOADS


def _lanes(columns: int, registers: int, target: Target) -> int:
    """Of a vector: as many as fill so many registers, and fewer for shorter rows. 0: none."""
    if not 0 < columns <= MOST_COLUMNS:
        return 0
    most = min(target.lanes * registers, columns)
    widths = [each for each in target.subgroup_sizes if 1 < each <= most]
    return max(widths, key=lambda each: (_share_in_vectors(columns, each), each), default=0)


def _walks_along_rows(values: Divergence) -> bool:
    """True if lanes load from rows of their own: what they load of several steps takes as many
    registers, and more lines of them than those of one vector do not stay in the cache."""
    return any(
        values.stride_at(node.operands[0], block) not in (0, node.type.size)
        for block in values.kernel.blocks
        for node in block.nodes
        if node.op == "Load"
    )


def _share_in_vectors(columns: int, lanes: int) -> float:
    """Which part of a row whole vectors make, coarsely: what is left runs slower."""
    return round(columns // lanes * lanes / columns, 1)


def _of_rows(in_rows: RangeInRows, lanes: int, target: Target) -> Tiles | None:
    """Tiles of several rows that always go the same way, and share what they load; or None."""
    for distance in in_rows.distances():
        tiles = Tiles(in_rows, lanes, max(target.rows_of_tile), 1, distance)
        values = tiles.values(target)
        differing = differing_values(values, False)
        if not any(block.condition in differing for block in values.kernel.blocks):
            return tiles if rows_together(values, True).vectors > 1 else None
    return None
