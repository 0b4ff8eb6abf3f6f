"""Lanes that are done take the next work-items (`analysis/refill.py` says when they can).

The blocks of a kernel are written in a line, each with the mask of the lanes that wait there. So
nothing keeps lanes from being at different places: the loop is left when enough lanes are done,
with the others still waiting at its head. Those that are done go on to the end of the line. There
they get the next work-items of the range of groups, and go through the line from its beginning to
the head of the loop, where all go on together.

Work-items are handed out in order, those of one group at a time.
"""

from __future__ import annotations

from groundstate.compiler.codegen.control.masks import Masks
from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.text import overloaded
from groundstate.compiler.codegen.values import Lanes

AXES = ("x", "y", "z")
PARAMETERS = ", i64 %first, i64 %end"
"""What `step` is told besides: the range of groups that it runs all by itself."""


class Refill:
    """Hands out the work-items of a range of groups, and knows the ids of those that lanes have."""

    def __init__(self, emitter: Emitter, items: int, counts: list[str]) -> None:
        self.emitter = emitter
        self.text = emitter.text
        self.logic: Masks = emitter.masks
        self.items = items
        """In a group."""
        self.counts = counts
        """Of groups along each axis."""
        self.item = self._slot("i32", "%item", "0")
        """The first work-item of the current group that nobody has."""
        self.group = self._slot("i64", "%group", "%first")
        self.place = [self._slot("i64", f"%group.{axis}", f"%g{axis}") for axis in AXES]
        """The current group: its number in the launch, and along each axis."""
        self.least = self._slot("i32", "%least", str(self._least_lanes))
        """The loop goes on while more lanes than this are in it."""
        self.items_of_lanes = emitter.new_slot(self.text.vector_type("i32"), "item")
        self.groups_of_lanes = [
            emitter.new_slot(self.text.vector_type("i64"), f"group.{axis}") for axis in AXES
        ]

    def _slot(self, type_: str, name: str, value: str) -> str:
        self.emitter.allocas.append(f"  {name} = alloca {type_}")
        self.text.do(f"store {type_} {value}, ptr {name}")
        return name

    @property
    def _least_lanes(self) -> int:
        return int(self.text.width * self.text.target.least_busy_lanes)

    def ids(self, name: str) -> list[Lanes]:
        """A built-in variable of the work-items that lanes have, along each axis."""
        text, wide = self.text, self.text.vector_type("i64")
        zero = Lanes("i64", "0")
        narrow = text.emit(f"load {text.vector_type('i32')}, ptr {self.items_of_lanes}")
        local = Lanes("i64", text.emit(f"zext {text.vector_type('i32')} {narrow} to {wide}"), None)
        if name == "LocalInvocationIndex":
            return [local]
        if name == "LocalInvocationId":
            return [local, zero, zero]
        groups = [
            Lanes("i64", text.emit(f"load {wide}, ptr {each}"), None)
            for each in self.groups_of_lanes
        ]
        if name == "WorkgroupId":
            return groups
        along = [self._plus(self._times(groups[0], str(self.items)), local), *groups[1:]]
        known = self.emitter.context.ids
        if name == "GlobalInvocationId":
            return [self._plus(*each) for each in zip(along, known["GlobalOffset"], strict=True)]
        width, height, _ = (each.name for each in known["GlobalSize"])
        row = self._plus(self._times(along[2], height), along[1])
        return [self._plus(self._times(row, width), along[0])]

    def _plus(self, one: Lanes, other: Lanes) -> Lanes:
        text, wide = self.text, self.text.vector_type("i64")
        names = text.as_vector(one), text.as_vector(other)
        return Lanes("i64", text.emit(f"add {wide} {names[0]}, {names[1]}"), None)

    def _times(self, value: Lanes, factor: str) -> Lanes:
        text, wide = self.text, self.text.vector_type("i64")
        factors = text.splat("i64", factor)
        return Lanes("i64", text.emit(f"mul {wide} {value.name}, {factors}"), None)

    def goes_on(self, waiting: str) -> str:
        """Whether enough lanes wait at the head of the loop for another iteration."""
        text = self.text
        least = text.emit(f"load i32, ptr {self.least}")
        return text.emit(f"icmp ugt i32 {self._count(self._as_integer(waiting))}, {least}")

    def _as_integer(self, mask: str) -> str:
        """A mask as a number with a bit for each lane."""
        text, width = self.text, self.text.width
        narrow = text.emit(f"bitcast {text.vector_type('i1')} {self.logic.bits(mask)} to i{width}")
        return narrow if width == 32 else text.emit(f"zext i{width} {narrow} to i32")

    def _count(self, lanes: str) -> str:
        return self.text.call("i32", "llvm.ctpop.i32", [("i32", lanes)])

    # --- The end of the line --------------------------------------------------------------------

    def write(self, waiting: str, head: str, end: str) -> str:
        """Gives lanes that do not wait at the head of the loop new work-items. Returns the mask of
        the lanes that get one. If there are none left, the others go on at `head`, or to `end`."""
        text = self.text
        take, rest = text.label("take"), text.label("rest")
        busy = self._as_integer(waiting)
        group = text.emit(f"load i64, ptr {self.group}")
        is_left = text.emit(f"icmp ult i64 {group}, %end")
        text.do(f"br i1 {is_left}, label %{take}, label %{rest}")
        text.start(rest)
        is_busy = text.emit(f"icmp ne i32 {busy}, 0")
        text.do(f"br i1 {is_busy}, label %{head}, label %{end}")
        text.start(take)
        everyone = (1 << text.width) - 1
        idle = text.emit(f"xor i32 {busy}, {everyone if text.width < 32 else -1}")
        taken = self._hand_out(idle)
        self._advance(group, idle)
        return taken

    def _hand_out(self, idle: str) -> str:
        """Idle lanes get the next work-items of the current group in order, while there are any."""
        text, bits = self.text, self.text.vector_type("i1")
        words = text.vector_type("i32")
        earlier = ", ".join(f"i32 {(1 << lane) - 1}" for lane in range(text.width))
        before = text.emit(f"and {words} {text.splat('i32', idle)}, <{earlier}>")
        turn = text.call(words, f"llvm.ctpop.{overloaded(words)}", [(words, before)])
        item = text.splat("i32", text.emit(f"load i32, ptr {self.item}"))
        mine = text.emit(f"add {words} {item}, {turn}")
        is_there = text.emit(f"icmp ult {words} {mine}, {text.splat('i32', str(self.items))}")
        width = text.width
        narrow = idle if width == 32 else text.emit(f"trunc i32 {idle} to i{width}")
        mask = text.emit(f"bitcast i{width} {narrow} to {bits}")
        taken = text.emit(f"and {bits} {mask}, {is_there}")
        self._keep(self.items_of_lanes, "i32", mine, taken)
        for place, of_lanes in zip(self.place, self.groups_of_lanes, strict=True):
            now = text.splat("i64", text.emit(f"load i64, ptr {place}"))
            self._keep(of_lanes, "i64", now, taken)
        return self.logic.of_bits(taken)

    def _keep(self, slot: str, type_: str, new: str, mask: str) -> None:
        text, wide = self.text, self.text.vector_type(type_)
        old = text.emit(f"load {wide}, ptr {slot}")
        text.do(f"store {wide} {text.select(mask, type_, new, old)}, ptr {slot}")

    def _advance(self, group: str, idle: str) -> None:
        """Goes to the next work-item that nobody has, which may be the first of the next group."""
        text = self.text
        item = text.emit(f"load i32, ptr {self.item}")
        after = text.emit(f"add i32 {item}, {self._count(idle)}")
        is_over = text.emit(f"icmp uge i32 {after}, {self.items}")
        text.do(
            f"store i32 {text.emit(f'select i1 {is_over}, i32 0, i32 {after}')}, ptr {self.item}"
        )
        step = text.emit(f"zext i1 {is_over} to i64")
        following = text.emit(f"add i64 {group}, {step}")
        text.do(f"store i64 {following}, ptr {self.group}")
        for place, count in zip(self.place, self.counts, strict=True):
            now = text.emit(f"load i64, ptr {place}")
            more = text.emit(f"add i64 {now}, {step}")
            is_end = text.emit(f"icmp eq i64 {more}, {count}")
            text.do(f"store i64 {text.emit(f'select i1 {is_end}, i64 0, i64 {more}')}, ptr {place}")
            step = text.emit(f"zext i1 {is_end} to i64")
        is_left = text.emit(f"icmp ult i64 {following}, %end")
        least = text.emit(f"select i1 {is_left}, i32 {self._least_lanes}, i32 0")
        text.do(f"store i32 {least}, ptr {self.least}")
