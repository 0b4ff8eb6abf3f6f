"""Counting for metrics: the instructions, operations and bytes of the work-items of a launch.

In goes a lowered kernel; out comes one that counts, for each block, how many work-items run it.
What one of them does in a block is the same each time, so it is written down once, in a table that
goes along with the code; the driver multiplies (native/metrics/instructions.c).
What is counted is the program as it was written, before vectors, unrolling and merged loads: the
numbers are the same on all machines.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.instrument.accesses import Access, accesses
from groundstate.compiler.ir import Block, Kernel, Node, constant_int
from groundstate.compiler.ir.location import Location
from groundstate.compiler.ir.ops import LEAVES, Category, operation
from groundstate.compiler.ir.passes import Analyses, Variant
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Float, Int, Pointer, Type, Vector, Void

NOMINAL_LANES = 8
"""How access kinds are judged: for so many work-items in a row, whatever the vectors are."""
MOST_BLOCKS = 4096
"""A kernel with more is not counted: its counters lie on the stack."""

ONE_EACH = frozenset(("FAdd", "FSub", "FMul", "FDiv", "FRem", "FMod", "VectorTimesScalar"))
FUSED = frozenset(("fma", "mad"))
_ROUNDING = ("ceil", "floor", "trunc", "rint", "round")
_CHOOSING = ("fmin", "fmax", "select", "bitselect", "shuffle", "shuffle2")
NO_FLOPS = frozenset(("fabs", "copysign", "sign", "step", "isnan", *_ROUNDING, *_CHOOSING))
"""Functions that compute no new number."""
SPACES = {
    StorageClass.CrossWorkgroup: "global",
    StorageClass.Generic: "global",
    StorageClass.Workgroup: "local",
    StorageClass.Function: "private",
    StorageClass.Private: "private",
    StorageClass.UniformConstant: "constant",
}
PRODUCTS = frozenset(("IMul",))
CHAINS = frozenset(
    ("AccessChain", "InBoundsAccessChain", "PtrAccessChain", "InBoundsPtrAccessChain")
)
CONVERSIONS = frozenset(("SConvert", "UConvert", "Bitcast", "PtrCastToGeneric"))
LINEAR = frozenset(("IAdd", "ISub", "ShiftLeftLogical")) | PRODUCTS | CHAINS | CONVERSIONS
DEEPEST = 12
"""Operations from an address back to what it is computed from."""
MEMORY = frozenset((Category.MEMORY, Category.ATOMIC, Category.IMAGE))


@dataclass(slots=True)
class Costs:
    """What a work-item does in a block, in the order of `gs_metric_counts` from here on."""

    instructions: int = 0
    integer_instructions: int = 0
    float_instructions: int = 0
    memory_instructions: int = 0
    control_instructions: int = 0
    flops: int = 0
    global_loaded: int = 0
    global_stored: int = 0
    local_loaded: int = 0
    local_stored: int = 0
    private_loaded: int = 0
    private_stored: int = 0
    constant_loaded: int = 0
    uniform_bytes: int = 0
    consecutive_bytes: int = 0
    strided_bytes: int = 0
    gathered_bytes: int = 0
    atomics: int = 0
    barriers: int = 0
    branches: int = 0

    def add(self, name: str, amount: int = 1) -> None:
        setattr(self, name, getattr(self, name) + amount)


class Facts:
    """Where in the source blocks do what profiles tell of, as numbers of places from 1 on."""

    def __init__(self) -> None:
        self.accesses: list[tuple[int, int, str, str, str, int]] = []
        """Block, place, kind of access, memory, words for it, and bytes."""
        self.branches: list[tuple[int, int]] = []
        self.barriers: list[tuple[int, int]] = []
        self.places: dict[tuple[str, int, int, str], int] = {}
        """File, line, column and function."""

    def place(self, location: Location | None) -> int:
        """The number of a place; 0 if it is not known."""
        if location is None:
            return 0
        key = (location.file, location.line, location.column, location.function)
        return self.places.setdefault(key, len(self.places) + 1)


def count_instructions(kernel: Kernel, analyses: Analyses) -> bool:
    """Has each block count who runs it; false if there are too many, or nothing to count."""
    if len(kernel.blocks) > MOST_BLOCKS or not any(_does_something(each) for each in kernel.blocks):
        return False
    shape = Variant((NOMINAL_LANES, 1, 1), NOMINAL_LANES, NOMINAL_LANES)
    strides = Divergence(kernel, analyses.get(CFG), shape, analyses.target)
    facts = Facts()
    kernel.block_costs = [
        list(asdict(_costs(number, block, strides, facts)).values())
        for number, block in enumerate(kernel.blocks)
    ]
    kernel.block_facts = {
        "accesses": facts.accesses,
        "branches": facts.branches,
        "barriers": facts.barriers,
        "places": list(facts.places),
    }
    near = None
    for number, block in enumerate(kernel.blocks):
        near = next((each.location for each in block.nodes), near)
        counted = [_node("CountBlock", block, [], number, near)]
        if block.condition is not None and block.switch is None:
            block.nodes.append(_node("CountBranch", block, [block.condition], number, near))
        block.nodes = counted + block.nodes
    return True


def _does_something(block: Block) -> bool:
    return bool(block.nodes) or block.condition is not None


def _node(op: str, block: Block, operands: list[Node], number: int, near: Location | None) -> Node:
    node = Node(op, Void(), operands, (number,), block.where, near)
    node.block = block
    return node


def _costs(number: int, block: Block, strides: Divergence, facts: Facts) -> Costs:
    costs, near = Costs(), None
    for node in block.nodes:
        near = node.location or near
        if node.op not in LEAVES:
            _count(node, costs, strides)
            _note(number, node, strides, facts)
    if block.condition is not None:
        where = getattr(block.condition, "location", None) or near
        facts.branches.append((number, facts.place(where)))
        costs.add("instructions")
        costs.add("control_instructions")
        costs.add("branches")
    return costs


def _count(node: Node, costs: Costs, strides: Divergence) -> None:
    category = operation(node).category
    costs.add("instructions")
    if category is Category.BARRIER:
        costs.add("barriers")
        costs.add("control_instructions")
    elif category in MEMORY:
        costs.add("memory_instructions")
    elif isinstance(_element(_subject(node)), Float):
        costs.add("float_instructions")
        costs.add("flops", flops(node))
    elif isinstance(_element(_subject(node)), Int):
        costs.add("integer_instructions")
    if category is Category.ATOMIC:
        costs.add("atomics")
    for access in accesses(node):
        _count_access(access, costs, strides)


def _note(number: int, node: Node, strides: Divergence, facts: Facts) -> None:
    """Where barriers and accesses of other than private memory are."""
    if operation(node).category is Category.BARRIER:
        facts.barriers.append((number, facts.place(node.location)))
    for access in accesses(node):
        pointer = access.pointer.type
        space = SPACES.get(pointer.storage) if isinstance(pointer, Pointer) else None
        times = 1 if access.count is None else constant_int(access.count)
        if space not in (None, "private") and times is not None:
            kind = _kind(access, strides)
            place = facts.place(node.location)
            size = access.size * times
            facts.accesses.append((number, place, kind, str(space), access.words, size))


def _subject(node: Node) -> Type:
    """What an operation computes with: for a comparison, its operands."""
    if isinstance(_element(node.type), Int | Float) or not node.operands:
        return node.type
    return node.operands[0].type


def flops(node: Node) -> int:
    """Operations on floating-point numbers: as many as components; of a fused one, twice that."""
    count = node.type.count if isinstance(node.type, Vector) else 1
    if node.op in ONE_EACH:
        return count
    if node.op == "FmaKHR":
        return 2 * count
    if node.op == "Dot":
        operand = node.operands[0].type
        return 2 * operand.count - 1 if isinstance(operand, Vector) else 1
    if node.op != "ExtInst":
        return 0
    name = operation(node).name
    if name in NO_FLOPS or name.startswith(("vload", "vstore")):
        return 0
    return count * (2 if name in FUSED else 1)


def _count_access(access: Access, costs: Costs, strides: Divergence) -> None:
    pointer = access.pointer.type
    space = SPACES.get(pointer.storage) if isinstance(pointer, Pointer) else None
    times = 1 if access.count is None else constant_int(access.count)
    if space is None or times is None:
        return
    size = access.size * times
    if access.words != "write":
        costs.add(f"{space}_loaded", size)
    if access.words != "read" and space != "constant":
        costs.add(f"{space}_stored", size)
    if space != "private":
        costs.add(f"{_kind(access, strides)}_bytes", size)


def _kind(access: Access, strides: Divergence) -> str:
    """How the addresses of neighbouring work-items lie to each other."""
    if access.is_block:
        return "consecutive"
    stride = strides.stride(access.pointer)
    if access.index is not None and stride is not None:
        index, size = access.index
        step = strides.stride(index)
        stride = None if step is None else stride + step * size
    if stride is None:
        return "strided" if _is_linear(access, strides) else "gathered"
    if stride == 0:
        return "uniform"
    return "consecutive" if stride == access.size else "strided"


def _is_linear(access: Access, strides: Divergence) -> bool:
    """Whether neighbours lie at one distance, which only the running program knows: `x * n`."""
    found = _moves_linearly(access.pointer, strides, 0)
    if access.index is None:
        return found
    return found and _moves_linearly(access.index[0], strides, 0)


def _moves_linearly(node: Node, strides: Divergence, depth: int) -> bool:
    """Whether a value goes up by the same from lane to lane, but for numbers that wrap around."""
    if strides.stride(node) is not None:
        return True
    if depth >= DEEPEST or node.op not in LINEAR:
        return False
    still = [strides.stride(each) == 0 for each in node.operands]
    if node.op in PRODUCTS and not any(still):
        return False
    if node.op == "ShiftLeftLogical" and not still[1]:
        return False
    return all(_moves_linearly(each, strides, depth + 1) for each in node.operands)


def _element(type_: Type) -> Type:
    return type_.element if isinstance(type_, Vector) else type_
