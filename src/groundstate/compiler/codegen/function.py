"""The body of a kernel for one sub-group: values, masks, and control flow laid out in a line.

Blocks are written in the order of `schedule`. A block that all lanes reach together (not partial)
branches like ordinary code. A partial block has a mask: each edge into it adds lanes, the block is
skipped if no lane came, and its own branch hands its lanes on to the masks of its successors.

Whatever is used outside the block that defines it goes through a slot (an alloca that LLVM turns
back into registers), because a skipped block does not dominate, in LLVM's sense, what follows
it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator

from groundstate.compiler.analysis.cfg import CFG, Loop
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.analysis.liveness import Liveness
from groundstate.compiler.analysis.speculated_strides import exchanged_nodes, speculated_nodes
from groundstate.compiler.codegen.control.exit_values import exit_values
from groundstate.compiler.codegen.control.masks import Masks
from groundstate.compiler.codegen.control.speculated_values import speculate
from groundstate.compiler.codegen.values import Lanes, LaneText, Value
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.ops import LEAVES, operation
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.light_dataclass import field, light_dataclass
from groundstate.compiler.lower.barriers import is_group_barrier
from groundstate.compiler.spirv.constants import Address, Constant, SamplerValue
from groundstate.compiler.spirv.types import Array, Struct, Type, Vector


def rematerialised_nodes(kernel: Kernel, most: int) -> set[Node]:
    """What is had again from ids and arguments wherever it is needed, by `most` operations."""
    costs: dict[Node, int] = {}
    for node in kernel.nodes():
        if not operation(node).rematerialisable:
            continue
        parts = [0 if each.op in LEAVES else costs.get(each) for each in node.operands]
        known = [each for each in parts if each is not None]
        cost = 1 + sum(known)
        if len(known) == len(parts) and cost <= most:
            costs[node] = cost
    return set(costs)


@light_dataclass(frozen=False)
class Slot:
    """Where one component of a value waits between blocks."""

    name: str
    type: str
    stride: int | None


@light_dataclass(frozen=False)
class Layout:
    """The slots of the values, masks and variables of a kernel."""

    values: dict[Node, Value] = field(default_factory=dict)
    lanes: dict[Node, Value] = field(default_factory=dict)
    masks: dict[Block, str] = field(default_factory=dict)
    flags: dict[Block, str] = field(default_factory=dict)


def schedule(kernel: Kernel, cfg: CFG) -> list[Block]:
    """Blocks so that each comes after all that lead to it, loops in one piece."""

    def order(blocks: list[Block], loop: Loop | None) -> list[Block]:
        result: list[Block] = []
        for block in blocks:
            inner = cfg.loop_of.get(block)
            while inner is not None and inner.parent is not loop:
                inner = inner.parent
            if inner is None or inner is loop:
                result.append(block)
            elif inner.header is block:
                members = sorted(inner.blocks, key=lambda each: each.index)
                result += order(members, inner)
        return result

    return order(kernel.blocks, None)


def components(type_: Type) -> list[Type] | None:
    """The types of a composite's parts, or None for a scalar."""
    if isinstance(type_, Vector):
        return [type_.element] * type_.count
    if isinstance(type_, Array):
        return [type_.element] * type_.length
    if isinstance(type_, Struct):
        return list(type_.members)
    return None


def _fits(value: Value, type_: Type) -> bool:
    """Whether a value has the parts of a type."""
    parts = components(type_)
    if parts is None:
        return isinstance(value, Lanes) and value.type == scalar_type(type_)
    return isinstance(value, list) and len(value) == len(parts) and all(map(_fits, value, parts))


