"""What a stopped group answers: calls, variables, tables, memory and work-items."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from groundstate.compiler.step.work_item import WorkItem
from groundstate.driver import native
from groundstate.driver.debugging import inspection
from groundstate.driver.debugging.expressions import evaluate
from groundstate.driver.debugging.inspection import Names
from groundstate.driver.debugging.values import EvaluationError, Result, parts, text

if TYPE_CHECKING:
    from groundstate.driver.debugging.stepper import Stepper

Message = dict[str, Any]
MOST_PARTS = 1000
"""That are told at a time."""
MOST_LINES = 20_000
MOST_ELEMENTS = 1 << 30
NO_END = 1 << 40


class Answers:
    """Answers questions about the group of a stepper."""

    def __init__(
        self, stepper: Stepper, context: int, line: Callable[[str, int], str | None]
    ) -> None:
        self.stepper = stepper
        self.group = stepper.group
        self.names: Names = stepper.names
        self.context = context
        self.source_line = line

    def answer(self, question: Message) -> Message:
        """The answer to a question; one with `error` if there is none."""
        handler = getattr(self, f"_{question.get('command', '')}", None)
        if handler is None:
            return {"error": f"{question.get('command')!r} cannot be asked of a stopped program"}
        try:
            found: Message = handler(question)
            return found
        except EvaluationError as problem:
            return {"error": str(problem)}
        except (KeyError, TypeError, ValueError, IndexError) as problem:
            return {"error": f"the question cannot be understood: {problem}"}

    # --- Work-items -----------------------------------------------------------------------------

    def _item(self, question: Message) -> WorkItem:
        """The work-item that is meant: by its number, or the one that is looked at."""
        number = question.get("item")
        if number is None:
            return self.stepper.focus
        if not 0 <= int(number) < len(self.group.items):
            raise EvaluationError(f"the group has no work-item {number}")
        return self.group.items[int(number)]

    def _select(self, question: Message) -> Message:
        """Looks at another work-item, by its global id."""
        place = tuple((*map(int, question["global_id"]), 0, 0)[:3])
        for each in self.group.items:
            if each.global_id == place:
                self.stepper.focus = each
                return self.describe(each)
        raise EvaluationError(
            f"work-item {place} is not in the group that is stopped, {self.group.id}"
        )

    def describe(self, item: WorkItem) -> Message:
        """Who a work-item is and where it stands."""
        here = inspection.frames(item)[0]
        return {
            "item": item.number,
            "global_id": item.global_id,
            "local_id": item.local_id,
            "group_id": self.group.id,
            "sub_group": item.subgroup,
            "lane": item.lane,
            "state": item.state,
            "failure": item.failure,
            "kernel": self.group.code.name,
            "function": here.function,
            "file": here.file,
            "line": here.line,
            "column": here.column,
            "source": self.source_line(here.file, here.line) or "",
        }

    def _items(self, question: Message) -> Message:
        return {"items": [self.describe(each) for each in self.group.items]}

    def _frames(self, question: Message) -> Message:
        item = self._item(question)
        return {
            "frames": [
                {
                    "function": each.function,
                    "file": each.file,
                    "line": each.line,
                    "column": each.column,
                    "source": self.source_line(each.file, each.line) or "",
                }
                for each in inspection.frames(item)
            ]
        }

    def _source(self, question: Message) -> Message:
        """Lines of a file."""
        file = str(question["file"])
        first, last = (
            int(question["first"]),
            min(int(question["last"]), int(question["first"]) + MOST_LINES),
        )
        lines = ((number, self.source_line(file, number)) for number in range(first, last + 1))
        return {"lines": [(number, text) for number, text in lines if text is not None]}

    # --- Values ---------------------------------------------------------------------------------

    def _told(self, name: str, value: Result, expression: str) -> Message:
        memory = self.group.memory
        kind = value.type
        count = len(kind.members) if kind.kind == "struct" else kind.count
        if kind.kind == "pointer" and kind.element is not None:
            count = self._elements(value)
        return {
            "name": name,
            "type": kind.name,
            "value": text(value, memory),
            "expression": expression,
            "children": count,
            "indexed": kind.kind in ("array", "pointer"),
            "address": value.address,
            "size": kind.size,
        }

    def _elements(self, pointer: Result) -> int:
        """How many elements there are where a pointer leads to, up to the end of its allocation."""
        assert pointer.type.element is not None
        try:
            start = int(pointer.number(self.group.memory))
        except EvaluationError:
            return 0
        end = self._end_of(start)
        return min((end - start) // max(1, pointer.type.element.size), MOST_ELEMENTS)

    def _end_of(self, address: int) -> int:
        """Where the memory ends that an address leads to; the address itself if that is unknown."""
        group = self.group
        if group.local <= address < group.local + group.local_bytes:
            return group.local + group.local_bytes
        found = native.allocation(self.context, address)
        return found.base + found.size if found is not None else address

    def _evaluate(self, question: Message) -> Message:
        expression = str(question["expression"])
        item, frame = self._item(question), int(question.get("frame", 0))
        value = evaluate(expression, item, self.names, frame)
        return self._told(expression, value, expression)

    def _locals(self, question: Message) -> Message:
        item, frame = self._item(question), int(question.get("frame", 0))
        found = inspection.locals_of(item, self.names, frame)
        return {"variables": [self._told(name, each, name) for name, each in found.items()]}

    def _ids(self, question: Message) -> Message:
        known = inspection.ids_of(self._item(question))
        return {"ids": {name: list(values) for name, values in known.items()}}

    def _children(self, question: Message) -> Message:
        expression = str(question["expression"])
        item, frame = self._item(question), int(question.get("frame", 0))
        start = max(0, int(question.get("start", 0)))
        count = min(max(0, int(question.get("count", 0))) or MOST_PARTS, MOST_PARTS)
        value = evaluate(expression, item, self.names, frame)
        if value.type.kind == "pointer":
            last = min(self._elements(value), start + count)
            expressions = [(f"[{n}]", f"({expression})[{n}]") for n in range(start, last)]
            found = [
                self._told(name, evaluate(each, item, self.names, frame), each)
                for name, each in expressions
            ]
            return {"variables": found}
        found = []
        for name, part in parts(value, start, count):
            path = f"({expression}){name}" if name.startswith("[") else f"({expression}).{name}"
            found.append(self._told(name, part, path))
        return {"variables": found}

    def _table(self, question: Message) -> Message:
        """One expression over all work-items of the group."""
        expression = str(question["expression"])
        rows = []
        for item in self.group.items:
            value = self._anywhere(expression, item)
            row = self.describe(item)
            rows.append(
                {"global_id": item.global_id, "item": item.number, "value": value}
                | {key: row[key] for key in ("state", "line")}
            )
        return {"rows": rows}

    def _anywhere(self, expression: str, item: WorkItem) -> str:
        """The value in the innermost call of a work-item that has one."""
        for frame in range(len(inspection.frames(item))):
            try:
                return text(evaluate(expression, item, self.names, frame), self.group.memory)
            except EvaluationError as problem:
                wrong = str(problem)
        return f"<{wrong}>"

    def _memory(self, question: Message) -> Message:
        """Bytes at an address, as far as there are any."""
        address, count = int(question["address"]), min(int(question["count"]), 1 << 16)
        memory = self.group.memory
        while count and not memory.allows(address, count, writes=False):
            count //= 2
        guard, memory.guard = memory.guard, None
        try:
            return {"data": memory.read(address, count).hex() if count else ""}
        finally:
            memory.guard = guard
