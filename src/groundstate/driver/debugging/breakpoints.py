"""Where a program is to be stopped."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from groundstate.driver.debugging import expressions
from groundstate.driver.debugging.values import EvaluationError

if TYPE_CHECKING:
    from groundstate.compiler.step.code import Instruction, StepCode
    from groundstate.compiler.step.work_item import WorkItem
    from groundstate.driver.debugging.inspection import Names


@dataclass
class Breakpoint:
    """A line or a function, perhaps for one work-item or under a condition."""

    id: int
    file: str = ""
    line: int = 0
    function: str = ""
    condition: str = ""
    item: tuple[int, int, int] | None = None
    """A global id."""
    is_temporary: bool = False
    hits: int = 0
    problem: str = ""
    """Why the condition could not be evaluated, when it last stopped for that."""

    @staticmethod
    def of(given: Mapping[str, Any]) -> Breakpoint:
        """A breakpoint as the other side describes it."""
        item = given.get("item")
        place = (*map(int, item), 0, 0)[:3] if item is not None else None
        return Breakpoint(
            int(given["id"]),
            str(given.get("file", "")),
            int(given.get("line", 0)),
            str(given.get("function", "")),
            str(given.get("condition", "")),
            (place[0], place[1], place[2]) if place is not None else None,
            bool(given.get("temporary", False)),
        )


@dataclass
class Watch:
    """Memory that somebody wants to know the writers of."""

    id: int
    expression: str
    address: int = 0
    size: int = 0
    """0: it is not known yet where the memory is."""

    def overlaps(self, address: int, size: int) -> bool:
        """Whether a write touches it."""
        return address < self.address + self.size and self.address < address + size


def is_same_file(wanted: str, file: str) -> bool:
    """Whether a person may mean a file by a name: the end of its path, or the other way round."""
    a, b = os.path.normpath(wanted), os.path.normpath(file)
    return a == b or a.endswith(os.sep + b) or b.endswith(os.sep + a)


class Places:
    """The lines and functions that a kernel consists of."""

    def __init__(self, code: StepCode) -> None:
        self.lines: dict[str, set[int]] = {}
        self.functions: set[str] = {code.name}
        for step in code.blocks:
            for instruction in step.instructions:
                if instruction.line is not None:
                    self.lines.setdefault(instruction.line[0], set()).add(instruction.line[1])
                if instruction.location is not None:
                    self.functions.add(instruction.location.function)

    def line_of(self, wanted: Breakpoint) -> tuple[str, int] | None:
        """The line at which a breakpoint stops: its own, or the next one with code."""
        for file, lines in self.lines.items():
            if wanted.file and is_same_file(wanted.file, file):
                later = [each for each in lines if each >= wanted.line]
                if later:
                    return file, min(later)
        return None

    def has(self, wanted: Breakpoint) -> bool:
        """Whether a breakpoint can be reached in the kernel."""
        if wanted.function:
            return wanted.function in self.functions
        return self.line_of(wanted) is not None


class Active:
    """The breakpoints of a kernel, by where they stop."""

    def __init__(self, all_of_them: Iterable[Breakpoint], places: Places, kernel: str) -> None:
        self.by_line: dict[tuple[str, int], list[Breakpoint]] = {}
        self.by_function: dict[str, list[Breakpoint]] = {}
        self.kernel = kernel
        for each in all_of_them:
            place = places.line_of(each) if not each.function else None
            if place is not None:
                self.by_line.setdefault(place, []).append(each)
            elif each.function in places.functions:
                self.by_function.setdefault(each.function, []).append(each)

    def __bool__(self) -> bool:
        return bool(self.by_line or self.by_function)

    @property
    def items(self) -> set[tuple[int, int, int]] | None:
        """The work-items at which something may stop; None if that may be any."""
        found = set()
        for some in (*self.by_line.values(), *self.by_function.values()):
            for each in some:
                if each.item is None:
                    return None
                found.add(each.item)
        return found

    def hit(self, item: WorkItem, instruction: Instruction, names: Names) -> Breakpoint | None:
        """The breakpoint that a work-item is at, before it executes an instruction that begins a
        line."""
        assert instruction.line is not None
        candidates = self.by_line.get(instruction.line[:2], [])
        place = instruction.location
        if self.by_function and instruction.depth > item.depth:
            function = place.function if place is not None else self.kernel
            candidates = candidates + self.by_function.get(function, [])
            if item.line is None and function != self.kernel:
                candidates = candidates + self.by_function.get(self.kernel, [])
        for each in candidates:
            if (each.item is None or each.item == item.global_id) and _holds(each, item, names):
                return each
        return None


def _holds(breakpoint: Breakpoint, item: WorkItem, names: Names) -> bool:
    """Whether the condition is true. One that cannot be evaluated stops, so that it is seen."""
    breakpoint.problem = ""
    if not breakpoint.condition:
        return True
    try:
        value = expressions.evaluate(breakpoint.condition, item, names)
        return bool(value.number(item.group.memory))
    except EvaluationError as problem:
        breakpoint.problem = str(problem)
        return True
