"""Writes the code of one work-item that is a thread of a GPU.

Most operations are written as for a vector of one lane. Those that concern other work-items or the
kind of memory have writers of their own, under `@writes`.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.codegen.emitter import Emitter, KernelContext
from groundstate.compiler.codegen.thread.members import Members
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.math.functions import call
from groundstate.compiler.math.vec import Vec
from groundstate.compiler.target import Target

ThreadHandler = Callable[["ThreadEmitter", Node], None]

HANDLERS: dict[str, ThreadHandler] = {}
"""What is written in another way than for vectors."""


def writes(*ops: str) -> Callable[[ThreadHandler], ThreadHandler]:
    """Registers a function as the one that writes some operations for a thread."""

    def register(function: ThreadHandler) -> ThreadHandler:
        for op in ops:
            HANDLERS[op] = function
        return function

    return register


class ThreadContext(KernelContext):
    """What surrounds the code of a thread."""

    def __init__(self, target: Target, subgroup: int, group_items: int | None) -> None:
        super().__init__(target)
        self.subgroup = subgroup
        """How many work-items a sub-group has."""
        self.group_items = group_items
        """How many a group has, where the kernel requires it."""
        self.members: Members | None = None
        """Who is in blocks that only some work-items of a sub-group may reach; None: not known."""
        self.member_rooms: dict[Block, str] = {}
        """The variables that hold them, as lanes of the warp."""
        self.unused: set[Node] | None = None
        """Values that nothing uses, once somebody has asked."""
        self.shared: dict[str, tuple[int, int]] = {}
        """Variables in shared memory that the code itself needs: bytes, and alignment."""
        self.has_room = False
        """Whether the kernel has room for arrays of variable length."""
        self.symbol = ""
        """Of the kernel: the beginning of the names of what belongs to it."""

    @property
    def has_whole_subgroups(self) -> bool:
        """Whether every sub-group of a group is known to be full."""
        return self.group_items is not None and self.group_items % self.subgroup == 0

    def shared_room(self, stem: str, size: int, alignment: int) -> str:
        """The name of a variable in shared memory, made on first use."""
        name = f"{self.symbol}${stem}"
        self.shared.setdefault(name, (size, alignment))
        return name


class ThreadEmitter(Emitter):
    """The state while one kernel is written."""

    context: ThreadContext

    def __init__(self, kernel: Kernel, divergence: Divergence, context: ThreadContext) -> None:
        super().__init__(kernel, divergence, context)

    def _write_one(self, node: Node) -> None:
        handler = HANDLERS.get(node.op)
        if handler is not None:
            handler(self, node)
        else:
            super()._write_one(node)

    def operate(self, op: str, t: str, s: str, names: list[str], flags: str = "") -> str | None:
        """A remainder is exact, as on the CPU. LLVM has x - trunc(x / y) * y for this target, which
        is wrong where the quotient is rounded."""
        if op == "FRem":
            return call("fmod", *(Vec(self.text, s, each) for each in names)).name
        return super().operate(op, t, s, names, flags)

    def register(self, name: str) -> str:
        """The value of a special register, as i32."""
        return self.text.call("i32", f"llvm.nvvm.read.ptx.sreg.{name}", [])

    def assembly(
        self, result: str, code: str, constraints: str, operands: list[tuple[str, str]]
    ) -> str:
        """Writes PTX that reads or writes memory, or waits."""
        passed = ", ".join(f"{type_} {name}" for type_, name in operands)
        call = f'call {result} asm sideeffect "{code}", "{constraints}"({passed})'
        if result == "void":
            self.text.do(call)
            return ""
        return self.text.emit(call)

    def own_address(self, pointer: Lanes, space: int) -> str:
        """A generic address as one in a kind of memory that it is known to lead to."""
        return self.text.emit(f"addrspacecast ptr {pointer.name} to ptr addrspace({space})")
