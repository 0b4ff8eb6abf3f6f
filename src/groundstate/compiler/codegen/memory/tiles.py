"""Products of tiles: up to 32 rows and 32 columns of a matrix product, written to memory.

Machines with tile registers (AMX) hold four tiles of sums of 16 by 16, two of the left operand and
two of the right one. They are configured, used and released within one operation, so there is no
such state anywhere else: not at a branch, a barrier or a fault. Other machines loop over vectors of
16 columns. Results are overwritten and do not depend on what was there, so it does not matter how
many work-items compute them.
"""

from __future__ import annotations

from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.text import Text
from groundstate.compiler.ir import Node
from groundstate.compiler.math.functions import Body

TILE = 16
"""Rows and words of a tile."""
ROW_BYTES = 2 * 4 * TILE
"""From one row of the result, or of the right operand, to the next."""
NUMBERS = {"u8s8": (8, False, True), "s8s8": (8, True, True), "s8u8": (8, True, False)}
"""Bits of integers, and whether those of the left and of the right operand are signed."""
INSTRUCTIONS = {"u8s8": "tdpbusd", "s8s8": "tdpbssd", "s8u8": "tdpbsud", "bf16": "tdpbf16ps"}
FEATURES = '"target-features"="+amx-tile,+amx-int8,+amx-bf16"'
PARAMETERS = (
    "ptr %c, ptr %a0, ptr %a1, i64 %step, ptr %b, ptr %offsets, i32 %n, i32 %r0, i32 %r1, i32 %w"
)
"""Where the sums go; two bases of rows and the bytes between rows; the right operand; pairs of
offsets in words, and how many; how many rows each base has; how many words a row of a tile has."""
KINDS = [each.split()[0] for each in PARAMETERS.split(", ")]


@handles("TileProduct")
def _tile_product(emitter: Emitter, node: Node) -> None:
    text, kind = emitter.text, str(node.literals[0])
    symbol = f"gs.tiles.{kind}"
    if symbol not in text.declarations:
        written = _by_registers if text.target.has_tiles else _by_vectors
        text.declarations[symbol] = written(text, symbol, kind)
    operands = [emitter.scalar(each) for each in node.operands]

    def call(lane: int) -> None:
        names = [text.lane(each, lane) for each in operands]
        passed = ", ".join(f"{t} {name}" for t, name in zip(KINDS, names, strict=True))
        text.do(f"call void @{symbol}({passed})")

    if emitter.mask is None or any(each.stride != 0 for each in operands):
        emitter.each_lane(call, once=all(each.stride == 0 for each in operands))
        return
    inside, after = text.label("tiles"), text.label("after")
    text.do(f"br i1 {text.any(emitter.mask)}, label %{inside}, label %{after}")
    text.start(inside)
    call(0)
    text.do(f"br label %{after}")
    text.start(after)


def _definition(symbol: str, body: Body, attributes: str) -> str:
    head = f"define internal void @{symbol}({PARAMETERS}) nounwind noinline {attributes} {{"
    return "\n".join((head, "entry:", *body.lines, "ret void", "}"))


def _limited(body: Body, name: str, least: int = 0) -> str:
    """A count of rows or words that a tile can have."""
    high = body.call("i32", "llvm.smin.i32", [("i32", name), ("i32", str(TILE))])
    return body.call("i32", "llvm.smax.i32", [("i32", high), ("i32", str(least))])


class _Loop:
    """Counts from 0 to a number that may be 0; what is written in between is its body."""

    def __init__(self, body: Body, count: str) -> None:
        self.body, self.count = body, count
        self.head, self.after = body.label("loop"), body.label("done")
        self.inside, before = body.label("inside"), body.block
        body.do(f"br label %{self.head}")
        body.start(self.head)
        self.index, self.following = f"%{self.head}.i", f"%{self.head}.n"
        self.place = len(body.lines)
        self.before = before
        body.do("")  # the phi, when the last block is known
        more = body.emit(f"icmp slt i64 {self.index}, {count}")
        body.do(f"br i1 {more}, label %{self.inside}, label %{self.after}")
        body.start(self.inside)

    def end(self) -> None:
        """The end of the body."""
        body = self.body
        body.do(f"{self.following} = add i64 {self.index}, 1")
        body.lines[self.place] = (
            f"{self.index} = phi i64 [ 0, %{self.before} ], [ {self.following}, %{body.block} ]"
        )
        body.do(f"br label %{self.head}")
        body.start(self.after)


