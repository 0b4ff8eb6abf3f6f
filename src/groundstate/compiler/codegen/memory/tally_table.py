"""A worker's table of what is still to be added to memory, as LLVM IR.

The table is a cache of lines that only its worker sees. A line stands for as many bytes of memory
as a cache line has, and holds what is to be combined with each element there. Going to memory with
a whole line takes one transfer of it from another core rather than one for each element, and where
there is an exchange of 16 bytes (`Target.widest_exchange`), one such instruction for each part in
which there is something to do. A line whose place is needed for another goes to memory, too. A
worker that too often replaces a line in which there is little to do gives up: from then on, every
operation of its share goes to memory by itself.

The table begins with a header: how many lines there are less one, and how many more may be replaced
for little before the worker gives up. Then come the tags, which are the addresses of the last bytes
of lines in memory (0: free), and behind the last possible tag the lines.
"""

from __future__ import annotations

from groundstate.compiler.target import Target

HEADER_BYTES = 64
TAG_BYTES = 8
MASK_OFFSET, LEFT_OFFSET = 0, 8

IDENTITIES = {"add": "0", "or": "0", "xor": "0", "and": "-1", "umin": "-1", "umax": "0"}
COMPARISONS = {"smin": "slt", "smax": "sgt", "umin": "ult", "umax": "ugt"}


def identity(kind: str, scalar: str) -> str:
    """What changes nothing."""
    width = int(scalar[1:])
    return IDENTITIES.get(kind) or str(
        {"smin": (1 << width - 1) - 1, "smax": -(1 << width - 1)}[kind]
    )


def read_modify_write(kind: str) -> str:
    """LLVM's word for an atomic operation."""
    return {"smin": "min", "smax": "max"}.get(kind, kind)


def table_bytes(target: Target) -> int:
    """The memory of a table, with what it takes to align it."""
    line = target.cache_line_bytes
    return line + HEADER_BYTES + (TAG_BYTES + line) * target.privatised_lines


def _lines_offset(target: Target) -> int:
    return HEADER_BYTES + TAG_BYTES * target.privatised_lines


def _combined(kind: str, type_: str, left: str, right: str, name: str = "%new") -> list[str]:
    """Lines that define what two values, or vectors of them, are together."""
    if kind in ("add", "and", "or", "xor"):
        return [f"  {name} = {kind} {type_} {left}, {right}"]
    mask = "i1" if type_[0] != "<" else f"{type_.split(' x ')[0]} x i1>"
    return [
        f"  {name}.t = icmp {COMPARISONS[kind]} {type_} {left}, {right}",
        f"  {name} = select {mask} {name}.t, {type_} {left}, {type_} {right}",
    ]


