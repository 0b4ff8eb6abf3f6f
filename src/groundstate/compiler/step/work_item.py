"""One work-item on its way through a kernel."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from groundstate.compiler.ir import Node
from groundstate.compiler.ir.location import Location
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.step.actions import StepError
from groundstate.compiler.step.code import PRIVATE_ALIGNMENT, Instruction
from groundstate.compiler.step.memory import AccessError
from groundstate.compiler.step.values import Value

if TYPE_CHECKING:
    from groundstate.compiler.step.group import Group

Size = tuple[int, int, int]

READY, WAITING, DONE, FAILED = "ready", "waiting", "done", "failed"
MOST_PRIVATE = 1 << 26
"""Bytes of arrays whose length is not known before."""


class Declared:
    """A variable of the source that a work-item has come by."""

    __slots__ = ("node", "value")

    def __init__(self, node: Node, value: Value) -> None:
        self.node = node
        self.value = value
        """Its address, or what it is."""


class WorkItem:
    """Where a work-item is, and the values that it has computed."""

    def __init__(self, group: Group, number: int, local_id: Size, global_id: Size) -> None:
        self.group = group
        self.number = number
        self.local_id = local_id
        self.global_id = global_id
        self.lane = number % group.subgroup_size
        self.subgroup = number // group.subgroup_size
        self.private_buffer: ctypes.Array[ctypes.c_char] | None = None
        self.more_private: list[tuple[int, int, object]] = []
        self.restart()

    def restart(self) -> None:
        """Goes back to where it began."""
        group = self.group
        self.values: list[Any] = list(group.template)
        self.state = READY
        self.block = 0
        self.at = 0
        self.executed = 0
        self.failure = ""
        self.wrong_access: AccessError | None = None
        """What it failed by, if that was an access of memory."""
        self.declared: dict[int, Declared] = {}
        """By the address of the variable, or by the number of the node."""
        self.location: Location | None = None
        """Where the last instruction with a location stood."""
        self.line: tuple[str, int, int] | None = None
        """The line that it is on, and its call."""
        self.depth = 0
        self.shows_last = False
        """Whether a person is to see what it has done, and not what comes next."""
        self.entry: Instruction | None = None
        """With which it came to that line."""
        self.lines: list[tuple[int, int]] = []
        """When it came to each line, in instructions of the group, and how many calls deep."""
        self.more_private.clear()
        if self.private_buffer is not None:
            ctypes.memset(self.private_buffer, 0, ctypes.sizeof(self.private_buffer))

    @property
    def instruction(self) -> Instruction:
        """What it executes next."""
        return self.group.code.blocks[self.block].instructions[self.at]

    @property
    def is_over(self) -> bool:
        """Whether it will not go on."""
        return self.state in (DONE, FAILED)

    # --- Going on -------------------------------------------------------------------------------

    def advance(self) -> None:
        """Executes one instruction, or begins to wait for others."""
        instruction = self.instruction
        self.shows_last = False
        if instruction.location is not None:
            self.location = instruction.location
        if self.begins_line(instruction):
            self.line, self.entry, self.depth = instruction.line, instruction, instruction.depth
            self.lines.append((self.group.executed, self.depth))
        if instruction.is_together:
            self.state = WAITING
            return
        self.executed += 1
        try:
            if instruction.action is None:
                self._leave_block()
            else:
                self.values[instruction.slot] = instruction.action(self)
                self.at += 1
        except (StepError, AccessError) as problem:
            self.state = FAILED
            self.failure = str(problem)
            self.wrong_access = problem if isinstance(problem, AccessError) else None

    def begins_line(self, instruction: Instruction) -> bool:
        """Whether it comes to another line with an instruction, or to the same one again."""
        if instruction.line is None:
            return False
        return instruction.line != self.line or instruction is self.entry

    def receive(self, value: Value) -> None:
        """Goes on with the result of what it did together with others."""
        self.values[self.instruction.slot] = value
        self.state = READY
        self.executed += 1
        self.at += 1

    def _leave_block(self) -> None:
        step = self.group.code.blocks[self.block]
        if not step.targets:
            self.state = DONE
            return
        which = 0
        if step.switch is not None and step.condition is not None:
            which = step.switch.get(int(step.condition(self)), 0)  # type: ignore[arg-type]
        elif step.condition is not None:
            which = 0 if step.condition(self) else 1
        target = step.targets[which]
        phis = self.group.code.blocks[target].phis
        if phis:
            values = [sources[self.block](self) for _, sources in phis]
            for (slot, _), value in zip(phis, values, strict=True):
                self.values[slot] = value
        self.block, self.at = target, 0

    # --- Memory ---------------------------------------------------------------------------------

    @property
    def private_start(self) -> int:
        """Where its private variables lie."""
        if self.private_buffer is None:
            size = self.group.code.private_bytes + PRIVATE_ALIGNMENT
            self.private_buffer = ctypes.create_string_buffer(size)
        address = ctypes.addressof(self.private_buffer)
        return -(-address // PRIVATE_ALIGNMENT) * PRIVATE_ALIGNMENT

    def private_address(self, variable: Node) -> int:
        """Where one of its variables lies."""
        return self.private_start + self.group.code.private[variable][0]

    def new_private(self, size: int) -> int:
        """Room for an array."""
        if sum(each[1] for each in self.more_private) + size > MOST_PRIVATE:
            raise StepError(f"has arrays of more than {MOST_PRIVATE} bytes")
        buffer = ctypes.create_string_buffer(size + PRIVATE_ALIGNMENT)
        address = -(-ctypes.addressof(buffer) // PRIVATE_ALIGNMENT) * PRIVATE_ALIGNMENT
        self.more_private.append((address, size, buffer))
        return address

    def storage_of(self, address: int) -> int:
        """What kind of memory an address leads to."""
        if self.group.local <= address < self.group.local + self.group.local_bytes:
            return int(StorageClass.Workgroup)
        if self._is_private(address):
            return int(StorageClass.Function)
        return int(StorageClass.CrossWorkgroup)

    def _is_private(self, address: int) -> bool:
        size = self.group.code.private_bytes
        if size and self.private_start <= address < self.private_start + size:
            return True
        return any(start <= address < start + count for start, count, _ in self.more_private)

    # --- Names ----------------------------------------------------------------------------------

    def declare(self, node: Node, value: Value) -> None:
        """Comes by the declaration of a variable of the source."""
        key = value if node.literals[0] == "declare" and isinstance(value, int) else -id(node)
        self.declared.pop(key, None)
        self.declared[key] = Declared(node, value)

    def undeclare(self, address: Value) -> None:
        """Leaves the block that a variable is declared in."""
        if isinstance(address, int):
            self.declared.pop(address, None)

    def builtin(self, name: str) -> tuple[int, ...]:
        """A built-in variable, with all of its components."""
        group = self.group
        size = group.size
        known = {
            "GlobalInvocationId": self.global_id,
            "LocalInvocationId": self.local_id,
            "LocalInvocationIndex": (self.number,),
            "SubgroupId": (self.subgroup,),
            "SubgroupLocalInvocationId": (self.lane,),
        }
        if name in known:
            return known[name]
        if name == "GlobalLinearId":
            x, y, z = (
                each - start
                for each, start in zip(self.global_id, group.launch.offset, strict=True)
            )
            wide = [a * b for a, b in zip(size, group.launch.groups, strict=True)]
            return ((z * wide[1] + y) * wide[0] + x,)
        if name.startswith("Subgroup") and name.endswith("Mask"):
            return group.mask(name, self.lane)
        return group.builtin(name, self.subgroup)