def _offset(body: Body, index: str, side: int) -> str:
    """The offset of a step in one of the operands, in bytes."""
    at = body.emit(f"getelementptr [2 x i32], ptr %offsets, i64 {index}, i64 {side}")
    words = body.emit(f"load i32, ptr {at}, align 4")
    wide = body.emit(f"sext i32 {words} to i64")
    return body.emit(f"shl i64 {wide}, 2")


# --- With tile registers --------------------------------------------------------------------------


def _by_registers(text: Text, symbol: str, kind: str) -> str:
    """Tiles 0 to 3 are sums, 4 and 5 rows of the left operand, 6 and 7 of the right one."""
    body = Body(text)
    rows = [_limited(body, "%r0"), _limited(body, "%r1")]
    words = _limited(body, "%w", 1)
    _configure(body, rows, words)
    steps = body.emit("sext i32 %n to i64")
    two, one, end = body.label("two"), body.label("one"), body.label("end")
    is_two = body.emit(f"icmp sgt i32 {rows[1]}, 0")
    some = body.label("some")
    is_some = body.emit(f"icmp sgt i32 {rows[0]}, 0")
    body.do(f"br i1 {is_some}, label %{some}, label %{end}")
    body.start(some)
    body.do(f"br i1 {is_two}, label %{two}, label %{one}")
    for label, halves in ((two, (0, 1)), (one, (0,))):
        body.start(label)
        _sum_tiles(body, INSTRUCTIONS[kind], halves, steps, rows[0])
        body.do(f"br label %{end}")
    body.start(end)
    body.call("void", "llvm.x86.tilerelease", [])
    return _definition(symbol, body, FEATURES)


def _configure(body: Body, rows: list[str], words: str) -> None:
    area = body.emit("alloca [64 x i8], align 64")
    body.do(f"store [64 x i8] zeroinitializer, ptr {area}, align 64")
    body.do(f"store i8 1, ptr {area}, align 64")
    row_bytes = body.emit(f"shl i32 {words}, 2")
    heights = [rows[0], rows[0], rows[1], rows[1], rows[0], rows[1], words, words]
    widths = [*["64"] * 4, row_bytes, row_bytes, "64", "64"]
    for tile, (height, width) in enumerate(zip(heights, widths, strict=True)):
        there = body.emit(f"icmp sgt i32 {height}, 0")
        across = body.emit(f"select i1 {there}, i32 {width}, i32 0")
        for start, size, value in ((16 + 2 * tile, "i16", across), (48 + tile, "i8", height)):
            small = body.emit(f"trunc i32 {value} to {size}")
            at = body.emit(f"getelementptr i8, ptr {area}, i64 {start}")
            body.do(f"store {size} {small}, ptr {at}, align 1")
    body.call("void", "llvm.x86.ldtilecfg", [("ptr", area)])


def _sum_tiles(
    body: Body, instruction: str, halves: tuple[int, ...], steps: str, first_rows: str
) -> None:
    """Adds up all steps in the tiles of one or two halves of the rows, and stores them."""
    sums = [2 * half + side for half in halves for side in (0, 1)]
    for tile in sums:
        body.call("void", "llvm.x86.tilezero", [("i8", str(tile))])
    loop = _Loop(body, steps)
    left, right = (_offset(body, loop.index, side) for side in (0, 1))
    for half in halves:
        at = body.emit(f"getelementptr i8, ptr %a{half}, i64 {left}")
        _move(body, "tileloadd64", 4 + half, at, "%step")
    at = body.emit(f"getelementptr i8, ptr %b, i64 {right}")
    for side in (0, 1):
        column = body.emit(f"getelementptr i8, ptr {at}, i64 {4 * TILE * side}")
        _move(body, "tileloadd64", 6 + side, column, str(ROW_BYTES))
        for half in halves:
            given = [("i8", str(each)) for each in (2 * half + side, 4 + half, 6 + side)]
            body.call("void", f"llvm.x86.{instruction}", given)
    loop.end()
    wide = body.emit(f"zext i32 {first_rows} to i64")
    second = body.emit(f"mul i64 {wide}, {ROW_BYTES}")
    for tile in sums:
        base = "%c"
        if tile >= 2:
            base = body.emit(f"getelementptr i8, ptr %c, i64 {second}")
        column = body.emit(f"getelementptr i8, ptr {base}, i64 {4 * TILE * (tile % 2)}")
        _move(body, "tilestored64", tile, column, str(ROW_BYTES))


