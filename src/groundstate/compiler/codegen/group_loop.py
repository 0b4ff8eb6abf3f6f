"""`run`: the loops over groups, and over the sub-groups of a group.

A group goes from barrier to barrier. From each barrier on, and from the beginning, there is a loop
over its sub-groups, which calls `step` with the number of that barrier: LLVM puts only the code
there that leads from it to the next one, and what does not change from sub-group to sub-group in
front of the loop. Kernels with very many barriers have one loop for all of them.

Sub-groups that do not all come to the same barrier go on as the last one says, whatever that makes
of the others. In checked mode each goes on from where it is, and those that have ended are left
out.
"""

from __future__ import annotations

import ctypes

from groundstate.compiler.analysis.rows import Lockstep
from groundstate.compiler.codegen import counting
from groundstate.compiler.codegen.emitter import KernelContext
from groundstate.compiler.codegen.memory.nontemporal import FENCE
from groundstate.compiler.codegen.memory.privatised_atomics import tally_table
from groundstate.compiler.codegen.memory.tally_table import TallyTable
from groundstate.compiler.ir import Block
from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.native_layouts import Dispatch, GroupChecks, MemoryHeader, ShadowChecks, offset_of

OFFSET_GROUP_COUNTS = offset_of(Dispatch, "group_counts")
OFFSET_LOCAL_BYTES = offset_of(Dispatch, "local_bytes")
OFFSET_GROUP_CHECKS = offset_of(Dispatch, "group_checks")
OFFSET_SHADOW = offset_of(Dispatch, "shadow")
FORGET_LINE = "  call void %forget(ptr %local, i64 %local.bytes)"
"""Local memory is uninitialised when a group begins."""
OFFSET_SAVED, OFFSET_PRIVATE, OFFSET_GROUP = (
    offset_of(MemoryHeader, name) - ctypes.sizeof(MemoryHeader)
    for name in ("saved", "private", "group")
)
"""The header ends where local memory begins."""

HABIT_LINES = ("  %habit = alloca i8", "  store i8 0, ptr %habit")
"""What a worker remembers from one work-item to the next (`changing_atomics.py`)."""
IN_ORDER = (0, 1, 2)
"""The axes, in the order in which groups are numbered."""
UNROLL = "llvm.loop.unroll.full"
KEEP = "llvm.loop.unroll.disable"
"""What LLVM is told to do with loops over sub-groups."""
HINT = "!3"
FIRST_LOOP = 10
"""The number of the metadata of the first loop over sub-groups."""
MEMSET = "llvm.memset.p0.i64"
ENDED = -1
"""Where a sub-group waits that has ended."""


def following_barriers(first: Block, barriers: list[Block]) -> list[list[int]]:
    """For the first block and for each barrier, which ends a block: the numbers of the barriers
    that may come next, counted from 1; 0 is the end of the kernel."""
    numbers = {block: number for number, block in enumerate(barriers, 1)}
    starts = [[first], *(block.successors for block in barriers)]
    return [_next_barriers(blocks, numbers) for blocks in starts]


def _next_barriers(blocks: list[Block], numbers: dict[Block, int]) -> list[int]:
    found: set[int] = set()
    seen: set[Block] = set()
    waiting = list(blocks)
    while waiting:
        block = waiting.pop()
        if block in seen:
            continue
        seen.add(block)
        if block in numbers:
            found.add(numbers[block])
        elif block.successors:
            waiting += block.successors
        else:
            found.add(0)
    return sorted(found)


