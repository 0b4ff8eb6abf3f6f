"""Goes on with a group until something is to be looked at: forwards, and back.

A group goes back by starting again: what it wrote is put back, and the work-items take the same
turns for as many instructions as wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from groundstate.compiler.step.code import Instruction
from groundstate.compiler.step.group import Group
from groundstate.compiler.step.work_item import FAILED, READY, WAITING, WorkItem
from groundstate.driver.debugging.breakpoints import Active, Breakpoint, Watch
from groundstate.driver.debugging.inspection import Names

POLL = 2048
"""After so many instructions it is looked whether somebody wants to stop the program."""


@dataclass
class Stop:
    """Why a group has stopped, and which work-item is to be looked at."""

    reason: str
    """breakpoint, step, watchpoint, finding, pause, end, start."""
    item: WorkItem
    text: str = ""
    breakpoint: Breakpoint | None = None


@dataclass
class _Start:
    """The line that a work-item begins a step at."""

    line: tuple[str, int, int] | None
    entry: Instruction | None
    depth: int

    @staticmethod
    def of(item: WorkItem) -> _Start:
        instruction = item.instruction
        if item.begins_line(instruction):
            return _Start(instruction.line, instruction, instruction.depth)
        return _Start(item.line, item.entry, item.depth)

    def is_left(self, kind: str, instruction: Instruction) -> bool:
        """Whether the step ends before an instruction that begins a line. A line goes on after the
        calls in it."""
        if kind == "out":
            return instruction.depth < self.depth
        if instruction.line == self.line and instruction is not self.entry:
            return False
        return kind == "in" or instruction.depth <= self.depth


@dataclass
class Stepper:
    """One group, and what it is to stop at."""

    group: Group
    names: Names
    active: Active
    watches: list[Watch] = field(default_factory=list)
    stops_at_findings: bool = True
    wants_pause: Callable[[], bool] = field(default=lambda: False)
    focus: WorkItem = field(init=False)
    """The work-item that is looked at."""

    def __post_init__(self) -> None:
        self.focus = self.group.items[0]

    # --- One instruction ------------------------------------------------------------------------

    def _advance(self, item: WorkItem, looks: bool) -> Stop | None:
        """Executes an instruction, unless the group is to stop before it."""
        if looks:
            stop = self._before(item)
            if stop is not None:
                if stop.breakpoint is not None:
                    stop.breakpoint.hits += 1
                return stop
        written = len(self.group.memory.undo)
        failed = self.stops_at_findings and self.group.failures
        self.group.step(item)
        if self.watches:
            stop = self._written(item, written)
            if stop is not None:
                return stop
        if item.state == FAILED and self.stops_at_findings and item not in (failed or ()):
            return Stop("finding", item, f"the work-item stops: {item.failure}")
        if self.group.executed % POLL == 0 and self.wants_pause():
            return Stop("pause", item)
        return None

    def _before(self, item: WorkItem) -> Stop | None:
        if not self.active:
            return None
        instruction = item.instruction
        if not item.begins_line(instruction):
            return None
        found = self.active.hit(item, instruction, self.names)
        if found is None:
            return None
        return Stop("breakpoint", item, f"breakpoint {found.id}", found)

    def _written(self, item: WorkItem, start: int) -> Stop | None:
        memory = self.group.memory
        for address, before in memory.undo[start:]:
            for watch in self.watches:
                if watch.size and watch.overlaps(address, len(before)):
                    offset = watch.address - address
                    old = before[max(0, offset) : offset + watch.size]
                    new = memory.read(max(watch.address, address), len(old))
                    item.shows_last = True
                    text = f"watchpoint {watch.id}: {watch.expression}"
                    return Stop("watchpoint", item, f"{text}\0{old.hex()}\0{new.hex()}")
        return None

    # --- Forwards -------------------------------------------------------------------------------

    def go(self, is_fresh: bool = False) -> Stop | None:
        """Goes on to the next stop; None: the group has ended.

        `is_fresh`: nobody has looked at the first instruction yet."""
        looks = is_fresh
        while (item := self.group.next_ready(self.focus)) is not None:
            if item is not self.focus:
                self.focus, looks = item, True
            waits = item.instruction.is_together
            stop = self._advance(item, looks)
            looks = True
            if stop is not None:
                self.focus = stop.item
                return stop
            if waits and item.state == READY:  # all go on, the first one first
                self.focus = self.group.next_ready() or item
        return self._stuck()

    def _stuck(self) -> Stop | None:
        """Some work-items may wait for others that will never come."""
        waiting = [each for each in self.group.items if each.state == WAITING]
        if waiting and self.stops_at_findings:
            self.focus = waiting[0]
            return Stop("finding", self.focus, "work-items wait for others that do not come")
        return None

    def step(self, items: Sequence[WorkItem], kind: str) -> Stop | None:
        """Lets work-items go on to their next line: `in` calls, `over` them, or `out` of one."""
        for each in items:
            stop = self._begin(each)
            if stop is not None:
                return stop
        starts = {each.number: _Start.of(each) for each in items if not each.is_over}
        pending = [each for each in items if not each.is_over]
        moved: set[int] = set()
        while pending:
            count = self.group.executed
            for item in list(pending):
                stop = self._step_one(item, kind, starts[item.number], moved)
                if stop is not None:
                    self.focus = stop.item
                    return stop
                if item.is_over or (item.state == READY and item.number in moved):
                    pending.remove(item)
            if pending and self.group.executed == count:
                stop = self._others(pending)
                if stop is not None:
                    self.focus = stop.item
                    return stop
                if self.group.executed == count:
                    return self._stuck()
        if self.focus.is_over:
            left = self.group.next_ready(self.focus)
            if left is None:
                return None
            self.focus = left if all(each.is_over for each in items) else self.focus
            return Stop("end", self.focus, "the work-item has ended")
        return Stop("step", self.focus)

    def _begin(self, item: WorkItem) -> Stop | None:
        """Lets a work-item that has not begun come to its first line."""
        while item.line is None and item.state == READY and not item.begins_line(item.instruction):
            stop = self._advance(item, looks=False)
            if stop is not None:
                return stop
        return None

    def _step_one(self, item: WorkItem, kind: str, start: _Start, moved: set[int]) -> Stop | None:
        """Goes on with one work-item to its next line, or until it waits for others."""
        is_first = item.number not in moved
        moved.discard(item.number)
        while item.state == READY:
            instruction = item.instruction
            if not is_first and item.begins_line(instruction) and start.is_left(kind, instruction):
                moved.add(item.number)
                return None
            stop = self._advance(item, looks=not is_first and kind != "in")
            is_first = False
            if stop is not None:
                return stop
        if not is_first:
            moved.add(item.number)
        return None

    def _others(self, pending: Sequence[WorkItem]) -> Stop | None:
        """Lets go on what work-items wait for."""
        other = next((e for e in self.group.items if e.state == READY and e not in pending), None)
        while other is not None and other.state == READY:
            meets = other.instruction.is_together
            stop = self._advance(other, looks=False)
            if stop is not None:
                return stop
            if meets:
                break
        return None

    # --- Back -----------------------------------------------------------------------------------

    def step_back(self, item: WorkItem, kind: str) -> Stop:
        """Goes back to where the work-item began a line before this one."""
        depth, now = _depth(item), self.group.executed
        number = item.number
        if not item.is_over and item.begins_line(item.instruction):
            earlier = list(item.lines)
        else:
            earlier = item.lines[:-1]
        places = [when for when, deep in earlier if when < now and (kind == "in" or deep <= depth)]
        self.group.go_back(places[-1] if places else 0)
        self.focus = self.group.items[number]
        return Stop("step" if places else "start", self.focus)

    def go_back(self) -> Stop:
        """Goes back to the last stop before this one, or to where the group began."""
        now, turns = self.group.executed, self.group.turns
        self.group.restart()
        last: tuple[int, Stop] | None = None
        for number, count in turns:
            item = self.group.items[number]
            for _ in range(count):
                if self.group.executed >= now:
                    break
                before = self._before(item)
                if before is not None:
                    last = (self.group.executed, before)
                written = len(self.group.memory.undo)
                self.group.step(item)
                stop = self._written(item, written) if self.watches else None
                if stop is not None and self.group.executed < now:
                    last = (self.group.executed, stop)
        if last is None:
            self.group.go_back(0)
            self.focus = self.group.items[0]
            return Stop("start", self.focus)
        self.group.go_back(last[0])
        self.focus = last[1].item
        return last[1]


def _depth(item: WorkItem) -> int:
    """How many calls deep a work-item is where it stands."""
    if not item.is_over and item.begins_line(item.instruction):
        return item.instruction.depth
    return item.depth