class Values:
    """Values of nodes: those of the current block by name, the others through slots."""

    def __init__(
        self,
        text: LaneText,
        kernel: Kernel,
        divergence: Divergence,
    ) -> None:
        self.text = text
        self.masks = Masks(text)
        self.kernel = kernel
        self.divergence = divergence
        self.layout = Layout()
        self.allocas: list[str] = []
        self.block: Block | None = None
        self.mask: str | None = None
        self.inhabited: str | None = None
        """A mask in which a lane is set for certain."""
        self.here: dict[Node, Value] = {}
        self._rows = [(self.here, self.layout)]
        """Of each row of the group that runs in lockstep: the values at hand, and the slots."""
        self._row = 0
        self.same_in_rows: set[Node] = set()
        """The values that rows in lockstep share."""
        self.turned_loads: set[Node] = set()
        """Loads of rows in lockstep that are turned in registers."""
        self.speculated = speculated_nodes(kernel, divergence)
        has_barriers = any(map(is_group_barrier, kernel.nodes()))
        self.rematerialised = (
            rematerialised_nodes(kernel, divergence.target.most_rematerialised)
            | exchanged_nodes(self.speculated)
            if has_barriers
            else set(self.speculated)
        )
        self._captured_node: Node | None = None
        self._captured: Value | None = None
        self.crossing, self.escaping = self._find_crossing()
        if divergence.refilled is not None:
            self.escaping |= self._kept_in_loop(divergence.refilled)
        self.exit_values = exit_values(divergence, self.escaping)

    def _find_crossing(self) -> tuple[set[Node], set[Node]]:
        """Nodes that are used in another block, and of those the ones that outlive a loop's
        iterations."""
        crossing: set[Node] = set()
        escaping: set[Node] = set()

        def use(node: Node, block: Block) -> None:
            if node.op in LEAVES or node.block is block:
                return
            if node in self.rematerialised:
                for operand in node.operands:
                    use(operand, block)
                return
            crossing.add(node)
            if self.divergence.escapes(node, block):
                escaping.add(node)

        for block in self.kernel.blocks:
            for node in block.nodes:
                for operand in node.operands:
                    use(operand, block)
            for phi in block.phis:
                crossing.add(phi)
                for value, source in zip(phi.operands, phi.literals, strict=True):
                    assert isinstance(source, Block)
                    use(value, source)
            if block.condition is not None:
                use(block.condition, block)
        return crossing, escaping

    def _kept_in_loop(self, loop: Loop) -> set[Node]:
        """What lanes that are in a loop need while others come that have it from before the loop,
        too."""
        needed = Liveness(self.kernel)[loop.header] & self.crossing
        return {node for node in needed if self.divergence.stride(node) is None}

    # --- Rows -----------------------------------------------------------------------------------

    def use_rows(self, count: int, differing: set[Node]) -> None:
        """Makes room for the values of rows that run in lockstep, of which some may differ."""
        self._rows += [({}, Layout()) for _ in range(count - 1)]
        self.same_in_rows = {node for node in self.kernel.nodes() if node not in differing}

    def share(self, node: Node) -> None:
        """Gives all rows the value that the first one has for a node."""
        for here, _ in self._rows[1:]:
            here[node] = self.here[node]

    @property
    def rows(self) -> int:
        """How many run in lockstep."""
        return len(self._rows)

    @property
    def is_first_row(self) -> bool:
        """Whether what is written now is of the first of them."""
        return self._row == 0

    def each_row(self) -> Iterator[int]:
        """Goes from row to row; what is written meanwhile is of that row. Ends at the first."""
        for row in range(len(self._rows)):
            self._go_to_row(row)
            yield row
        self._go_to_row(0)

    def _go_to_row(self, row: int) -> None:
        self._rows[self._row] = self.here, self.layout
        self._row = row
        self.here, self.layout = self._rows[row]

    def known(self) -> list[dict[Node, Value]]:
        """The values at hand in each row."""
        return [dict(self.here) for _ in self.each_row()]

    def forget(self, known: list[dict[Node, Value]] | None = None) -> None:
        """Goes back to what was at hand before, or to nothing."""
        for row in self.each_row():
            self.here = dict(known[row]) if known is not None else {}

    # --- Slots ----------------------------------------------------------------------------------

    def new_slot(self, llvm_type: str, stem: str) -> str:
        """Room for one LLVM value that lives across blocks."""
        name = self.text.name(stem)
        self.allocas.append(f"  {name} = alloca {llvm_type}")
        return name

    def _slots_for(self, type_: Type, stride: int | None, stem: str) -> Value:
        parts = components(type_)
        if parts is not None:
            return [self._slots_for(part, stride, stem) for part in parts]
        scalar = scalar_type(type_)
        return Lanes(scalar, self.new_slot(self.slot_type(scalar, stride), stem), stride)

    def slot_type(self, scalar: str, stride: int | None) -> str:
        """The LLVM type of a slot: truth values of lanes wait there as masks."""
        if stride is not None:
            return scalar
        return self.masks.type if scalar == "i1" else self.text.vector_type(scalar)

    def slot(self, node: Node) -> Value:
        """The slots of a node's components."""
        node = self.exit_values.get(node, node)
        layout = self._rows[0][1] if node in self.same_in_rows else self.layout
        found = layout.values.get(node)
        if found is None:
            found = self._slots_for(node.type, self.divergence.stride(node), "v")
            layout.values[node] = found
        return found

    def lane_slot(self, node: Node) -> Value:
        """Slots that keep each lane's value when lanes leave a loop at different times."""
        found = self.layout.lanes.get(node)
        if found is None:
            found = self._slots_for(node.type, None, "e")
            self.layout.lanes[node] = found
        return found

    def load(self, slot: Value) -> Value:
        """What is in a slot."""
        if isinstance(slot, list):
            return [self.load(part) for part in slot]
        wide = self.slot_type(slot.type, slot.stride)
        name = self.text.emit(f"load {wide}, ptr {slot.name}")
        if slot.type == "i1" and slot.stride is None:
            name = self.masks.bits(name)
        return Lanes(slot.type, name, slot.stride)

    def store(self, slot: Value, value: Value, mask: str | None = None) -> None:
        """Puts a value into a slot; with a mask, only in some lanes (a truth value for scalars)."""
        if isinstance(slot, list):
            assert isinstance(value, list)
            for into, part in zip(slot, value, strict=True):
                self.store(into, part, mask)
            return
        assert isinstance(value, Lanes)
        text = self.text
        wide = self.slot_type(slot.type, slot.stride)
        if slot.stride is not None:
            name, bit = value.name, "i1"
        else:
            name, bit = text.as_vector(value), text.vector_type("i1")
            name = self.masks.of_bits(name) if slot.type == "i1" else name
        if mask is not None:
            old = text.emit(f"load {wide}, ptr {slot.name}")
            name = text.emit(f"select {bit} {mask}, {wide} {name}, {wide} {old}")
        text.do(f"store {wide} {name}, ptr {slot.name}")

    # --- Values ---------------------------------------------------------------------------------

    def define(self, node: Node, value: Value) -> None:
        """Says what a node's value is, which has the parts that its type has."""
        if not _fits(value, node.type):
            raise BuildError(f"what it gives is not a {node.type}")
        if node is self._captured_node:
            self._captured = value
            return
        stride = self.speculated.get(node)
        if stride is not None and isinstance(value, Lanes):
            value = speculate(self.text, node, value, stride, self.scalar, self.mask)
        self.here[node] = value
        if node in self.crossing:
            varying = self.divergence.stride(node) is None and self.text.width > 1
            blend = self.mask if varying and node in self.escaping else None
            self.store(self.slot(node), value, blend)
            self.keep_for_leavers(node)

    def captured(self, node: Node, write: Callable[[], None]) -> Value | None:
        """What a node is defined as by a writer: not yet its value, but one of several."""
        before = self._captured_node, self._captured
        self._captured_node, self._captured = node, None
        write()
        found = self._captured
        self._captured_node, self._captured = before
        return found

    def keep_for_leavers(self, node: Node) -> None:
        """Gives lanes that may leave a loop in this iteration a copy of what all share now."""
        if node in self.escaping and self.divergence.stride(node) is not None:
            self.store(self.lane_slot(node), self.get(node), self.mask)

    def get(self, node: Node) -> Value:
        """The value of a node in the current block."""
        found = self.here.get(node)
        if found is not None:
            return found
        if node.op in LEAVES:
            return self.free_value(node)
        if node in self.rematerialised:
            self.write(node)
            return self.here[node]
        assert self.block is not None
        varying = self.divergence.stride(node) is None
        if (
            node.block is not self.block
            and not varying
            and self.divergence.escapes(node, self.block)
        ):
            found = self.load(self.lane_slot(node))
        else:
            found = self.load(self.slot(node))
        self.here[node] = found
        return found

    def is_at_hand(self, node: Node) -> bool:
        """True if the value of a node that lies before can be had in the current block, although
        nobody there said that it is needed."""
        return node.op in LEAVES or node in self.here or node in self.crossing

    def scalar(self, node: Node) -> Lanes:
        """The value of a node that is no composite."""
        value = self.get(node)
        assert isinstance(value, Lanes), node
        return value

    @abstractmethod
    def write(self, node: Node) -> None:
        """Writes one node; the emitter knows how."""

    def free_value(self, node: Node) -> Value:
        """Constants and undefined values; the emitter knows the rest."""
        if node.op == "Undef":
            return self.undefined(node.type)
        constant = node.literals[0]
        assert isinstance(constant, Constant)
        return self.constant(constant)

    def address_constant(self, address: Address, type_: str) -> Lanes:
        """The place of a variable; the emitter knows it."""
        raise BuildError(f"the address of %{address.base}, a {type_}, is not known here")

    def undefined(self, type_: Type) -> Value:
        parts = components(type_)
        if parts is not None:
            return [self.undefined(part) for part in parts]
        scalar = scalar_type(type_)
        zero = {"ptr": "null", "i1": "false"}.get(scalar, "0" if scalar[0] == "i" else "0.0")
        return Lanes(scalar, zero)

    def constant(self, constant: Constant) -> Value:
        from groundstate.compiler.codegen.text import bits_literal

        if components(constant.type) is not None:
            parts = [constant.part(index) for index in range(constant.part_count)]
            return [self.constant(part) for part in parts if part is not None]
        scalar = scalar_type(constant.type)
        value = constant.value
        if value is None:
            return self.undefined(constant.type)
        if isinstance(value, Address):
            return self.address_constant(value, scalar)
        if isinstance(value, SamplerValue):
            return Lanes(scalar, bits_literal(value.flags, scalar))
        if not isinstance(value, int):
            raise BuildError(f"a constant of type {constant.type} is not supported")
        return Lanes(scalar, bits_literal(value, scalar))
