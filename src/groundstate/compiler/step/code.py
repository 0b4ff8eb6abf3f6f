"""A kernel made ready to be stepped: its graph as instructions that can be executed one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from groundstate.compiler.ir import Block, Node
from groundstate.compiler.ir.location import Location
from groundstate.compiler.ir.ops import Category, operation
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.lower.builtins import lower_builtins
from groundstate.compiler.lower.sampled_images import split_sampled_images
from groundstate.compiler.program.signature import describe_arguments
from groundstate.compiler.program.variables import place_variables
from groundstate.compiler.spirv.constants import Address, Constant
from groundstate.compiler.spirv.module import Variable
from groundstate.compiler.spirv.types import Pointer, Type
from groundstate.compiler.spirv_to_ir.kernel_ir import build_kernel
from groundstate.compiler.step.actions import Action, StepError
from groundstate.compiler.step.operations import action
from groundstate.compiler.step.values import Value, decode, of_constant, stored_bytes, zero_of
from groundstate.compiler.target import ANY_CPU

if TYPE_CHECKING:
    from groundstate.compiler.program.program import Program
    from groundstate.compiler.program.signature import Signature
    from groundstate.compiler.step.work_item import WorkItem

PRIVATE_ALIGNMENT = 128
TOGETHER = frozenset((Category.GROUP, Category.SHUFFLE))
KERNEL_BODY = "__clang_ocl_kern_imp_"
COPIES = frozenset(("GroupAsyncCopy", "UntypedGroupAsyncCopyKHR"))
BLOCKS = frozenset(("SubgroupBlockReadINTEL", "SubgroupBlockWriteINTEL"))
BARRIERS = frozenset(("ControlBarrier", "GroupWaitEvents"))


class Instruction:
    """One node, or the end of a block."""

    __slots__ = ("action", "depth", "is_together", "line", "location", "node", "operands", "slot")

    def __init__(self, node: Node | None, location: Location | None) -> None:
        self.node = node
        self.location = location
        self.action: Action | None = None
        """What a work-item does by itself; None: what several do together, or a branch."""
        self.is_together = False
        """Whether work-items wait for each other here."""
        self.operands: Sequence[Action] = ()
        """Of what they do together."""
        self.slot = -1
        self.line: tuple[str, int, int] | None = None
        """The file, the line and the call that it belongs to; None if a debugger passes it by."""
        self.depth = 0
        """How many calls deep."""


class Step:
    """A block's instructions, its phis, and where it leads."""

    __slots__ = ("block", "condition", "instructions", "phis", "switch", "targets")

    def __init__(self, block: Block) -> None:
        self.block = block
        self.instructions: list[Instruction] = []
        self.phis: list[tuple[int, dict[int, Action]]] = []
        """Where each value goes, and how it is had, by the index of the block before."""
        self.condition: Action | None = None
        self.switch: dict[int, int] | None = None
        self.targets = [each.index for each in block.successors]


