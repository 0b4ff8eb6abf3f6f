"""`run` of a kernel whose range is a matrix: the loop over tiles.

A call runs a range of groups, as of any other kernel, but work-items are not divided into groups
here. They are divided into tiles, and each call gets the part of all tiles that its groups are of
all groups: every tile is run once, whatever ranges the launch is divided into. Tiles that lie one
above the other follow each other, up to `TALL` of them, so that their columns stay in the cache.

A tile that lies in the matrix as a whole is one group of the fast version. Of others, each vector
is run by itself, by a version that asks which of its work-items there are. A launch that is not a
single line of groups from zero on, or has too many work-items, is run item by item.
"""

from __future__ import annotations

from groundstate.compiler.analysis.index_digits import MOST_ITEMS
from groundstate.compiler.analysis.rows import Lockstep
from groundstate.compiler.codegen.control.loop_hints import LOOP_HINT_LINES
from groundstate.compiler.codegen.control.speculation import MOSTLY_LINE
from groundstate.compiler.codegen.group_loop import (
    OFFSET_GROUP,
    OFFSET_GROUP_COUNTS,
    OFFSET_LOCAL_BYTES,
)
from groundstate.compiler.codegen.kernel import OFFSET_GLOBAL_OFFSET, Code, KernelWriter
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.light_dataclass import light_dataclass

TALL = 16
"""So many tiles, one above the other, are run before those to the right of them."""
FAST, EDGE, ITEM = "tile", "row", "item"
"""The functions for a whole tile, for a row or a vector of one that is not, and for a work-item."""

UMIN = "declare i64 @llvm.umin.i64(i64, i64)"


class TileWriter(KernelWriter):
    """Writes the code of a tile, or of a vector of one, whose ids are a column and a row."""

    may_stream = False
    """Rows of a tile do not fill pages, and LLVM would move all that a row computes to the branch
    in front of its store, away from what it shares with other rows."""
    items_of_group = 0
    """In a group of the launch."""

    def _write_ids_of_row(self, local: list[Lanes]) -> None:
        """Columns and rows begin at zero, and the launch has its own groups."""
        super()._write_ids_of_row(local)
        text, ids = self.text, self.context.ids
        columns, rows = (
            text.emit(f"mul i64 {group}, {size}")
            for group, size in zip(("%gx", "%gy"), self.size, strict=False)
        )
        ids["GlobalInvocationId"] = [self._plus(local[0], columns), self._plus(local[1], rows)]
        counts = self._invariant("i64", "%dispatch", OFFSET_GROUP_COUNTS)
        size = text.emit(f"mul i64 {counts}, {self.items_of_group}")
        ids["GlobalSize"] = [Lanes("i64", size)]