def _move(body: Body, instruction: str, tile: int, address: str, step: str) -> None:
    given = [("i8", str(tile)), ("ptr", address), ("i64", step)]
    body.call("void", f"llvm.x86.{instruction}", given)


# --- With vectors ---------------------------------------------------------------------------------


def _by_vectors(text: Text, symbol: str, kind: str) -> str:
    """One row of 16 columns at a time."""
    body = Body(text)
    number = "float" if kind == "bf16" else "i32"
    sums = f"<{TILE} x {number}>"
    total = body.emit(f"alloca {sums}, align 64")
    rows = [_limited(body, "%r0"), _limited(body, "%r1")]
    words = body.emit(f"zext i32 {_limited(body, '%w', 1)} to i64")
    first = body.emit(f"zext i32 {rows[0]} to i64")
    steps = body.emit("sext i32 %n to i64")
    for half in (0, 1):
        loops = [_Loop(body, body.emit(f"zext i32 {rows[half]} to i64")), _Loop(body, "2")]
        body.do(f"store {sums} zeroinitializer, ptr {total}, align 64")
        loops += [_Loop(body, steps)]
        loops += [_Loop(body, words)]
        row, side, step, word = (loop.index for loop in loops)
        down = body.emit(f"mul i64 {row}, %step")
        left = _address(body, f"%a{half}", [down, _offset(body, step, 0)], word, 4)
        across = body.emit(f"mul i64 {side}, {4 * TILE}")
        right = _address(body, "%b", [across, _offset(body, step, 1)], word, ROW_BYTES)
        a = body.emit(f"load i32, ptr {left}, align 1")
        b = body.emit(f"load <{TILE} x i32>, ptr {right}, align 1")
        before = body.emit(f"load {sums}, ptr {total}, align 64")
        body.do(f"store {sums} {_dot(body, kind, a, b, before)}, ptr {total}, align 64")
        loops.pop().end()
        loops.pop().end()
        target = body.emit(f"add i64 {row}, {first}") if half else row
        columns = body.emit(f"mul i64 {side}, {4 * TILE}")
        at = _address(body, "%c", [columns], target, ROW_BYTES)
        done = body.emit(f"load {sums}, ptr {total}, align 64")
        body.do(f"store {sums} {done}, ptr {at}, align 4")
        for loop in reversed(loops):
            loop.end()
    return _definition(symbol, body, "")


def _address(body: Body, base: str, offsets: list[str], index: str, size: int) -> str:
    """An address some bytes and some elements behind another."""
    for each in (*offsets, body.emit(f"mul i64 {index}, {size}")):
        base = body.emit(f"getelementptr i8, ptr {base}, i64 {each}")
    return base


def _dot(body: Body, kind: str, a: str, b: str, total: str) -> str:
    """The products of a word and 16 others, added to 16 sums."""
    words = f"<{TILE} x i32>"
    one = body.emit(f"insertelement {words} poison, i32 {a}, i64 0")
    left = body.shuffle(words, one, [0] * TILE)
    bits, *signs = NUMBERS.get(kind, (16, False, False))
    for place in range(32 // bits):
        numbers = []
        for name, sign in zip((left, b), signs, strict=True):
            up = body.emit(f"shl {words} {name}, splat (i32 {32 - bits * (place + 1)})")
            shift = f"{'ashr' if sign else 'lshr'} {words} {up}, splat (i32 {32 - bits})"
            numbers.append(body.emit(shift) if kind != "bf16" else up)
        if kind == "bf16":
            total = _add_bfloats(body, numbers, total)
            continue
        product = body.emit(f"mul {words} {numbers[0]}, {numbers[1]}")
        total = body.emit(f"add {words} {total}, {product}")
    return total


def _add_bfloats(body: Body, numbers: list[str], total: str) -> str:
    """The product of the upper halves of words, added to sums."""
    words, floats = f"<{TILE} x i32>", f"<{TILE} x float>"
    given = []
    for name in numbers:
        upper = body.emit(f"and {words} {name}, splat (i32 -65536)")
        given.append((floats, body.emit(f"bitcast {words} {upper} to {floats}")))
    return body.call(floats, f"llvm.fma.v{TILE}f32", [*given, (floats, total)])
