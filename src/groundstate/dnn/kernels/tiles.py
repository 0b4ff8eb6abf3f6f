"""Products by tile registers, in the place of the loops of `gemm`, where the device has them.

One operation of the device multiplies two halves of up to 16 rows with 32 columns, over all steps
of a sum, and writes the sums to local memory; then work-items finish their columns. A step is up to
16 words of each row that follow each other, and the steps of a nest are a table of offsets. The
rows of a half are equally far apart: in a convolution they are windows beside each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product as combinations
from math import prod

from groundstate.dnn.kernels import gemm
from groundstate.dnn.kernels.gemm import Product, Tile
from groundstate.dnn.kernels.text import Kernel
from groundstate.dnn.kernels.words import Word
from groundstate.dnn.plan import Launch

LANES, MOST_ROWS, MOST_WORDS = 32, 16, 16
FEWEST_ROWS, FEWEST_WORDS = 4, 2
"""With fewer, tiles are mostly empty."""
MOST_STEPS = 4096


@dataclass(frozen=True)
class Tiling:
    """How a product is cut into tiles."""

    half: int
    """Rows of a half."""
    row_step: int
    """From one row of a half to the next, in words."""
    words: int
    """Of a step."""
    offsets: tuple[tuple[int, int], ...]
    """Where the words of each step are in the left and the right operand."""


def tiling(product: Product, tile: Tile) -> Tiling | None:
    """How the tile registers of a device compute a product; None if they do not."""
    if "tiles" not in tile.dots or product.word is None or not product.word.tiles:
        return None
    *outer, inner = gemm.merged(product.sums) or (gemm.Axis(1, 1, LANES),)
    words = max((n for n in range(1, MOST_WORDS + 1) if inner.count % n == 0), default=0)
    fits = tile.lanes == LANES and (inner.left, inner.right) == (1, LANES)
    if not fits or words < FEWEST_WORDS or product.is_lanewise or product.is_shared:
        return None
    rows = gemm.merged(product.rows) or (gemm.Axis(1, 0),)
    last = rows[-1].count
    half = MOST_ROWS if len(rows) == 1 else _half(last)
    steps = prod(axis.count for axis in outer) * (inner.count // words)
    if half < min(FEWEST_ROWS, last) or not 0 < steps <= MOST_STEPS:
        return None
    offsets = []
    for place in combinations(*(range(axis.count) for axis in outer)):
        left = sum(at * axis.left for at, axis in zip(place, outer, strict=True))
        right = sum(at * axis.right for at, axis in zip(place, outer, strict=True))
        for first in range(0, inner.count, words):
            offsets.append((left + first, right + first * LANES))
    if max(max(pair) for pair in offsets) >= gemm.LONG_STEPS:
        return None
    return Tiling(half, rows[-1].left, words, tuple(offsets))


def _half(count: int) -> int:
    """The most rows that divide those of a line."""
    return max(n for n in range(1, MOST_ROWS + 1) if count % n == 0)


def launch(
    kernel: Kernel, product: Product, finish: Sequence[str], tile: Tile, cut: Tiling
) -> Launch:
    """Writes the body of a kernel that has the parameters `left` and `right`, and launches it."""
    assert product.word is not None
    whole = replace(product, block=len(cut.offsets) * cut.words + 1)
    tile = tile._replace(rows=2 * cut.half)
    writer = _Writer(whole, finish, tile, cut)
    numbers = ", ".join(f"{left}, {right}" for left, right in cut.offsets)
    kernel.functions += [
        _declaration(product.word),
        f"constant int step_offsets[{2 * len(cut.offsets)}] = {{{numbers}}};\n",
    ]
    kernel.extend(writer.lines())
    parts = writer.parts
    across = -(-parts.panels // parts.panels_of_group)
    down = -(-parts.tiles // parts.tiles_of_group)
    items = (across * LANES, down, product.batch_count)
    return kernel.launch(items=items, group_size=(LANES, 1, 1), sub_group=LANES)


def _declaration(word: Word) -> str:
    return (
        f"void __groundstate_tiles_{word.tiles}(local {word.total} *, global const gs_word *, "
        "global const gs_word *, long, global const gs_word *, constant int *, int, int, int, int);"
        "\n"
    )


class _Writer:
    """Writes one kernel."""

    def __init__(self, product: Product, finish: Sequence[str], tile: Tile, cut: Tiling) -> None:
        assert product.word is not None
        self.product, self.finish, self.tile, self.cut = product, finish, tile, cut
        self.word = product.word
        self.base = gemm.Writer(product, finish, tile)
        self.parts, self.index = self.base.parts, self.base.index

    def lines(self) -> Iterator[str]:
        """The body."""
        yield f"local {self.word.total} sums[{self.tile.rows * LANES}];"
        yield from self.base.places(with_lane=False)
        yield f"for ({self.index} panel = first_panel; panel < panel_end; panel++) {{"
        yield f"    global const gs_word *b = right + panel * {self.product.panel_step};"
        yield from (f"    {line}" for line in self._column_sum())
        yield f"    for ({self.index} tile = first_tile; tile < tile_end; tile++) {{"
        yield from (f"        {line}" for line in self._tile())
        yield "    }"
        yield "}"

    def _column_sum(self) -> Iterator[str]:
        """What the shift of the left operand adds to each sum of a column."""
        if not self.product.shift:
            return
        steps, words = len(self.cut.offsets), self.cut.words
        each = f"b[step_offsets[2 * step + 1] + word * {LANES} + lane]"
        added = self.word.dot.format(total="column_sum", left=self.word.ones, right=each)
        yield "int column_sum = 0;"
        yield f"for (int step = 0; step < {steps}; step++)"
        yield f"    for (int word = 0; word < {words}; word++)"
        yield f"        column_sum = {added};"
        yield f"column_sum *= {self.product.shift};"

    def _tile(self) -> Iterator[str]:
        half, count = self.cut.half, self.product.row_count
        yield f"const {self.index} first_row = tile * {2 * half};"
        yield f"const {self.index} column = panel * {LANES} + lane;"
        if count % (2 * half) == 0:
            rows = [str(half), str(half)]
        else:
            rest = f"({self.index}){count} - first_row"
            yield f"const int rows = min({rest}, ({self.index}){2 * half});"
            rows = [f"min(rows, {half})", f"max(rows - {half}, 0)"]
        yield f"const int first_rows = {rows[0]}, second_rows = {rows[1]};"
        for which, row in enumerate(("first_row", f"(first_row + {half})")):
            if which and count % (2 * half):
                row = f"min({row}, ({self.index}){count - 1})"
            place = gemm.offset(row, self.base.rows)
            yield f"global const gs_word *a{which} = left + {place};"
        yield (
            f"__groundstate_tiles_{self.word.tiles}(sums, a0, a1, {4 * self.cut.row_step}, b, "
            f"step_offsets, {len(self.cut.offsets)}, first_rows, second_rows, {self.cut.words});"
        )
        is_ragged = self.product.columns % LANES
        if is_ragged:
            yield f"if (column < {self.product.columns})"
        yield "for (int i = 0; i < first_rows + second_rows; i++) {"
        yield f"    const {self.index} row = first_row + i;"
        shifted = " - column_sum" if self.product.shift else ""
        yield f"    {self.word.total} acc = sums[i * {LANES} + lane]{shifted};"
        yield from (f"    {line}" for line in self.finish)
        yield "}"