@light_dataclass()
class GroupLoop:
    """Writes `run`."""

    context: KernelContext
    items: int
    """In a group."""
    saved_each: int
    """Bytes that a sub-group keeps at barriers."""
    private_each: int
    """How far the private variables of sub-groups lie apart; 0 if they use the same memory."""
    private_bytes: int
    """Of all sub-groups."""
    shared_bytes: int
    """What sub-groups share."""
    following: list[list[int]]
    """What `following_barriers` says."""
    unrolling: str
    """`UNROLL`, `KEEP`, or nothing if LLVM knows best whether to unroll loops over sub-groups."""
    lockstep: Lockstep
    """Which vectors run in lockstep: `step` is called for the first of them."""
    vectors_in_row: int
    group_order: tuple[int, ...] = IN_ORDER
    """The axes along which groups follow each other, the fastest first."""
    tells: bool = False
    """Whether the kernel tells checkers what its groups do (codegen/memory/races.py)."""
    tells_barriers: bool = False
    """Whether it says who comes to which barrier."""
    subgroup_size: int = 1
    has_shadows: bool = False
    """Whether it asks for the shadow of memory (codegen/memory/shadows.py)."""

    @property
    def _saves_on_stack(self) -> bool:
        """Whether little enough is kept for the stack, where LLVM makes values of what it can."""
        return self._kept_bytes <= self.context.target.most_saved_on_stack

    @property
    def _kept_bytes(self) -> int:
        return self.saved_each * self.context.subgroups

    @property
    def saved_bytes(self) -> int:
        """The bytes in front of what sub-groups share, for each worker."""
        return 0 if self._saves_on_stack else self._kept_bytes

    def lines(self) -> list[str]:
        """The function, and what it declares."""
        debug, table, counters = self.context.debug, self._table, self.context.counters
        described = f" !dbg {debug.run}" if debug is not None else ""
        fast, slow, slowest = self._axes
        return [
            "define void @run(ptr noalias readonly %dispatch, i64 %first, i64 %count, "
            f"ptr %local) nounwind{described} {{",
            "entry:",
            *self._count_lines(),
            "  %end = add i64 %first, %count",
            *(HABIT_LINES if self.context.has_habit else ()),
            *(counting.begin_lines(counters, MEMSET) if counters else ()),
            f"  %pl = getelementptr i8, ptr %dispatch, i64 {OFFSET_LOCAL_BYTES}",
            "  %local.bytes = load i64, ptr %pl, align 8, !invariant.load !0",
            "  %local.end = getelementptr i8, ptr %local, i64 %local.bytes",
            f"  %pp = getelementptr i8, ptr %local, i64 {OFFSET_PRIVATE}",
            "  %privates = load ptr, ptr %pp, align 8",
            f"  %privates.end = getelementptr i8, ptr %privates, i64 {self.private_bytes}",
            f"  %ps = getelementptr i8, ptr %local, i64 {OFFSET_SAVED}",
            "  %behind.header = load ptr, ptr %ps, align 8",
            *self._saved_lines(),
            f"  %shared = getelementptr i8, ptr %behind.header, i64 {self.saved_bytes}",
            f"  %{fast}0 = urem i64 %first, %c{fast}",
            f"  %row0 = udiv i64 %first, %c{fast}",
            f"  %{slow}0 = urem i64 %row0, %c{slow}",
            f"  %{slowest}0 = udiv i64 %row0, %c{slow}",
            f"  %mark = getelementptr i8, ptr %local, i64 {OFFSET_GROUP}",
            f"  %behind = getelementptr i8, ptr %shared, i64 {self.shared_bytes}",
            *self._checker_lines(),
            *(
                table.start_lines("%behind", self.items)
                if table is not None
                else ["  br label %start"]
            ),
            "start:",
            *(self._whole_range_lines() if self.context.refill else self._range_lines()),
            "finish:",
            *(table.end_lines() if table is not None else []),
            *([FENCE] if self.context.nontemporal else []),
            *([counting.end_line(counters)] if counters else []),
            "  ret void",
            "}",
        ]

    @property
    def _axes(self) -> list[str]:
        """The names of the axes along which groups follow each other, the fastest first."""
        return ["xyz"[axis] for axis in self.group_order]

    def _count_lines(self) -> list[str]:
        """How many groups there are along the axes, as far as that is of interest."""
        lines: list[str] = []
        for axis in sorted({*self.group_order[:2], *IN_ORDER[:2]}):
            name, offset = "xyz"[axis], OFFSET_GROUP_COUNTS + 8 * axis
            lines += [
                f"  %p{name} = getelementptr i8, ptr %dispatch, i64 {offset}",
                f"  %c{name} = load i64, ptr %p{name}, align 8, !invariant.load !0",
            ]
        return lines

    def _number_lines(self) -> list[str]:
        """The number of a group, by which others know it."""
        if self.group_order == IN_ORDER:
            return ["  %number = add i64 %g, 0"]
        return [
            "  %slices = mul i64 %z, %cy",
            "  %rows = add i64 %slices, %y",
            "  %before = mul i64 %rows, %cx",
            "  %number = add i64 %before, %x",
        ]

    def _follows_lines(self) -> list[str]:
        """Finds out whether the next group of the line runs behind this one."""
        fast = self._axes[0]
        return [
            "  %g.more = add i64 %g, 1",
            "  %goes.on = icmp ult i64 %g.more, %end",
            f"  %after = add i64 %{fast}, 1",
            f"  %same.row = icmp ult i64 %after, %c{fast}",
            "  %follows = and i1 %goes.on, %same.row",
        ]

    def _range_lines(self) -> list[str]:
        """The loop over groups."""
        fast, slow, slowest = self._axes
        return [
            "  br label %groups",
            "groups:",
            "  %g = phi i64 [ %first, %start ], [ %g.next, %group.end ]",
            "  %x = phi i64 [ %x0, %start ], [ %x.next, %group.end ]",
            "  %y = phi i64 [ %y0, %start ], [ %y.next, %group.end ]",
            "  %z = phi i64 [ %z0, %start ], [ %z.next, %group.end ]",
            "  %more = icmp ult i64 %g, %end",
            "  br i1 %more, label %group, label %finish",
            "group:",
            *self._number_lines(),
            "  store volatile i64 %number, ptr %mark, align 8",
            *([self._begin_line] if self.tells else []),
            *([FORGET_LINE] if self.has_shadows else []),
            *(self._follows_lines() if self.context.prefetches else []),
            *self._group_lines(),
            "group.end:",
            "  %g.next = add i64 %g, 1",
            f"  %fast.more = add i64 %{fast}, 1",
            f"  %fast.end = icmp eq i64 %fast.more, %c{fast}",
            f"  %{fast}.next = select i1 %fast.end, i64 0, i64 %fast.more",
            "  %slow.step = zext i1 %fast.end to i64",
            f"  %slow.more = add i64 %{slow}, %slow.step",
            f"  %slow.end = icmp eq i64 %slow.more, %c{slow}",
            f"  %{slow}.next = select i1 %slow.end, i64 0, i64 %slow.more",
            "  %slowest.step = zext i1 %slow.end to i64",
            f"  %{slowest}.next = add i64 %{slowest}, %slowest.step",
            "  br label %groups",
        ]

    def _whole_range_lines(self) -> list[str]:
        """One call for all groups, whose work-items go to lanes that are free. Which group a fault
        is in cannot be said then."""
        call = self._call("%x0, i64 %y0, i64 %z0, i64 0", "0", "%privates", "%saveds")
        return [f"  %ended = {call}", "  br label %finish"]

    def _saved_lines(self) -> list[str]:
        """Room for what sub-groups keep. On the stack it holds something from the beginning: LLVM
        would do as it likes with a kernel whose sub-groups do not all meet at a barrier."""
        size = self._kept_bytes
        if not self._saves_on_stack:
            return ["  %saveds = getelementptr i8, ptr %behind.header, i64 0"]
        if size == 0:
            return ["  %saveds = getelementptr i8, ptr %local, i64 0"]
        return [
            f"  %saveds = alloca [{size} x i8], align 64",
            f"  call void @{MEMSET}(ptr align 64 %saveds, i8 0, i64 {size}, i1 false)",
        ]

    @property
    def declarations(self) -> dict[str, str]:
        """What `lines` refers to, by name."""
        table = self._table
        return {
            MEMSET: f"declare void @{MEMSET}(ptr, i8, i64, i1)",
            **(table.declarations() if table is not None else {}),
            **({counting.SYMBOL: counting.FUNCTION} if self.context.counters else {}),
        }

    @property
    def _table(self) -> TallyTable | None:
        """Where atomic operations wait, if some do."""
        found = next(iter(self.context.privatised), None)
        return tally_table(found, self.context.target) if found is not None else None

    def _checker_lines(self) -> list[str]:
        """The functions of checkers, and where each sub-group waits."""
        lines: list[str] = []
        if self.tells:
            lines += [
                f"  %pc = getelementptr i8, ptr %dispatch, i64 {OFFSET_GROUP_CHECKS}",
                "  %checks = load ptr, ptr %pc, align 8, !invariant.load !0",
            ]
            for name in ("begin_group", "pass_barrier"):
                offset = offset_of(GroupChecks, name)
                lines += [
                    f"  %at.{name} = getelementptr i8, ptr %checks, i64 {offset}",
                    f"  %{name} = load ptr, ptr %at.{name}, align 8, !invariant.load !0",
                ]
        if self.has_shadows:
            offset = offset_of(ShadowChecks, "begin_group")
            lines += [
                f"  %pw = getelementptr i8, ptr %dispatch, i64 {OFFSET_SHADOW}",
                "  %shadow.checks = load ptr, ptr %pw, align 8, !invariant.load !0",
                f"  %at.forget = getelementptr i8, ptr %shadow.checks, i64 {offset}",
                "  %forget = load ptr, ptr %at.forget, align 8, !invariant.load !0",
            ]
        if self.tells_barriers:
            lines.append(f"  %waiting = alloca [{self.context.subgroups} x i32], align 4")
        return lines

    @property
    def _begin_line(self) -> str:
        shape = self.items | self.subgroup_size << 32
        return f"  call void %begin_group(ptr %dispatch, i64 %number, i64 {shape}, ptr %local)"

    def _told_lines(self) -> list[str]:
        """All sub-groups of a group, each from where it waits; ENDED is where none goes on from."""
        count = self.context.subgroups
        return [
            f"  call void @{MEMSET}(ptr align 4 %waiting, i8 0, i64 {4 * count}, i1 false)",
            "  br label %round",
            "round:",
            "  br label %subs",
            "subs:",
            "  %n = phi i64 [ 0, %round ], [ %n.next, %subs.next ]",
            "  %any = phi i32 [ 0, %round ], [ %any.next, %subs.next ]",
            *self._order_lines(""),
            *self._place_lines(""),
            "  %wait.at = getelementptr i32, ptr %waiting, i64 %s",
            "  %from = load i32, ptr %wait.at, align 4",
            f"  %is.over = icmp eq i32 %from, {ENDED}",
            "  br i1 %is.over, label %subs.next, label %subs.go",
            "subs.go:",
            *self._step_lines("", "%from"),
            "  %has.ended = icmp eq i32 %stop, 0",
            f"  %mark.stop = select i1 %has.ended, i32 {ENDED}, i32 %stop",
            "  store i32 %mark.stop, ptr %wait.at, align 4",
            "  br label %subs.next",
            "subs.next:",
            "  %stopped = phi i32 [ 0, %subs ], [ %stop, %subs.go ]",
            "  %any.next = or i32 %any, %stopped",
            "  %n.next = add i64 %n, 1",
            f"  %s.more = icmp ult i64 %n.next, {count // self.lockstep.vectors}",
            "  br i1 %s.more, label %subs, label %round.end",
            "round.end:",
            "  call void %pass_barrier()",
            "  %waits = icmp ne i32 %any.next, 0",
            "  br i1 %waits, label %round, label %group.end",
        ]

    def _group_lines(self) -> list[str]:
        """All sub-groups of a group, from barrier to barrier."""
        if self.tells_barriers:
            return self._told_lines()
        if len(self.following) - 1 > self.context.target.most_barrier_loops:
            return [
                "  br label %round",
                "round:",
                "  %from = phi i32 [ 0, %group ], [ %stop, %round.end ]",
                *self._subgroup_lines("", "%from", "round"),
                "  %waits = icmp ne i32 %stop, 0",
                "  br i1 %waits, label %round, label %group.end",
            ]
        lines = ["  br label %round.0"]
        for number, following in enumerate(self.following):
            dot = f".{number}"
            lines += [f"round{dot}:", *self._subgroup_lines(dot, str(number), f"round{dot}")]
            *others, last = [_label(each) for each in following] or ["group.end"]
            cases = " ".join(
                f"i32 {each}, label %{label}"
                for each, label in zip(following, others, strict=False)
            )
            lines.append(f"  switch i32 %stop{dot}, label %{last} [{cases}]")
        return lines

    def _hint(self, dot: str) -> str:
        """What a loop over sub-groups says about itself."""
        return f", !llvm.loop !{FIRST_LOOP + int(dot[1:] or 0)}" if self.unrolling else ""

    def metadata(self) -> list[str]:
        """What the loops' hints refer to."""
        if not self.unrolling:
            return []
        loops = range(FIRST_LOOP, FIRST_LOOP + len(self.following))
        hint = f'{HINT} = !{{!"{self.unrolling}"}}'
        return [hint, *(f"!{each} = distinct !{{!{each}, {HINT}}}" for each in loops)]

    def _subgroup_lines(self, dot: str, resume: str, before: str) -> list[str]:
        """The loop over the sub-groups of a group, from a barrier to the next."""
        count = self.context.subgroups // self.lockstep.vectors
        return [
            f"  br label %subs{dot}",
            f"subs{dot}:",
            f"  %n{dot} = phi i64 [ 0, %{before} ], [ %n.next{dot}, %subs{dot} ]",
            *self._order_lines(dot),
            *self._place_lines(dot),
            *self._step_lines(dot, resume),
            f"  %n.next{dot} = add i64 %n{dot}, 1",
            f"  %s.more{dot} = icmp ult i64 %n.next{dot}, {count}",
            f"  br i1 %s.more{dot}, label %subs{dot}, label %round.end{dot}{self._hint(dot)}",
            f"round.end{dot}:",
        ]

    def _step_lines(self, dot: str, resume: str) -> list[str]:
        """The call for one sub-group, with what is its own."""
        place = f"%x, i64 %y, i64 %z, i64 %sub{dot}"
        call = self._call(place, resume, f"%private{dot}", f"%saved{dot}")
        return [
            f"  %private.at{dot} = mul i64 %s{dot}, {self.private_each}",
            f"  %private{dot} = getelementptr i8, ptr %privates, i64 %private.at{dot}",
            f"  %saved.at{dot} = mul i64 %s{dot}, {self.saved_each}",
            f"  %saved{dot} = getelementptr i8, ptr %saveds, i64 %saved.at{dot}",
            f"  %stop{dot} = {call}",
        ]

    def _call(self, place: str, resume: str, private: str, saved: str) -> str:
        """Runs a sub-group, from a barrier to the next."""
        context = self.context
        call = (
            f"call i32 @step(ptr %dispatch, i64 {place}, i32 {resume}, "
            f"ptr %local, ptr %local.end, ptr %privates, ptr %privates.end, ptr {private}, "
            f"ptr {saved}, ptr %shared, "
            f"ptr {'%tally' if context.privatised else 'null'}, "
            f"ptr {'%habit' if context.has_habit else 'null'}, "
            f"ptr {'%counts' if context.counters else 'null'}, "
            f"i1 {'%follows' if context.prefetches else 'false'}"
            f"{', i64 %first, i64 %end' if context.refill else ''})"
        )
        return call if context.debug is None else f"{call}, !dbg {context.debug.call}"

    def _order_lines(self, dot: str) -> list[str]:
        """Which sub-group comes next: in their order, from the last one on, from the middle on, or
        every other one first."""
        count, order = (
            self.context.subgroups // self.lockstep.vectors,
            self.context.target.subgroup_order,
        )
        if order == 1:
            return [f"  %s{dot} = sub i64 {count - 1}, %n{dot}"]
        if order == 2:
            return [
                f"  %ahead{dot} = add i64 %n{dot}, {count // 2}",
                f"  %s{dot} = urem i64 %ahead{dot}, {count}",
            ]
        if order == 3:
            return [
                f"  %twice{dot} = mul i64 %n{dot}, 2",
                f"  %wraps{dot} = icmp uge i64 %twice{dot}, {count}",
                f"  %back{dot} = select i1 %wraps{dot}, i64 {(count - 1) // 2 * 2 + 1}, i64 0",
                f"  %s{dot} = sub i64 %twice{dot}, %back{dot}",
            ]
        return [f"  %s{dot} = add i64 %n{dot}, 0"]

    def _place_lines(self, dot: str) -> list[str]:
        """The number of the sub-group, of which those are left out that run with others."""
        together, along_row = self.lockstep
        if together == 1 or along_row:
            return [f"  %sub{dot} = mul i64 %s{dot}, {together}"]
        return [
            f"  %band{dot} = udiv i64 %s{dot}, {self.vectors_in_row}",
            f"  %over{dot} = mul i64 %band{dot}, {self.vectors_in_row * (together - 1)}",
            f"  %sub{dot} = add i64 %s{dot}, %over{dot}",
        ]


def _label(number: int) -> str:
    return f"round.{number}" if number else "group.end"
