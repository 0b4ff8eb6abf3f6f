"""A work-group: its work-items take turns, and wait for each other where the kernel says so.

Which work-item goes on is up to whoever steps. When all of a sub-group, or of the group, wait or
have ended, what they wait for happens: nothing in that depends on anything but where they are, so
the same turns lead to the same places again.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from groundstate.compiler.ir import Node
from groundstate.compiler.ir.addresses import array_step
from groundstate.compiler.ir.ops import operation
from groundstate.compiler.spirv.opcodes import Scope, StorageClass
from groundstate.compiler.spirv.types import Pointer, Vector
from groundstate.compiler.step import together
from groundstate.compiler.step.code import BARRIERS, BLOCKS, COPIES, StepCode
from groundstate.compiler.step.memory import AccessError, Memory
from groundstate.compiler.step.values import Value, decode, encode
from groundstate.compiler.step.work_item import DONE, FAILED, READY, WAITING, Size, WorkItem

LOCAL_ALIGNMENT = 128
MOST_LOCAL = 1 << 28
MASKS: dict[str, Callable[[int, int], bool]] = {
    "SubgroupEqMask": lambda other, lane: other == lane,
    "SubgroupGeMask": lambda other, lane: other >= lane,
    "SubgroupGtMask": lambda other, lane: other > lane,
    "SubgroupLeMask": lambda other, lane: other <= lane,
    "SubgroupLtMask": lambda other, lane: other < lane,
}


@dataclass
class Launch:
    """What all groups of a launch share."""

    code: StepCode
    arguments: bytes
    """The packed argument block; local arguments have offsets in local memory there."""
    groups: Size
    group_size: Size
    offset: Size = (0, 0, 0)
    dimensions: int = 3
    variables: int = 0
    """Where the variables of the program lie."""
    local_bytes: int = 0
    """Static and dynamic local memory."""
    subgroup_size: int = 0
    """0: what the kernel has."""
    print: Callable[[str], None] = field(default=lambda text: None)

    @property
    def group_count(self) -> int:
        """How many groups there are."""
        return self.groups[0] * self.groups[1] * self.groups[2]


class Group:
    """The work-items of a group, and what they share."""

    def __init__(self, launch: Launch, number: int) -> None:
        self.launch = launch
        self.code = launch.code
        self.number = number
        x, y, _ = launch.groups
        self.id: Size = (number % x, number // x % y, number // x // y)
        self.size = launch.group_size
        self.subgroup_size = launch.subgroup_size or self.code.signature.subgroup_size
        self.memory = Memory()
        self.executed = 0
        """Instructions of all work-items so far."""
        self.turns: list[list[int]] = []
        """Whose turn it was, and for how many instructions."""
        self.printed = 0
        self.silent = 0
        """How many of the next texts have been printed before."""
        self.local_bytes = min(max(launch.local_bytes, self.code.local_bytes), MOST_LOCAL)
        self._local = ctypes.create_string_buffer(self.local_bytes + 2 * LOCAL_ALIGNMENT)
        address = ctypes.addressof(self._local)
        self.local = -(-address // LOCAL_ALIGNMENT) * LOCAL_ALIGNMENT
        self._by_value = [
            ctypes.create_string_buffer(self._argument_bytes(index), each.size)
            for index, each in enumerate(self.code.signature.arguments)
        ]
        self.template = self._template()
        self.items = [
            self._item(each) for each in range(self.size[0] * self.size[1] * self.size[2])
        ]

    # --- What is there when it begins -----------------------------------------------------------

    def _argument_bytes(self, index: int) -> bytes:
        argument = self.code.signature.arguments[index]
        return self.launch.arguments[argument.offset : argument.offset + argument.size]

    def _template(self) -> list[Any]:
        """The values of leaves, and nothing else yet."""
        code = self.code
        values: list[Any] = [0] * len(code.slots)
        for slot, node in code.leaves:
            values[slot] = code.leaf_value(
                node, self.local, self.launch.variables, self.launch.arguments
            )
            if node.op == "Argument":
                values[slot] = self._argument(int(str(node.literals[0])), values[slot])
        return values

    def _argument(self, index: int, value: Value) -> Value:
        argument = self.code.signature.arguments[index]
        if argument.kind == "local":
            assert isinstance(value, int)
            return self.local + value
        if argument.kind == "value" and isinstance(self.code.argument_types[index], Pointer):
            return ctypes.addressof(self._by_value[index])
        return value

    def argument(self, index: int) -> Value:
        """What an argument of the kernel is in this group."""
        code = self.code
        node = code.arguments[index]
        value = code.leaf_value(node, self.local, self.launch.variables, self.launch.arguments)
        return self._argument(index, value)

    def _item(self, number: int) -> WorkItem:
        x, y, _ = self.size
        local: Size = (number % x, number // x % y, number // x // y)
        first = [a * b for a, b in zip(self.id, self.size, strict=True)]
        place = [a + b + c for a, b, c in zip(first, local, self.launch.offset, strict=True)]
        return WorkItem(self, number, local, (place[0], place[1], place[2]))

    def restart(self) -> None:
        """Puts memory back as it was, and all work-items where they began."""
        self.memory.take_back()
        ctypes.memset(self._local, 0, len(self._local))
        self.executed = 0
        self.turns = []
        self.silent, self.printed = max(self.printed, self.silent), 0
        for item in self.items:
            item.restart()

    def print(self, text: str) -> None:
        """Prints what has not been printed before the group was taken back."""
        self.printed += 1
        if self.printed > self.silent:
            self.launch.print(text)

    # --- Turns ----------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Whether all work-items have ended."""
        return all(each.is_over for each in self.items)

    def step(self, item: WorkItem) -> None:
        """Lets a work-item that can go on execute one instruction."""
        item.advance()
        self.executed += 1
        if self.turns and self.turns[-1][0] == item.number:
            self.turns[-1][1] += 1
        else:
            self.turns.append([item.number, 1])
        if item.state != READY:
            self.settle(item)

    def go_back(self, executed: int) -> None:
        """Goes to where the group was after so many instructions: from the start, the same way."""
        turns = self.turns
        self.restart()
        for number, count in turns:
            for _ in range(min(count, executed - self.executed)):
                self.step(self.items[number])

    def run(self) -> None:
        """Runs all work-items to their end."""
        while (item := self.next_ready()) is not None:
            while item.state == READY:
                self.step(item)

    def next_ready(self, wanted: WorkItem | None = None) -> WorkItem | None:
        """A work-item that can go on: the one that is wanted, one that it waits for, or any."""
        if wanted is not None:
            if wanted.state == READY:
                return wanted
            near = [each for each in self.items if each.subgroup == wanted.subgroup]
            for each in near:
                if each.state == READY:
                    return each
        return next((each for each in self.items if each.state == READY), None)

    # --- Together -------------------------------------------------------------------------------

    def settle(self, item: WorkItem) -> None:
        """Lets happen what work-items wait for, once nobody is left that they could wait for."""
        own = [each for each in self.items if each.subgroup == item.subgroup]
        if any(each.state == READY for each in own):
            return
        waiting = [each for each in own if each.state == WAITING and not self._is_of_group(each)]
        if waiting:
            self._together(self._first_place(waiting))
            return
        if any(each.state == READY for each in self.items):
            return
        waiting = [each for each in self.items if each.state == WAITING and self._is_of_group(each)]
        if waiting:
            self._group_together(self._first_place(waiting))

    def _first_place(self, waiting: list[WorkItem]) -> list[WorkItem]:
        """Those that wait at the first place of the kernel at which some do."""
        first = min((each.block, each.at) for each in waiting)
        return [each for each in waiting if (each.block, each.at) == first]

    def _is_of_group(self, item: WorkItem) -> bool:
        """Whether it waits for all of the group."""
        instruction = item.instruction
        node = instruction.node
        assert node is not None
        if node.op in BLOCKS or node.op == "GroupWaitEvents" or node.op in COPIES:
            return node.op not in BLOCKS
        if node.op == "ControlBarrier" or not operation(node).is_of_subgroup:
            return instruction.operands[0](item) == Scope.Workgroup
        return False

    def _together(self, items: list[WorkItem]) -> None:
        instruction = items[0].instruction
        node = instruction.node
        assert node is not None
        if node.op in BARRIERS:
            for item in items:
                item.receive(0)
            return
        members = {each.lane: tuple(get(each) for get in instruction.operands) for each in items}
        by_lane = {each.lane: each for each in items}
        try:
            if node.op in BLOCKS:
                results = self._block(node, members)
            else:
                results = together.compute(node, members, self.subgroup_size)
        except AccessError as problem:
            self._fail(items, str(problem))
            return
        for lane, item in by_lane.items():
            item.receive(results[lane])

    def _group_together(self, items: list[WorkItem]) -> None:
        instruction = items[0].instruction
        node = instruction.node
        assert node is not None
        if node.op in BARRIERS:
            for item in items:
                item.receive(0)
            return
        values = {each.number: tuple(get(each) for get in instruction.operands) for each in items}
        if node.op in COPIES:
            try:
                self._copy(node, next(iter(values.values())))
            except AccessError as problem:
                self._fail(items, str(problem))
                return
            for item in items:
                item.receive(0)
        elif node.op == "GroupBroadcast":
            value = self._broadcast(values, items)
            for item in items:
                item.receive(value)
        else:
            numbers = sorted({each.subgroup for each in items})
            parts: list[together.Members] = [
                {each.lane: values[each.number] for each in items if each.subgroup == number}
                for number in numbers
            ]
            found = together.of_work_group(node, parts, self.subgroup_size)
            for item in items:
                item.receive(found[numbers.index(item.subgroup)][item.lane])

    def _fail(self, items: Iterable[WorkItem], reason: str) -> None:
        for item in items:
            item.state, item.failure = FAILED, reason

    def _broadcast(self, values: dict[int, Any], items: list[WorkItem]) -> Value:
        """The value of the work-item that is named by its local id."""
        first = next(iter(values.values()))
        place = first[2] if isinstance(first[2], tuple) else (first[2],)
        place = (*place, 0, 0)[:3]
        for item in items:
            if item.local_id == place:
                value: Value = values[item.number][1]
                return value
        other: Value = first[1]
        return other

    def _copy(self, node: Node, operands: tuple[Any, ...]) -> None:
        target, source = operands[1], operands[2]
        kind = node.operands[1].type
        if node.op == "GroupAsyncCopy":
            pointee = kind.pointee if isinstance(kind, Pointer) else None
            size = array_step(pointee) if pointee is not None else 1
            count, stride = operands[3], operands[4]
        else:
            size, count, stride = operands[3], operands[4], operands[5]
        to_local = isinstance(kind, Pointer) and kind.storage == StorageClass.Workgroup
        for index in range(count):
            into, out = (index, index * stride) if to_local else (index * stride, index)
            self.memory.write(target + into * size, self.memory.read(source + out * size, size))

    def _block(self, node: Node, members: dict[int, tuple[Any, ...]]) -> dict[int, Value]:
        """Reads or writes a row of memory, an element for each lane, component by component."""
        base = members[min(members)][0]
        kind = node.type if node.op == "SubgroupBlockReadINTEL" else node.operands[1].type
        element = kind.element if isinstance(kind, Vector) else kind
        count = kind.count if isinstance(kind, Vector) else 1
        found: dict[int, Value] = {}
        for lane, operands in members.items():
            places = [
                base + (index * self.subgroup_size + lane) * element.size for index in range(count)
            ]
            if node.op == "SubgroupBlockReadINTEL":
                parts = tuple(
                    decode(element, self.memory.read(each, element.size)) for each in places
                )
                found[lane] = parts if isinstance(kind, Vector) else parts[0]
                continue
            value = operands[1] if isinstance(kind, Vector) else (operands[1],)
            for place, part in zip(places, value, strict=True):
                self.memory.write(place, encode(element, part))
            found[lane] = 0
        return found

    # --- Built-in variables ---------------------------------------------------------------------

    def builtin(self, name: str, subgroup: int) -> tuple[int, ...]:
        """A built-in variable that is the same for all of a sub-group."""
        launch, lanes = self.launch, self.subgroup_size
        count = len(self.items)
        all_items = [a * b for a, b in zip(self.size, launch.groups, strict=True)]
        known: dict[str, tuple[int, ...]] = {
            "NumWorkgroups": launch.groups,
            "WorkgroupSize": self.size,
            "EnqueuedWorkgroupSize": self.size,
            "WorkgroupId": self.id,
            "WorkDim": (launch.dimensions,),
            "GlobalSize": tuple(all_items),
            "GlobalOffset": launch.offset,
            "SubgroupSize": (min(lanes, count - subgroup * lanes),),
            "SubgroupMaxSize": (lanes,),
            "NumSubgroups": (-(-count // lanes),),
            "NumEnqueuedSubgroups": (-(-count // lanes),),
        }
        return known.get(name, (0, 0, 0))

    def mask(self, name: str, lane: int) -> tuple[int, ...]:
        """The lanes before, behind or at a lane as bits."""
        lanes = range(self.subgroup_size)
        return (sum(1 << other for other in lanes if MASKS[name](other, lane)), 0, 0, 0)

    @property
    def failures(self) -> list[WorkItem]:
        """The work-items that could not go on."""
        return [each for each in self.items if each.state == FAILED]

    @property
    def done(self) -> int:
        """How many work-items have come to the end."""
        return sum(each.state == DONE for each in self.items)