class TallyTable:
    """The functions of a table for one kind of operation on one type."""

    def __init__(self, kind: str, scalar: str, order: str, target: Target) -> None:
        self.kind, self.scalar, self.order, self.target = kind, scalar, order, target
        self.suffix = f"{kind}.{scalar}"
        self.line = target.cache_line_bytes
        self.shift = self.line.bit_length() - 1
        self.count = self.line * 8 // int(scalar[1:])
        """Of the elements in a line."""

    # --- Memory -----------------------------------------------------------------------------------

    @property
    def write_name(self) -> str:
        return f"gs.tally.write.{self.suffix}"

    def write_function(self) -> str:
        """A function that brings a line to memory, and returns in how many parts of it there was
        something to do."""
        body = self._exchanges() if self.target.widest_exchange >= 16 else self._single_operations()
        return "\n".join(
            [
                f"define internal i64 @{self.write_name}(i64 %tag, ptr %from) nounwind noinline {{",
                "entry:",
                f"  %at = sub i64 %tag, {self.line - 1}",
                "  %to = inttoptr i64 %at to ptr",
                "  br label %part",
                *body,
                "end:",
                "  ret i64 %used.next",
                "}",
            ]
        )

    def _exchanges(self) -> list[str]:
        part = f"<{self.count // (self.line // 16)} x {self.scalar}>"
        bits = part.replace(self.scalar, "i1")
        number = f"i{bits[1:].split(' ')[0]}"
        nothing = f"splat ({self.scalar} {identity(self.kind, self.scalar)})"
        return [
            "part:",
            "  %o = phi i64 [ 0, %entry ], [ %o.next, %next ]",
            "  %used = phi i64 [ 0, %entry ], [ %used.next, %next ]",
            "  %from.p = getelementptr i8, ptr %from, i64 %o",
            "  %to.p = getelementptr i8, ptr %to, i64 %o",
            "  %to.high.p = getelementptr i8, ptr %to.p, i64 8",
            f"  %by = load {part}, ptr %from.p, align 16",
            f"  %by.t = icmp ne {part} %by, {nothing}",
            f"  %by.i = bitcast {bits} %by.t to {number}",
            f"  %some = icmp ne {number} %by.i, 0",
            "  br i1 %some, label %read, label %next",
            "read:",
            "  %low = load atomic i64, ptr %to.p monotonic, align 8",
            "  %high = load atomic i64, ptr %to.high.p monotonic, align 8",
            "  %both.0 = insertelement <2 x i64> poison, i64 %low, i64 0",
            "  %both = insertelement <2 x i64> %both.0, i64 %high, i64 1",
            "  %first = bitcast <2 x i64> %both to i128",
            "  br label %try",
            "try:",
            "  %seen = phi i128 [ %first, %read ], [ %found, %try ]",
            f"  %old = bitcast i128 %seen to {part}",
            *_combined(self.kind, part, "%old", "%by"),
            f"  %new.i = bitcast {part} %new to i128",
            f"  %pair = cmpxchg ptr %to.p, i128 %seen, i128 %new.i {self.order} monotonic",
            "  %found = extractvalue { i128, i1 } %pair, 0",
            "  %done = extractvalue { i128, i1 } %pair, 1",
            "  br i1 %done, label %next, label %try",
            "next:",
            "  %used.one = zext i1 %some to i64",
            "  %used.next = add i64 %used, %used.one",
            "  %o.next = add i64 %o, 16",
            f"  %more = icmp ult i64 %o.next, {self.line}",
            "  br i1 %more, label %part, label %end",
        ]

    def _single_operations(self) -> list[str]:
        scalar = self.scalar
        return [
            "part:",
            "  %o = phi i64 [ 0, %entry ], [ %o.next, %next ]",
            "  %used = phi i64 [ 0, %entry ], [ %used.next, %next ]",
            f"  %from.p = getelementptr {scalar}, ptr %from, i64 %o",
            f"  %to.p = getelementptr {scalar}, ptr %to, i64 %o",
            f"  %by = load {scalar}, ptr %from.p",
            f"  %some = icmp ne {scalar} %by, {identity(self.kind, scalar)}",
            "  br i1 %some, label %one, label %next",
            "one:",
            f"  %unused = atomicrmw {read_modify_write(self.kind)} ptr %to.p, {scalar} %by "
            f"{self.order}",
            "  br label %next",
            "next:",
            "  %used.one = zext i1 %some to i64",
            "  %used.next = add i64 %used, %used.one",
            "  %o.next = add i64 %o, 1",
            f"  %more = icmp ult i64 %o.next, {self.count}",
            "  br i1 %more, label %part, label %end",
        ]

    # --- The table --------------------------------------------------------------------------------

    @property
    def enter_name(self) -> str:
        return f"gs.tally.{self.suffix}"

    def enter_function(self) -> str:
        """A function that enters one operation, or goes to memory without a table or if the worker
        has given up."""
        return "\n".join(
            [
                f"define internal void @{self.enter_name}(ptr %table, ptr %address, "
                f"{self.scalar} %value) nounwind alwaysinline {{",
                "entry:",
                *self._choice_lines("look"),
                "look:",
                *self._look_lines(),
                "  ret void",
                "straight:",
                self._straight_line,
                "  ret void",
                "}",
            ]
        )

    def _choice_lines(self, look: str) -> list[str]:
        """Goes to `straight` if there is no table, or nothing left that may be replaced."""
        return [
            "  %none = icmp eq ptr %table, null",
            "  br i1 %none, label %straight, label %header",
            "header:",
            f"  %left.p = getelementptr i8, ptr %table, i64 {LEFT_OFFSET}",
            f"  %mask.p = getelementptr i8, ptr %table, i64 {MASK_OFFSET}",
            "  %mask = load i64, ptr %mask.p",
            "  %left = load i64, ptr %left.p",
            "  %over = icmp sle i64 %left, 0",
            f"  br i1 %over, label %straight, label %{look}",
        ]

    @property
    def _straight_line(self) -> str:
        kind = read_modify_write(self.kind)
        return f"  %unused = atomicrmw {kind} ptr %address, {self.scalar} %value {self.order}"

    def _look_lines(self) -> list[str]:
        """Enters %value for %address; the last block is %merge.

        All that is computed of an address here takes few instructions: this is the whole work of a
        histogram.
        """
        scalar = self.scalar
        whole = f"<{self.count} x {scalar}>"
        nothing = f"splat ({scalar} {identity(self.kind, scalar)})"
        smaller = self.shift - TAG_BYTES.bit_length() + 1
        return [
            "  %number = ptrtoint ptr %address to i64",
            f"  %last = or i64 %number, {self.line - 1}",
            f"  %tag.mask = mul i64 %mask, {TAG_BYTES}",
            f"  %tag.far = lshr i64 %number, {smaller}",
            "  %tag.at = and i64 %tag.far, %tag.mask",
            f"  %lines.mask = mul i64 %mask, {self.line}",
            f"  %place.mask = or i64 %lines.mask, {self.line - 1}",
            "  %place.at = and i64 %number, %place.mask",
            f"  %tags = getelementptr i8, ptr %table, i64 {HEADER_BYTES}",
            f"  %lines = getelementptr i8, ptr %table, i64 {_lines_offset(self.target)}",
            "  %tag.p = getelementptr i8, ptr %tags, i64 %tag.at",
            "  %place = getelementptr i8, ptr %lines, i64 %place.at",
            "  %tag = load i64, ptr %tag.p",
            "  %hit = icmp eq i64 %tag, %last",
            "  br i1 %hit, label %merge, label %miss",
            "miss:",
            "  %line.at = and i64 %number, %lines.mask",
            "  %line.p = getelementptr i8, ptr %lines, i64 %line.at",
            "  %free = icmp eq i64 %tag, 0",
            "  br i1 %free, label %take, label %replace",
            "replace:",
            f"  %used = call i64 @{self.write_name}(i64 %tag, ptr %line.p)",
            "  %wasted = icmp ule i64 %used, 1",
            "  %change = select i1 %wasted, i64 -1, i64 1",
            "  %left.now = load i64, ptr %left.p",
            "  %left.next = add i64 %left.now, %change",
            "  store i64 %left.next, ptr %left.p",
            "  br label %take",
            "take:",
            "  store i64 %last, ptr %tag.p",
            f"  store {whole} {nothing}, ptr %line.p, align {self.line}",
            "  br label %merge",
            "merge:",
            f"  %old = load {scalar}, ptr %place",
            *_combined(self.kind, scalar, "%old", "%value"),
            f"  store {scalar} %new, ptr %place",
        ]

    def lanes_functions(self, lanes: str) -> dict[str, str]:
        """By their names: a function that enters the operations of all active lanes, and the loops
        that it has for this, with and without the table."""
        name = f"{self.enter_name}.{lanes}"
        passed = f"ptr %table, i64 %mask, ptr %left.p, ptr %addresses, ptr %values, {lanes} %active"
        chosen = [
            f"define internal void @{name}(ptr %table, ptr %addresses, ptr %values, "
            f"{lanes} %active) nounwind alwaysinline {{",
            "entry:",
            *self._choice_lines("look"),
            "look:",
            f"  call void @{name}.look({passed})",
            "  ret void",
            "straight:",
            f"  call void @{name}.straight({passed})".replace("%mask", "0").replace(
                "%left.p", "null"
            ),
            "  ret void",
            "}",
        ]
        return {
            name: "\n".join(chosen),
            f"{name}.look": self._loop(f"{name}.look", passed, lanes, self._look_lines(), "merge"),
            f"{name}.straight": self._loop(
                f"{name}.straight", passed, lanes, [self._straight_line], "lane"
            ),
            f"llvm.cttz.{lanes}": f"declare {lanes} @llvm.cttz.{lanes}({lanes}, i1)",
        }

    def _loop(self, name: str, passed: str, lanes: str, body: list[str], last: str) -> str:
        """A function that does something for each active lane; `last` is the body's last block."""
        return "\n".join(
            [
                f"define internal void @{name}({passed}) nounwind noinline {{",
                "entry:",
                f"  %some = icmp ne {lanes} %active, 0",
                "  br i1 %some, label %lane, label %end",
                "lane:",
                f"  %waiting = phi {lanes} [ %active, %entry ], [ %rest, %{last} ]",
                f"  %lane.i = call {lanes} @llvm.cttz.{lanes}({lanes} %waiting, i1 true)",
                f"  %at.lane = zext {lanes} %lane.i to i64",
                "  %address.p = getelementptr ptr, ptr %addresses, i64 %at.lane",
                "  %address = load ptr, ptr %address.p",
                f"  %value.p = getelementptr {self.scalar}, ptr %values, i64 %at.lane",
                f"  %value = load {self.scalar}, ptr %value.p",
                *body,
                f"  %less = add {lanes} %waiting, -1",
                f"  %rest = and {lanes} %waiting, %less",
                f"  %more = icmp ne {lanes} %rest, 0",
                "  br i1 %more, label %lane, label %end",
                "end:",
                "  ret void",
                "}",
            ]
        )

    # --- A worker's share -------------------------------------------------------------------------

    def start_lines(self, room: str, items: int) -> list[str]:
        """At the start of a worker's share: an empty table %tally, or null if it would not pay.

        There are as many lines as it takes for some operations to fall to each.
        """
        target = self.target
        return [
            f"  %share = mul i64 %count, {items}",
            f"  %pays = icmp uge i64 %share, {target.privatised_items}",
            f"  %room.p = getelementptr i8, ptr {room}, i64 {self.line - 1}",
            f"  %room = call ptr @llvm.ptrmask.p0.i64(ptr %room.p, i64 {-self.line})",
            "  %tally = select i1 %pays, ptr %room, ptr null",
            "  br i1 %pays, label %clear, label %start",
            "clear:",
            f"  %wanted = udiv i64 %share, {target.privatised_items_per_line}",
            f"  %most = call i64 @llvm.umin.i64(i64 %wanted, i64 {target.privatised_lines})",
            "  %zeros = call i64 @llvm.ctlz.i64(i64 %most, i1 true)",
            "  %highest = sub i64 63, %zeros",
            "  %tags.count = shl i64 1, %highest",
            "  %tags.mask = add i64 %tags.count, -1",
            f"  %mask.p = getelementptr i8, ptr %room, i64 {MASK_OFFSET}",
            "  store i64 %tags.mask, ptr %mask.p",
            f"  %left.p = getelementptr i8, ptr %room, i64 {LEFT_OFFSET}",
            f"  store i64 {target.most_wasted_lines}, ptr %left.p",
            f"  %tags = getelementptr i8, ptr %room, i64 {HEADER_BYTES}",
            f"  %tags.bytes = mul i64 %tags.count, {TAG_BYTES}",
            "  call void @llvm.memset.p0.i64(ptr align 64 %tags, i8 0, i64 %tags.bytes, i1 false)",
            "  br label %start",
        ]

    def end_lines(self) -> list[str]:
        """At its end: what the table holds goes to memory."""
        return [
            "  br i1 %pays, label %flush.all, label %flushed",
            "flush.all:",
            f"  %f.mask.p = getelementptr i8, ptr %tally, i64 {MASK_OFFSET}",
            "  %f.mask = load i64, ptr %f.mask.p",
            f"  %f.tags = getelementptr i8, ptr %tally, i64 {HEADER_BYTES}",
            f"  %f.lines = getelementptr i8, ptr %tally, i64 {_lines_offset(self.target)}",
            "  br label %flush",
            "flush:",
            "  %f = phi i64 [ 0, %flush.all ], [ %f.next, %flush.next ]",
            "  %f.p = getelementptr i64, ptr %f.tags, i64 %f",
            "  %f.tag = load i64, ptr %f.p",
            "  %f.free = icmp eq i64 %f.tag, 0",
            "  br i1 %f.free, label %flush.next, label %flush.one",
            "flush.one:",
            f"  %f.line = getelementptr [{self.line} x i8], ptr %f.lines, i64 %f",
            f"  %f.used = call i64 @{self.write_name}(i64 %f.tag, ptr %f.line)",
            "  br label %flush.next",
            "flush.next:",
            "  %f.next = add i64 %f, 1",
            "  %f.more = icmp ule i64 %f.next, %f.mask",
            "  br i1 %f.more, label %flush, label %flushed",
            "flushed:",
        ]

    def declarations(self) -> dict[str, str]:
        """What all of these refer to, by name."""
        return {
            self.write_name: self.write_function(),
            self.enter_name: self.enter_function(),
            "llvm.umin.i64": "declare i64 @llvm.umin.i64(i64, i64)",
            "llvm.ctlz.i64": "declare i64 @llvm.ctlz.i64(i64, i1)",
            "llvm.ptrmask.p0.i64": "declare ptr @llvm.ptrmask.p0.i64(ptr, i64)",
            "llvm.memset.p0.i64": "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
        }