class StepCode:
    """A kernel as it is stepped."""

    def __init__(self, program: Program, name: str) -> None:
        self.program = program
        self.name = name
        self.signature: Signature = program.signature(name)
        kernel = build_kernel(program.symbols, name, for_debugger=True)
        analyses = Analyses(kernel, ANY_CPU)
        split_sampled_images(kernel, analyses)
        lower_builtins(kernel, analyses)
        _resolve_copies(kernel.blocks)
        kernel.renumber()
        self.kernel = kernel
        self.arguments = kernel.arguments
        self.argument_types: list[Type] = describe_arguments(*program.function(name))[1]
        self.placement, self.local_bytes = place_variables(kernel, program.globals)
        self.slots: dict[Node, int] = {}
        self.leaves: list[tuple[int, Node]] = []
        """Values that are there before a work-item begins."""
        self.private: dict[Node, tuple[int, int]] = {}
        """Where private variables lie, and their bytes."""
        self.private_bytes = 0
        self.locals: dict[str, tuple[int, Type]] = {}
        """Variables in local memory, by name: where they lie in it, and what they are."""
        for node in kernel.nodes():
            self._slot(node)
            if node.op == "Variable":
                self._place(node)
        self.stub = name if any(KERNEL_BODY in each.where for each in kernel.blocks) else ""
        """The function that only calls the one with the body, if clang has made two."""
        self._told = {
            operand
            for node in kernel.nodes()
            if node.op == "DebugDeclare"
            for operand in node.operands
            if operand.op == "Bitcast"
        }
        self.blocks = [self._step(block) for block in kernel.blocks]
        every = [each for step in self.blocks for each in step.instructions]
        if all(each.line is None for each in every):  # there is still the start to stop at
            every[0].line, every[0].depth = ("", 0, 0), 1
        self._name_locals()

    # --- Places ---------------------------------------------------------------------------------

    def _slot(self, node: Node) -> int:
        if node not in self.slots:
            self.slots[node] = len(self.slots)
        return self.slots[node]

    def _place(self, node: Node) -> None:
        kind = node.type.pointee if isinstance(node.type, Pointer) else None
        size = kind.size if kind is not None else 0
        self.private_bytes = -(-self.private_bytes // PRIVATE_ALIGNMENT) * PRIVATE_ALIGNMENT
        self.private[node] = (self.private_bytes, size)
        self.private_bytes += size

    def _name_locals(self) -> None:
        for _, node in self.leaves:
            variable = node.literals[0] if node.op == "Global" else None
            if not isinstance(variable, Variable) or variable.data_type is None:
                continue
            home = int(str(node.literals[1]))
            place = self.placement.get((home, variable.id))
            if place is not None and place[0] == "local":
                name = self.program.symbols.modules[home].names.get(variable.id, "")
                self.locals[name.rpartition(".")[2]] = (place[1], variable.data_type)

    # --- Instructions ---------------------------------------------------------------------------

    def _get(self, operand: Node) -> Action:
        """How the value of an operand is had."""
        slot = self.slots.get(operand)
        if slot is None:
            slot = self._slot(operand)
            self.leaves.append((slot, operand))

        def get(item: WorkItem) -> Any:
            return item.values[slot]

        return get

    def _step(self, block: Block) -> Step:
        step = Step(block)
        for phi in block.phis:
            sources = {
                source.index: self._get(value)
                for value, source in zip(phi.operands, phi.literals, strict=True)
                if isinstance(source, Block)
            }
            step.phis.append((self.slots[phi], sources))
        location: Location | None = None
        for node in block.nodes:
            location = node.location or location
            step.instructions.append(self._instruction(node))
        step.instructions.append(Instruction(None, location))
        if block.condition is not None:
            step.condition = self._get(block.condition)
        if block.switch is not None:
            step.switch = {value: at + 1 for at, value in enumerate(block.switch)}
        return step

    def _instruction(self, node: Node) -> Instruction:
        instruction = Instruction(node, node.location)
        instruction.slot = self.slots[node]
        place = node.location
        is_told = node.op == "DebugDeclare" or node in self._told
        if self.stub and (place is None or place.caller is None):
            is_told = True  # of the stub, or what has no line in the body
        if place is not None and not is_told:
            instruction.line = (place.file, place.line, id(place.caller))
            instruction.depth = len(self.frames(place))
        if is_together(node):
            instruction.is_together = True
            instruction.operands = [self._get(each) for each in node.operands]
        else:
            instruction.action = action(node, self._get)
        return instruction

    def frames(self, place: Location) -> list[Location]:
        """A place and the calls around it, innermost first, as the source has them."""
        found = list(place.frames())
        if self.stub and len(found) > 1 and found[-1].function == found[-2].function:
            found.pop()
        return found

    # --- Values ---------------------------------------------------------------------------------

    def leaf_value(self, node: Node, local: int, variables: int, arguments: bytes) -> Value:
        """What a constant, an argument or the address of a variable is for a group."""

        def place(key: tuple[int, int]) -> int:
            where, offset = self.placement.get(key, ("", 0))
            if not where:
                raise StepError("uses a variable that has no place in memory")
            return (local if where == "local" else variables) + offset

        if node.op == "Argument":
            index = int(str(node.literals[0]))
            argument = self.signature.arguments[index]
            kind = self.argument_types[index]
            if argument.kind == "value" and isinstance(kind, Pointer):
                return 0  # a structure by value: the group has a copy of it, put in by `Group`
            size = stored_bytes(kind)
            return decode(kind, arguments[argument.offset : argument.offset + size])
        if node.op == "Global":
            variable, home = node.literals
            assert isinstance(variable, Variable)
            if variable.builtin is not None:
                return 0  # who reads it does so by a node of its own
            return place((int(str(home)), variable.id))
        if node.op == "Constant":
            constant, home = node.literals[0], int(str((*node.literals, 0)[1]))
            assert isinstance(constant, Constant)

            def address(of: Address) -> int:
                return place((home, of.base)) + of.offset

            return of_constant(constant, address)
        return zero_of(node.type)


def is_together(node: Node) -> bool:
    """Whether work-items wait for each other at a node."""
    return (
        node.op in BARRIERS
        or node.op in COPIES
        or node.op in BLOCKS
        or operation(node).category in TOGETHER
    )


def _resolve_copies(blocks: Sequence[Block]) -> None:
    """Lets everybody use what is copied itself. A barrier wants to know its scope, which may come
    through the argument of a function."""
    known: dict[Node, Node] = {}
    for block in blocks:
        for node in block.nodes:
            if node.op == "Copy":
                known[node] = node.operands[0]

    def source(node: Node) -> Node:
        while node in known:
            node = known[node]
        return node

    for block in blocks:
        for node in (*block.phis, *block.nodes):
            if node.op != "Copy":
                node.operands = [source(each) for each in node.operands]
        if block.condition is not None:
            block.condition = source(block.condition)