@light_dataclass()
class TileLoop:
    """Writes `run`."""

    items: int
    """In a group."""
    columns: int
    distance: int
    """From a row of a tile to the next, in work-items."""
    limit: int
    """Work-items from which on the fast version does not hold."""
    lanes: int
    rows: int
    """Of a tile."""
    vectors: int
    """In a row of a tile."""
    lockstep: Lockstep
    has_whole_vectors: bool
    """Whether no row ends inside of a vector."""
    block: int = 1
    """So many work-items, of which the last ones are not a whole block, may have an order of their
    own: those of a row are `stride` apart."""
    stride: int = 1

    def lines(self) -> list[str]:
        """The function."""
        return [
            "define void @run(ptr noalias readonly %dispatch, i64 %first, i64 %count, "
            "ptr %local) nounwind {",
            "entry:",
            *(
                f"  %{name} = load i64, ptr %at.{name}, align 8, !invariant.load !0"
                if is_load
                else f"  %at.{name} = getelementptr i8, ptr %dispatch, i64 {offset}"
                for name, offset in (
                    ("cx", OFFSET_GROUP_COUNTS),
                    ("cy", OFFSET_GROUP_COUNTS + 8),
                    ("cz", OFFSET_GROUP_COUNTS + 16),
                    ("start", OFFSET_GLOBAL_OFFSET),
                    ("local.bytes", OFFSET_LOCAL_BYTES),
                )
                for is_load in (False, True)
            ),
            "  %local.end = getelementptr i8, ptr %local, i64 %local.bytes",
            f"  %mark = getelementptr i8, ptr %local, i64 {OFFSET_GROUP}",
            "  %end = add i64 %first, %count",
            f"  %total = mul i64 %cx, {self.items}",
            "  %planes = mul i64 %cy, %cz",
            "  %is.line = icmp eq i64 %planes, 1",
            "  %from.zero = icmp eq i64 %start, 0",
            f"  %is.small = icmp ule i64 %total, {MOST_ITEMS}",
            "  %is.plain = and i1 %is.line, %from.zero",
            "  %is.matrix = and i1 %is.plain, %is.small",
            "  br i1 %is.matrix, label %matrix, label %groups",
            *self._tile_lines(),
            *self._group_lines(),
            "finish:",
            "  ret void",
            "}",
        ]

    def _tile_lines(self) -> list[str]:
        band = self.distance * self.rows
        return [
            "matrix:",
            f"  %more.items = add i64 %total, {band - 1}",
            f"  %bands = udiv i64 %more.items, {band}",
            f"  %tiles = mul i64 %bands, {self._across * self._places}",
            "  %first.part = mul i64 %first, %tiles",
            "  %end.part = mul i64 %end, %tiles",
            "  %t.first = udiv i64 %first.part, %cx",
            "  %t.end = udiv i64 %end.part, %cx",
            f"  %below.limit = call i64 @llvm.umin.i64(i64 %total, i64 {self.limit})",
            f"  %in.block = urem i64 %below.limit, {self.block}",
            "  %inside = sub i64 %below.limit, %in.block",
            "  br label %tiles.next",
            "tiles.next:",
            "  %t = phi i64 [ %t.first, %matrix ], [ %t.more, %tile.end ]",
            "  %t.goes = icmp ult i64 %t, %t.end",
            "  br i1 %t.goes, label %one.tile, label %finish",
            "one.tile:",
            *self._place_lines(),
            f"  %band.first = mul i64 %band, {band}",
            f"  %band.end = add i64 %band.first, {band}",
            f"  %group = udiv i64 %band.first, {self.items}",
            "  store volatile i64 %group, ptr %mark, align 8",
            "  %is.inside = icmp ule i64 %band.end, %inside",
            f"  %is.whole = icmp ult i64 %column, {self.columns // self._wide}",
            "  %is.fast = and i1 %is.inside, %is.whole",
            "  br i1 %is.fast, label %fast, label %rows",
            "fast:",
            "  %n = phi i64 [ 0, %one.tile ], [ %n.more, %fast ]",
            f"  %sub = mul i64 %n, {self.lockstep.vectors}",
            self._call(FAST, "%column, i64 %band, i64 %place, i64 %sub"),
            "  %n.more = add i64 %n, 1",
            f"  %n.goes = icmp ult i64 %n.more, {self._steps}",
            "  br i1 %n.goes, label %fast, label %tile.end",
            *self._row_lines(),
            "tile.end:",
            "  %t.more = add i64 %t, 1",
            "  br label %tiles.next",
        ]

    @property
    def _steps(self) -> int:
        """The calls of the fast version for a tile."""
        return self.rows * self.vectors // self.lockstep.vectors

    @property
    def _wide(self) -> int:
        """The columns of a tile."""
        return self.lanes * self.vectors

    @property
    def _across(self) -> int:
        """The tiles next to each other."""
        return -(-self.columns // self._wide)

    @property
    def _places(self) -> int:
        """The tiles between two rows of one."""
        return self.distance // self.columns

    def _place_lines(self) -> list[str]:
        """Where a tile lies."""
        if self._places > 1:
            return [
                f"  %band = udiv i64 %t, {self._across * self._places}",
                f"  %in.band = urem i64 %t, {self._across * self._places}",
                f"  %column = udiv i64 %in.band, {self._places}",
                f"  %place = urem i64 %in.band, {self._places}",
            ]
        return [
            f"  %stack = udiv i64 %t, {TALL * self._across}",
            f"  %in.stack = urem i64 %t, {TALL * self._across}",
            f"  %top = mul i64 %stack, {TALL}",
            "  %below = sub i64 %bands, %top",
            f"  %height = call i64 @llvm.umin.i64(i64 %below, i64 {TALL})",
            "  %column = udiv i64 %in.stack, %height",
            "  %in.column = urem i64 %in.stack, %height",
            "  %band = add i64 %top, %in.column",
            "  %place = add i64 0, 0",
        ]

    def _row_lines(self) -> list[str]:
        """The rows of a tile, one by one."""
        one_row = self._whole_row_lines if self.has_whole_vectors else self._masked_row_lines
        return [
            "rows:",
            f"  %row.first = mul i64 %band, {self.rows}",
            f"  %in.distance = mul i64 %place, {self.columns}",
            f"  %in.row = mul i64 %column, {self._wide}",
            "  br label %one.row",
            "one.row:",
            "  %r = phi i64 [ 0, %rows ], [ %r.more, %row.end ]",
            "  %row = add i64 %row.first, %r",
            *one_row(),
            "row.end:",
            "  %r.more = add i64 %r, 1",
            f"  %r.goes = icmp ult i64 %r.more, {self.rows}",
            "  br i1 %r.goes, label %one.row, label %tile.end",
        ]

    def _masked_row_lines(self) -> list[str]:
        return [
            f"  %vector.first = mul i64 %column, {self.vectors}",
            "  br label %one.vector",
            "one.vector:",
            "  %v = phi i64 [ 0, %one.row ], [ %v.more, %one.vector ]",
            "  %vector = add i64 %vector.first, %v",
            self._call(EDGE, "%vector, i64 %row, i64 %place, i64 0"),
            "  %v.more = add i64 %v, 1",
            f"  %v.goes = icmp ult i64 %v.more, {self.vectors}",
            "  br i1 %v.goes, label %one.vector, label %row.end",
        ]

    def _whole_row_lines(self) -> list[str]:
        """A row by the fast version for one, or what there is of it, item by item. If tiles have
        one row, that is all: others are none."""
        by_row = [
            "  br i1 %row.inside, label %whole, label %items",
            "whole:",
            self._call(EDGE, "%column, i64 %row, i64 %place, i64 0"),
            "  br label %row.end",
        ]
        return [
            f"  %before = mul i64 %row, {self.distance}",
            "  %to.row = add i64 %before, %in.distance",
            "  %i.first = add i64 %to.row, %in.row",
            f"  %i.whole = add i64 %i.first, {self._wide}",
            "  %i.end = call i64 @llvm.umin.i64(i64 %i.whole, i64 %total)",
            "  %row.inside = icmp ule i64 %i.whole, %inside",
            *(by_row if self.rows > 1 else ["  br label %items"]),
            "items:",
            "  %i = phi i64 [ %i.first, %one.row ], [ %i.more, %item.next ]",
            "  %i.goes = icmp ult i64 %i, %i.end",
            "  br i1 %i.goes, label %item.next, label %row.end",
            "item.next:",
            *self._number_lines(),
            f"  %i.group = udiv i64 %i.number, {self.items}",
            f"  %i.local = urem i64 %i.number, {self.items}",
            self._call(ITEM, "%i.group, i64 0, i64 0, i64 %i.local", ".of.row"),
            "  %i.more = add i64 %i, 1",
            "  br label %items",
        ]

    def _number_lines(self) -> list[str]:
        """The number of a work-item in the launch. In a block, what counts up from row to row
        comes first there, and the column counts up by the stride."""
        return [
            f"  %i.in.block = urem i64 %i, {self.block}",
            "  %i.block = sub i64 %i, %i.in.block",
            f"  %i.column = urem i64 %i.in.block, {self.block // self.stride}",
            f"  %i.row = udiv i64 %i.in.block, {self.block // self.stride}",
            f"  %i.to.column = mul i64 %i.column, {self.stride}",
            "  %i.to.item = add i64 %i.to.column, %i.row",
            "  %i.item = add i64 %i.block, %i.to.item",
            "  %i.is.moved = icmp ult i64 %i, %inside",
            "  %i.number = select i1 %i.is.moved, i64 %i.item, i64 %i",
        ]

    def _group_lines(self) -> list[str]:
        """Groups as the launch has them, item by item."""
        return [
            "groups:",
            "  %g = phi i64 [ %first, %entry ], [ %g.more, %group.end ]",
            "  %g.goes = icmp ult i64 %g, %end",
            "  br i1 %g.goes, label %one.group, label %finish",
            "one.group:",
            "  store volatile i64 %g, ptr %mark, align 8",
            "  %x = urem i64 %g, %cx",
            "  %line = udiv i64 %g, %cx",
            "  %y = urem i64 %line, %cy",
            "  %z = udiv i64 %line, %cy",
            "  br label %one.item",
            "one.item:",
            "  %j = phi i64 [ 0, %one.group ], [ %j.more, %one.item ]",
            self._call(ITEM, "%x, i64 %y, i64 %z, i64 %j"),
            "  %j.more = add i64 %j, 1",
            f"  %j.goes = icmp ult i64 %j.more, {self.items}",
            "  br i1 %j.goes, label %one.item, label %group.end",
            "group.end:",
            "  %g.more = add i64 %g, 1",
            "  br label %groups",
        ]

    @staticmethod
    def _call(name: str, place: str, mark: str = "") -> str:
        nothing = "ptr %local, ptr %local, ptr %local, ptr %local, ptr %local"
        return (
            f"  %ended.{name}{mark} = call i32 @{name}(ptr %dispatch, i64 {place}, i32 0, "
            f"ptr %local, ptr %local.end, {nothing}, ptr null, ptr null, ptr null, i1 false)"
        )


def tiled_code(
    loop: TileLoop, fast: TileWriter, edge: TileWriter | None, item: KernelWriter, shape: int
) -> Code:
    """LLVM IR of a kernel that runs in tiles."""
    functions = (
        (FAST, fast, "alwaysinline"),
        (EDGE, edge, "noinline"),
        (ITEM, item, "noinline cold"),
    )
    lines: list[str] = []
    declarations = {"llvm.umin.i64": UMIN}
    for name, writer, attributes in functions:
        if writer is None:
            continue
        writer.write_step()
        lines += writer.step_lines(name, attributes)
        declarations |= writer.text.declarations
    lines += [*loop.lines(), *declarations.values()]
    lines += ["!0 = !{}", "!1 = !{i32 1}", MOSTLY_LINE, *LOOP_HINT_LINES]
    return Code("\n".join(lines) + "\n", 0, 0, loop.lanes, shape=shape)
