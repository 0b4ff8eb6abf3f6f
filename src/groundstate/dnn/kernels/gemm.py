"""Products of matrices as OpenCL C: the one loop nest behind matmul, inner product, convolution.

A group is one row of work-items, and each of them has a column of the result. It holds a few rows
of it in registers. A step of the sum multiplies one number of the right operand for each column
with one of the left operand for each row; the latter is the same for the whole group. So the right
operand lies in panels, as wide as the group, and of the left operand only the steps need to be
known: rows and sums may be nests of several axes, which makes a convolution a product without
copying its windows.

Long sums are cut into blocks that leave the panel in the fastest cache; what a tile has so far
waits in local memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import pow as power
from math import prod
from typing import NamedTuple

from groundstate.dnn.kernels.text import Kernel
from groundstate.dnn.kernels.words import Word
from groundstate.dnn.plan import Launch

SUM_BLOCK = 256
"""Steps of a sum for which a panel and the rows of a tile stay in the fastest cache."""
CACHE = 80_000
"""Numbers that a group may use at a time: the second cache holds them, and some more."""
MOST_TILES = 32
MOST_PANELS = 8
MOST_WAITING = 8192
"""Numbers that wait in local memory."""
LONG_STEPS = 2**31


@dataclass(frozen=True)
class Axis:
    """One axis of a nest: so many steps of so many elements in the left and the right operand."""

    count: int
    left: int
    right: int = 0


class Tile(NamedTuple):
    """What one group computes at a time, and how many groups a device is busy with."""

    lanes: int = 16
    rows: int = 6
    groups: int = 16
    dots: frozenset[str] = frozenset()
    """The kinds of words whose products the device adds up in one instruction."""


@dataclass(frozen=True)
class Product:
    """A product of two operands, all of whose sizes and steps are known."""

    rows: tuple[Axis, ...]
    """The nest of rows, the slowest first; only their steps in the left operand count."""
    columns: int
    sums: tuple[Axis, ...]
    """The nest that is summed over, the slowest first."""
    panel_step: int
    """From one panel of the right operand to the next, in elements."""
    batches: tuple[Axis, ...] = ()
    """The nest of products that are computed side by side."""
    number: str = "float"
    """The type of both operands and of the sums of a block."""
    total: str = ""
    """The type of the sum of all blocks, if it is another one."""
    is_lanewise: bool = False
    """True if each column has rows of its own in the left operand, next to each other."""
    is_shared: bool = False
    """True if all columns have the same numbers in the right operand."""
    block: int = SUM_BLOCK
    """After how many steps of the sum the next tile of a group has its turn."""
    word: Word | None = None
    """What the elements of both operands are, if they are several numbers each."""
    shift: str = ""
    """By how much the numbers of the left operand are too large, for words."""

    @property
    def row_count(self) -> int:
        return prod(axis.count for axis in self.rows)

    @property
    def batch_count(self) -> int:
        return prod(axis.count for axis in self.batches)


def merged(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """The same nest with as few axes as possible.

    >>> merged([Axis(3, 96, 48), Axis(3, 4, 16), Axis(4, 1, 4)])
    (Axis(count=3, left=96, right=48), Axis(count=12, left=1, right=4))
    """
    nest: list[Axis] = []
    for axis in axes:
        if axis.count == 1:
            continue
        outer = nest[-1] if nest else None
        steps = (axis.count * axis.left, axis.count * axis.right)
        if outer is not None and (outer.left, outer.right) == steps:
            nest[-1] = Axis(outer.count * axis.count, axis.left, axis.right)
        else:
            nest.append(axis)
    return tuple(nest)


def sum_nest(product: Product) -> tuple[Axis, ...]:
    """The nest of a sum as it is written: the last axis is one that fits into the cache."""
    if any(axis.count == 0 for axis in product.sums):
        return (Axis(0, 0),)
    nest = merged(product.sums) or (Axis(1, 0),)
    last = nest[-1]
    for parts in range(-(-last.count // product.block), 2 * last.count // product.block + 1):
        if parts > 1 and last.count % parts == 0:
            inner = last.count // parts
            outer = Axis(parts, inner * last.left, inner * last.right)
            return (*nest[:-1], outer, Axis(inner, last.left, last.right))
    return nest


def fitted(product: Product, tile: Tile) -> Tile:
    """The tile with as many rows as are computed the fastest: few are slow, but so are idle ones.

    >>> [fitted(Product((Axis(n, 1),), 16, (), 0), Tile()).rows for n in (1, 8, 49, 60)]
    [1, 4, 5, 6]
    """

    def speed(rows: int) -> float:
        used = product.row_count / (-(-product.row_count // rows) * rows)
        return used * (1 - 0.5 * power(1 - rows / tile.rows, 1.5))

    return tile._replace(rows=max(range(1, tile.rows + 1), key=speed))


class Shares(NamedTuple):
    """How a product is shared out over groups, and its sums over blocks."""

    panels: int
    tiles: int
    panels_of_group: int
    tiles_of_group: int
    blocks: int
    steps_of_block: int
    """Of the outer axes of the sum, or of the only one."""


def shares(product: Product, tile: Tile) -> Shares:
    """Parts that read as little as possible, but enough of them for the whole device."""
    panels = -(-product.columns // tile.lanes)
    tiles = -(-product.row_count // tile.rows)
    *outer, inner = sum_nest(product)
    steps = prod(axis.count for axis in outer) if outer else inner.count
    block = product.block / inner.count if outer else product.block
    blocks = max(1, round(steps / max(1, block)))
    steps_of_block = max(1, -(-steps // blocks))
    blocks = max(1, -(-steps // steps_of_block))
    depth = steps_of_block * (inner.count if outer else 1)
    wide, tall = _part(product, tile, (panels, tiles), depth, blocks > 1)
    return Shares(panels, tiles, wide, tall, blocks, steps_of_block)


def longest_block(product: Product, tile: Tile) -> int:
    """How many products are summed up in one block, at most."""
    parts = shares(product, fitted(product, tile))
    *outer, inner = sum_nest(product)
    return parts.steps_of_block * (inner.count if outer else 1)


def _part(
    product: Product, tile: Tile, counts: tuple[int, int], depth: int, waits: bool
) -> tuple[int, int]:
    """How many panels and tiles a group takes, by what all groups read together."""
    panels, tiles = counts
    steps = prod(axis.count for axis in product.sums)
    spans = ((axis.count - 1) * axis.left for axis in (*product.rows, *product.sums))
    left = min(sum(spans) + 1, product.row_count * steps)
    best, least = (1, 1), (float("inf"), 0.0)
    for wide in range(1, min(panels, MOST_PANELS) + 1):
        for tall in range(1, min(tiles, MOST_TILES) + 1):
            across, down = -(-panels // wide), -(-tiles // tall)
            held = tall * tile.rows * wide * tile.lanes
            used = held + depth * (tall * tile.rows + wide * tile.lanes)
            if wide * tall > 1 and (used > CACHE or (waits and held > MOST_WAITING)):
                continue
            missing = max(0, tile.groups - across * down * product.batch_count)
            read = left * across + product.columns * steps * down
            if (missing, read) < least:
                best, least = (wide, tall), (missing, read)
    return best


def launch(kernel: Kernel, product: Product, finish: Sequence[str], tile: Tile) -> Launch:
    """Writes the body of a kernel that has the parameters `left` and `right`, and launches it.

    `finish` are the lines that take a number of the result to where it belongs: its value is `acc`,
    its place `batch`, `row` and `column`.
    """
    tile = fitted(product, tile)
    kernel.extend(Writer(product, finish, tile).lines())
    parts = shares(product, tile)
    across = -(-parts.panels // parts.panels_of_group)
    down = -(-parts.tiles // parts.tiles_of_group)
    items = (across * tile.lanes, down, product.batch_count)
    return kernel.launch(items=items, group_size=(tile.lanes, 1, 1))


def offset(index: str, axes: Sequence[Axis], side: str = "left") -> str:
    """Where the element of a number is that counts through a nest, in elements."""
    terms = []
    inner = prod(axis.count for axis in axes)
    for position, axis in enumerate(axes):
        inner //= axis.count
        step = axis.left if side == "left" else axis.right
        if step == 0 or axis.count == 1:
            continue
        digit = f"{index} / {inner}" if inner > 1 else index
        if position and any(each.count > 1 for each in axes[:position]):
            digit = f"({digit}) % {axis.count}"
        terms.append(f"({digit}) * {step}")
    return " + ".join(terms) or "0"


class Writer:
    """Writes one kernel."""

    def __init__(self, product: Product, finish: Sequence[str], tile: Tile) -> None:
        self.product, self.finish, self.tile = product, finish, tile
        self.parts = shares(product, tile)
        self.number, self.total = product.number, product.total or product.number
        self.element = "gs_word" if product.word else self.number
        *self.outer, self.inner = sum_nest(product)
        self.rows = merged(product.rows)
        self.index = "long" if self._reaches_far() else "int"

    def _reaches_far(self) -> bool:
        nests = (self.product.rows, self.product.sums, self.product.batches)
        left = sum(axis.count * axis.left for nest in nests for axis in nest)
        right = sum(axis.count * axis.right for nest in nests[1:] for axis in nest)
        right += self.parts.panels * self.product.panel_step
        return max(left, right, self.product.row_count * self.product.columns) >= LONG_STEPS

    def lines(self) -> Iterator[str]:
        if self.parts.blocks > 1:
            size = self.parts.panels_of_group * self.parts.tiles_of_group
            size *= self.tile.rows * self.tile.lanes
            yield f"local {self.total} waiting[{size}];"
        yield from self.places()
        yield from self._nest()

    def places(self, *, with_lane: bool = True) -> Iterator[str]:
        """Where the operands of the group begin, and which panels and tiles it has."""
        index, product, parts = self.index, self.product, self.parts
        yield f"const {index} lane = get_local_id(0), batch = get_group_id(2);"
        yield f"left += {offset('batch', product.batches)};"
        lanes = "" if product.is_shared or not with_lane else " + lane"
        yield f"right += {offset('batch', product.batches, 'right')}{lanes};"
        for noun, axis, share, total in (
            ("panel", 0, parts.panels_of_group, parts.panels),
            ("tile", 1, parts.tiles_of_group, parts.tiles),
        ):
            first = f"({index})get_group_id({axis}) * {share}"
            yield f"const {index} first_{noun} = {first};"
            end = f"first_{noun} + {share}"
            end = f"min({end}, ({index}){total})" if total % share else end
            yield f"const {index} {noun}_end = {end};"

    def _nest(self) -> Iterator[str]:
        index = self.index
        if self.parts.blocks > 1:
            yield f"for (int block = 0; block < {self.parts.blocks}; block++)"
        yield f"for ({index} panel = first_panel; panel < panel_end; panel++)"
        yield f"for ({index} tile = first_tile; tile < tile_end; tile++) {{"
        yield from (f"    {line}" for line in self._tile())
        yield "}"

    def _tile(self) -> Iterator[str]:
        rows = range(self.tile.rows)
        yield f"const {self.index} first_row = tile * {self.tile.rows};"
        yield f"const {self.index} column = panel * {self.tile.lanes} + lane;"
        lanes = " + column" if self.product.is_lanewise else ""
        for i in rows:
            yield f"global const {self.element} *a{i} = left + {self._row_offset(i)}{lanes};"
        yield f"global const {self.element} *b = right + panel * {self.product.panel_step};"
        yield f"{self.number} " + ", ".join(f"c{i} = 0" for i in rows) + ";"
        if self.product.shift:
            yield "int column_sum = 0;"
        if self.parts.blocks == 1:
            yield from self._sum()
            yield from self._shifted_back()
            yield from self._totals()
        elif self.total == self.number:
            yield from self._sum_of_block()
        else:
            yield from self._converted_block()
        yield from self._finish()

    def _row_offset(self, i: int) -> str:
        """Rows behind the last one are computed like the last one, and left out of the result."""
        if self.product.row_count % self.tile.rows == 0:
            row = f"(first_row + {i})"
        else:
            row = f"min(first_row + {i}, ({self.index}){self.product.row_count - 1})"
        return offset(row, self.rows)

    def _sum(self, first: str = "0", steps: str = "") -> Iterator[str]:
        """Adds up all steps of the nest, or some of its outer ones."""
        if not self.outer:
            yield from self._inner("0", "0", steps or str(self.inner.count))
            return
        total = prod(axis.count for axis in self.outer)
        end = f"{first} + {steps}" if steps else str(total)
        yield f"for (int outer = {first}; outer < {end}; outer++) {{"
        yield f"    const {self.index} from_left = {offset('outer', self.outer)};"
        yield f"    const {self.index} from_right = {offset('outer', self.outer, 'right')};"
        inner = self._inner("from_left", "from_right", str(self.inner.count))
        yield from (f"    {line}" for line in inner)
        yield "}"

    def _inner(self, from_left: str, from_right: str, count: str) -> Iterator[str]:
        yield f"for (int k = 0; k < {count}; k++) {{"
        yield f"    const {self.element} each = b[{from_right} + k * {self.inner.right}];"
        word = self.product.word
        if word and self.product.shift:
            added = word.dot.format(total="column_sum", left=word.ones, right="each")
            yield f"    column_sum = {added};"
        for i in range(self.tile.rows):
            element = f"a{i}[{from_left} + k * {self.inner.left}]"
            if word:
                yield f"    c{i} = {word.dot.format(total=f'c{i}', left=element, right='each')};"
            elif self.number == "int":
                yield f"    c{i} += {element} * each;"
            else:
                yield f"    c{i} = fma({element}, each, c{i});"
        yield "}"

    def _shifted_back(self) -> Iterator[str]:
        """Takes back what the shift of the left operand has added to the sums."""
        if self.product.shift:
            yield f"column_sum *= {self.product.shift};"
            yield from self._each("c{i} -= column_sum;")

    def _sum_of_block(self) -> Iterator[str]:
        """The sum goes on from what the tile has so far."""
        yield self._so_far()
        yield "if (block > 0) {"
        yield from self._each("    c{i} = so_far[{place}];")
        yield "}"
        yield from self._block()
        yield from self._shifted_back()
        yield from self._put_aside("c")

    def _converted_block(self) -> Iterator[str]:
        """A block is summed up on its own, and added as a number of another type."""
        yield self._so_far()
        yield from self._block()
        yield from self._totals()
        yield "if (block > 0) {"
        yield from self._each("    t{i} += so_far[{place}];")
        yield "}"
        yield from self._put_aside("t")

    def _so_far(self) -> str:
        parts, size = self.parts, self.tile.rows * self.tile.lanes
        place = f"(panel - first_panel) * {parts.tiles_of_group} + tile - first_tile"
        return f"local {self.total} *so_far = waiting + ({place}) * {size} + lane;"

    def _put_aside(self, name: str) -> Iterator[str]:
        """What the tile has waits for the next block."""
        yield f"if (block < {self.parts.blocks - 1}) {{"
        yield from self._each(f"    so_far[{{place}}] = {name}{{i}};")
        yield "    continue;"
        yield "}"

    def _totals(self) -> Iterator[str]:
        if self.total != self.number:
            yield from self._each(f"{self.total} t{{i}} = ({self.total})c{{i}};")

    def _each(self, line: str) -> Iterator[str]:
        """A line for each row of the tile."""
        for i in range(self.tile.rows):
            yield line.format(i=i, place=i * self.tile.lanes)

    def _block(self) -> Iterator[str]:
        parts = self.parts
        total = prod(axis.count for axis in self.outer) if self.outer else self.inner.count
        yield f"const int first_step = block * {parts.steps_of_block};"
        steps = str(parts.steps_of_block)
        if total % parts.steps_of_block:
            steps = f"min({steps}, {total} - first_step)"
        yield f"const int steps = {steps};"
        if self.outer:
            yield from self._sum("first_step", "steps")
            return
        for i in range(self.tile.rows):
            yield f"a{i} += first_step * ({self.index}){self.inner.left};"
        yield f"b += first_step * ({self.index}){self.inner.right};"
        yield from self._sum(steps="steps")

    def _finish(self) -> Iterator[str]:
        is_ragged = self.product.columns % self.tile.lanes
        if is_ragged:
            yield f"if (column < {self.product.columns}) {{"
        for i in range(self.tile.rows):
            condition = ""
            if self.product.row_count % self.tile.rows and i:
                condition = f"if (first_row + {i} < {self.product.row_count}) "
            yield f"{condition}{{"
            yield f"    const {self.index} row = first_row + {i};"
            yield f"    {self.total} acc = {'c' if self.total == self.number else 't'}{i};"
            yield from (f"    {line}" for line in self.finish)
            yield "}"
        if is_ragged:
            yield "}"
