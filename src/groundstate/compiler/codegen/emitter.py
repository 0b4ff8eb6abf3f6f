"""Writes the code of one kernel: each node by its row in `HANDLERS`, and control flow around
them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from groundstate.compiler.analysis.deciding_loads import deciding_loads
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.analysis.places import Place
from groundstate.compiler.codegen.arithmetic.bfloat import as_float, is_bfloat, upper_half
from groundstate.compiler.codegen.arithmetic.constant_divisors import (
    divide_by_constant,
    divides_by_constant,
)
from groundstate.compiler.codegen.arithmetic.quotients import divide_once, divides_once
from groundstate.compiler.codegen.arithmetic.tables import write_operation
from groundstate.compiler.codegen.debug_metadata import DebugMetadata
from groundstate.compiler.codegen.function import Values, components
from groundstate.compiler.codegen.values import Lanes, LaneText, Value
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.location import Location
from groundstate.compiler.ir.ops import guards_of
from groundstate.compiler.ir.problems import BAD_OPERANDS, MARK, Problems, place_of
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.math.vec import Vec
from groundstate.compiler.spirv.constants import Address
from groundstate.compiler.spirv.opcodes import Decoration, FPFastMathMode
from groundstate.compiler.spirv.types import Type
from groundstate.compiler.target import Target

if TYPE_CHECKING:
    from groundstate.compiler.codegen.control.refill import Refill

Handler = Callable[["Emitter", Node], None]


def handles(*ops: str) -> Callable[[Handler], Handler]:
    """Registers a function as the one that writes some instructions."""

    def register(function: Handler) -> Handler:
        for op in ops:
            Emitter.HANDLERS[op] = function
        return function

    return register


REASSOCIATING = FPFastMathMode.Fast | FPFastMathMode.AllowReassocINTEL
"""Of the modes of an operation on floats, those that let sums be computed in another order."""


class Emitter(Values):
    """The state while one kernel is written."""

    HANDLERS: ClassVar[dict[str, Handler]] = {}

    def __init__(self, kernel: Kernel, divergence: Divergence, context: KernelContext) -> None:
        super().__init__(LaneText(divergence.width, divergence.target), kernel, divergence)
        self.width = divergence.width
        self.context = context
        self.contract = context.contract
        self.home = 0
        self.streams = ""
        """When the store that is being written goes around the cache; empty for never."""
        self.local_access: Node | None = None
        """The access to local memory that is being written, if it has a mask."""
        self.blends = False
        """Whether the store that is being written may write to inactive lanes what they had: their
        memory is there, and nobody else sees it."""
        self.local_places: set[tuple[Place, int]] | None = None
        """Addresses in local memory that all lanes access, once they are known."""
        self.deciding = deciding_loads(divergence)
        self.decides = False
        """Whether the load that is being written is one of these."""
        self.problems = Problems(kernel.name)

    def _go_to_row(self, row: int) -> None:
        super()._go_to_row(row)
        if self.context.ids_of_rows:
            self.context.ids = self.context.ids_of_rows[row]

    def full_mask(self) -> str:
        """The current mask, spelt out."""
        if self.mask is not None:
            return self.mask
        return "true" if self.width == 1 else "splat (i1 true)"

    def free_value(self, node: Node) -> Value:
        if node.op == "Argument":
            return self.context.arguments[int(str(node.literals[0]))]
        if node.op == "Global":
            return self.context.global_address(self, node)
        if node.op == "Constant":
            self.home = int(str(node.literals[1])) if len(node.literals) > 1 else 0
        return super().free_value(node)

    def address_constant(self, address: Address, type_: str) -> Lanes:
        """The place of a variable, with an offset, as a pointer or a number."""
        name = self.context.variable_address(self, self.home, address.base).name
        if address.offset != 0:
            name = self.text.emit(f"getelementptr i8, ptr {name}, i64 {address.offset}")
        if type_ != "ptr":
            name = self.text.emit(f"ptrtoint ptr {name} to {type_}")
        return Lanes(type_, name)

    def write(self, node: Node) -> None:
        """Writes one node. What cannot be written is noted, so that a log can name all of it."""
        if self.context.is_marked:
            self.text.do(MARK + place_of(node))
        start = len(self.text.lines)
        try:
            self._write(node)
            if node.location is not None:
                self._locate(start, node.location)
        except (BuildError, *BAD_OPERANDS) as problem:
            self.problems.add(node, problem)
            with suppress(*BAD_OPERANDS):  # what uses it should not fail for that alone
                self.define(node, self.undefined(node.type))

    def _locate(self, start: int, location: Location) -> None:
        """Says where the instructions from a line on come from, unless that was said before."""
        lines, debug = self.text.lines, self.context.debug
        if debug is None:
            return
        mark = f", !dbg {debug.of(location)}"
        for place in range(start, len(lines)):
            line = lines[place]
            if line.startswith("  ") and ", !dbg !" not in line:
                lines[place] = line + mark

    def _write(self, node: Node) -> None:
        if node.operands and node.operands[-1].op == "Guard":
            from groundstate.compiler.codegen.memory.guards import write_guarded

            write_guarded(self, node, guards_of(node), lambda: self._write_one(node))
        else:
            self._write_one(node)

    def _write_one(self, node: Node) -> None:
        handler = self.HANDLERS.get(node.op)
        if handler is not None:
            handler(self, node)
        elif not self._write_by_table(node):
            raise BuildError("it is not supported")

    def _write_by_table(self, node: Node) -> bool:
        operands = [self.get(each) for each in node.operands]
        value = self.map_components(node.type, operands, lambda t, parts: self._one(node, t, parts))
        if value is None:
            return False
        self.define(node, value)
        return True

    def map_components(
        self,
        type_: Type,
        operands: list[Value],
        write: Callable[[Type, list[Lanes]], Lanes | None],
    ) -> Value | None:
        """Applies a writer to each component of vector operands."""
        parts = components(type_)
        if parts is None:
            scalars = [each for each in operands if isinstance(each, Lanes)]
            return write(type_, scalars) if len(scalars) == len(operands) else None
        results: list[Value] = []
        for index, part in enumerate(parts):
            picked = [each[index] if isinstance(each, list) else each for each in operands]
            result = self.map_components(part, picked, write)
            if result is None:
                return None
            results.append(result)
        return results

    def _one(self, node: Node, type_: Type, operands: list[Lanes]) -> Lanes | None:
        """One component of an instruction of the arithmetic tables."""
        stride = self.divergence.stride(node)
        if stride is None and all(each.stride == 0 for each in operands):
            stride = 0
        vector = stride is None and self.width > 1
        text = self.text
        if node.op.startswith("Shift"):
            operands[1] = self._resized(operands[1], operands[0].type)
        names = [text.as_vector(each) if vector else each.name for each in operands]
        if vector and node.op in ("LogicalAnd", "LogicalOr"):
            return Lanes("i1", self.masks.combine(node.op == "LogicalAnd", *names), None)
        scalar = scalar_type(type_)
        t = text.vector_type(scalar) if vector else scalar
        s = text.vector_type(operands[0].type) if vector else operands[0].type
        if node.operands and is_bfloat(node.operands[0].type):
            name = self._as_floats(node, t, s, names)
        elif vector and divides_once(node.op, operands):
            name = divide_once(text, node.op, operands, lambda: self._divided(node.op, t, operands))
        elif vector and divides_by_constant(text, node.op, operands):
            name = divide_by_constant(text, node.op, operands)
        else:
            name = self.operate(node.op, t, s, names, self._float_flags(node))
        return None if name is None else Lanes(scalar, name, None if vector else stride)

    def operate(self, op: str, t: str, s: str, names: list[str], flags: str = "") -> str | None:
        """An operation of the arithmetic tables on types of LLVM: the name of the result, or None
        if there is no such operation."""
        return write_operation(self.text, op, t, s, names, flags)

    def _divided(self, op: str, t: str, operands: list[Lanes]) -> str:
        """A division of each lane."""
        names = [self.text.as_vector(each) for each in operands]
        name = self.operate(op, t, t, names)
        assert name is not None
        return name

    def _as_floats(self, node: Node, t: str, s: str, names: list[str]) -> str | None:
        """An operation on bfloats, which machines do on floats."""
        given = [as_float(Vec(self.text, s, name)) for name in names]
        gives_one = is_bfloat(node.type)
        single = t.replace("i16", "float") if gives_one else t
        operands = [each.name for each in given]
        flags = self._float_flags(node)
        name = self.operate(node.op, single, given[0].t, operands, flags)
        if name is None or not gives_one:
            return name
        return upper_half(Vec(self.text, single, name)).name

    def _float_flags(self, node: Node) -> str:
        """What LLVM may do with an operation on floats. One work-item's sums may change their order
        if the module allows it, for LLVM to make vectors of its loops; a vector has nothing to
        gain."""
        flags = "contract " if self.contract else ""
        modes = node.decorations.get(Decoration.FPFastMathMode)
        if self.width > 1 or not modes or not REASSOCIATING & int(modes[0]):
            return flags
        return f"reassoc nsz {flags}"

    def _resized(self, amount: Lanes, type_: str) -> Lanes:
        """How far to shift, in the width of what is shifted: only the lower bits count."""
        if amount.type == type_:
            return amount
        kind = "trunc" if int(type_[1:]) < int(amount.type[1:]) else "zext"
        vector = self.width > 1 and amount.stride != 0
        source, target = amount.type, type_
        if vector:
            source, target = self.text.vector_type(source), self.text.vector_type(target)
        name = self.text.as_vector(amount) if vector else amount.name
        resized = self.text.emit(f"{kind} {source} {name} to {target}")
        return Lanes(type_, resized, None if vector else 0)

    def each_lane(self, write: Callable[[int], None], once: bool = False) -> None:
        """Writes something for each active lane by itself, or just once if all would do the
        same."""
        if self.width == 1 or once:
            write(0)
            return
        for lane in range(self.width):
            self.if_lane(lane, lambda lane=lane: write(lane))  # type: ignore[misc]

    def if_lane(self, lane: int, write: Callable[[], None]) -> None:
        """Writes something that happens only if a lane is active."""
        if self.mask is None:
            write()
            return
        text = self.text
        bit = text.emit(f"extractelement {text.vector_type('i1')} {self.mask}, i64 {lane}")
        inside, after = text.label("lane"), text.label("after")
        text.do(f"br i1 {bit}, label %{inside}, label %{after}")
        text.start(inside)
        write()
        text.do(f"br label %{after}")
        text.start(after)

    def widen_i64(self, node: Node, name: str) -> str:
        """A scalar number as 64 bits."""
        scalar = scalar_type(node.type)
        return name if scalar == "i64" else self.text.emit(f"zext {scalar} {name} to i64")


class KernelContext:
    """What surrounds the code of a sub-group: arguments, ids, memory."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.arguments: list[Value] = []
        self.contract = True
        self.debug: DebugMetadata | None = None
        """Where instructions come from, if that is known."""
        self.is_marked = False
        """Whether there is a remark before what is written for each instruction."""
        self.nontemporal: set[Node] = set()
        """The stores that may go around the cache."""
        self.is_large = "false"
        """The name of what says whether the launch writes more than the cache holds."""
        self.streams: dict[Node, str] = {}
        """By the argument that they write to: the name of what says whether stores should go around
        the cache."""
        self.unwanted: set[Node] = set()
        """Atomic operations whose results nobody wants."""
        self.privatised: set[Node] = set()
        """Those that wait in a table."""
        self.counters = 0
        """How many counters the kernel has, for metrics (counting.py)."""
        self.has_habit = False
        """Whether the worker remembers how its last exchange went."""
        self.ids: dict[str, list[Lanes]] = {}
        """Of the row that is being written."""
        self.ids_of_rows: list[dict[str, list[Lanes]]] = []
        self.global_names: dict[tuple[int, int], str] = {}
        self.formats: list[bytes] = []
        self.private_base: Callable[[Emitter, Node], str] | None = None
        self.print_buffer = "null"
        self.bounds = "null"
        """Of the memory of arguments, in checked mode."""
        self.group_checks = "null"
        """What the kernel tells checkers by (memory/races.py)."""
        self.entry_mask: str | None = None
        """Which lanes exist; None if all do."""
        self.shadow = "null"
        """Where the shadow of memory lies (memory/shadows.py)."""
        self.prefetches = False
        """Whether it asks for what the next group will read."""
        self.room_bytes = 0
        """At the end of private memory, for arrays of variable length."""
        self.subgroups = 1
        self.refill: Refill | None = None
        """What gives lanes that are done the next work-items, if they take them."""
        self.nowhere: str | None = None
        """A place that inactive lanes read and write, where there is need for one."""

    def global_address(self, emitter: Emitter, node: Node) -> Lanes:
        """The address of a program-scope or local variable."""
        variable = node.literals[0]
        return self.variable_address(
            emitter, int(str(node.literals[1])), getattr(variable, "id", -1)
        )

    def variable_address(self, emitter: Emitter, home: int, identifier: int) -> Lanes:
        """The address of a variable by its module and id."""
        name = self.global_names.get((home, identifier))
        if name is None:
            raise BuildError(f"the variable %{identifier} has no address here")
        return Lanes("ptr", name)
