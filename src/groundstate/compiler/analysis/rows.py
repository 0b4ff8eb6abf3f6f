"""Vectors of a group that run together: unroll-and-jam over the rows, or along a row.

Where the lanes of a vector lie in one row of a two-dimensional group, the rows below it often load
the same numbers: all rows of a matrix product read the same row of the second matrix. If rows run
in lockstep, such a number is loaded once for all of them. If a group has a single row of several
vectors, what these share is the number by which all lanes multiply, and what each loads lies behind
what the one before loads. Both is possible if they always go the same way: no branch depends on
which row it is, and none on the lane.

Where lanes read far apart, and rows next to each other, as in a transposition, four rows read four
numbers of each lane at once, which are turned in registers.
"""

from __future__ import annotations

from typing import NamedTuple

from groundstate.compiler.analysis import facts
from groundstate.compiler.analysis.affine import STILL, Lanes, Start, Step, Steps, WalkedAxis
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.analysis.register_pressure import register_pressure, registers_of
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.ops import Category, has_side_effects, is_volatile, operation
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Float, Int, Pointer, Vector

SAME_IN_ALL_ROWS = frozenset(
    (
        *("WorkgroupId", "NumWorkgroups", "GlobalOffset", "GlobalSize", "WorkDim"),
        *("WorkgroupSize", "EnqueuedWorkgroupSize"),
    )
)
WITH_AXES = frozenset(("LocalInvocationId", "GlobalInvocationId"))
NEIGHBOURS = (1, 2, 4, 8)
"""Bytes from what a lane loads to what the next one does."""
TURNED_ROWS = 4
"""Whose numbers are turned together."""
TURNED_BYTES = (4, 8)
GLOBAL = (StorageClass.CrossWorkgroup, StorageClass.UniformConstant)
MAX_DEPTH = 12
"""How many operations may lead from an id to an address."""
ACCESSES = frozenset(("Load", "Store"))
PLAIN = frozenset(("Load", "Store", "Prefetch", "ShadowStore"))


class Lockstep(NamedTuple):
    """Which vectors of a group run together."""

    vectors: int = 1
    along_row: bool = False
    """Whether they are neighbours in a row, rather than at the same place of several rows."""


ONE_BY_ONE = Lockstep()


def rows_together(divergence: Divergence, is_tile: bool = False) -> Lockstep:
    """How many vectors run in lockstep: 1 if that is not possible, or gains nothing. A tile is a
    group that was made for it (`target/range_tiles.py`)."""
    if divergence.width == 1 or not divergence.rows_are_whole or not _are_plain(divergence):
        return ONE_BY_ONE
    rows = divergence.group_size[divergence.axes[1]]
    if not is_tile and turned_loads(divergence):
        turned = _fitting(divergence, rows, divergence.target.rows_turned)
        if turned > 1:
            return Lockstep(turned)
    if not (divergence.cfg.loops or is_tile):
        return ONE_BY_ONE
    vectors = divergence.group_size[divergence.axis] // divergence.width
    for count, along_row in ((rows, False), (vectors, True)):
        found = _together(divergence, count, along_row, is_tile)
        if found is not None:
            return found
    return ONE_BY_ONE


def _together(
    divergence: Divergence, vectors: int, along_row: bool, is_tile: bool
) -> Lockstep | None:
    """How many of so many vectors run in lockstep, if that gains anything."""
    if vectors == 1:
        return None
    differing = differing_values(divergence, along_row)
    if any(block.condition in differing for block in divergence.kernel.blocks):
        return None
    if not _share_loads(divergence, differing, along_row, is_tile):
        return None
    target = divergence.target
    several = differing - _added_products(divergence.kernel) if is_tile else differing
    waiting = _gathered(divergence) - differing if is_tile else set()
    registers = target.vector_registers - (_turned_registers(divergence) if is_tile else 0)
    for together in target.rows_of_tile if is_tile else target.rows_together:
        copies = {**dict.fromkeys(several, together), **dict.fromkeys(waiting, 0)}
        if vectors % together == 0 and register_pressure(divergence, copies) <= registers:
            return Lockstep(together, along_row)
    return None


def _fitting(divergence: Divergence, rows: int, counts: tuple[int, ...]) -> int:
    """How many rows of a group run in lockstep, of some counts, if that depends on registers."""
    differing = differing_values(divergence, False)
    if any(block.condition in differing for block in divergence.kernel.blocks):
        return 1
    for count in counts:
        pressure = register_pressure(divergence, dict.fromkeys(differing, count))
        if rows % count == 0 and pressure <= divergence.target.vector_registers:
            return count
    return 1


class _Rows(Lanes, WalkedAxis):
    """The rows of a group, below each other."""

    def __init__(self, divergence: Divergence) -> None:
        self.differing = differing_values(divergence, False)

    def start(self, node: Node) -> Start:
        if node not in self.differing:
            return STILL
        if node.op == "Builtin":
            return Step(1) if node.literals[0] in WITH_AXES else None
        return None if node.op == "Phi" else node.operands


def turned_loads(divergence: Divergence) -> set[Node]:
    """The loads of numbers that lie far apart in lanes, and next to each other in rows."""
    steps = Steps(_Rows(divergence), MAX_DEPTH)
    return {
        node
        for block in divergence.kernel.blocks
        for node in block.nodes
        if node.op == "Load"
        and isinstance(node.type, Int | Float)
        and node.type.size in TURNED_BYTES
        and _is_far(divergence, node, block)
        and steps.of(node.operands[0]) == Step(node.type.size)
    }


def _is_far(divergence: Divergence, load: Node, block: Block) -> bool:
    """True for an address in memory of all work-items that lies far from that of the next lane."""
    pointer, step = load.operands[0], divergence.stride_at(load.operands[0], block)
    is_global = isinstance(pointer.type, Pointer) and pointer.type.storage in GLOBAL
    return is_global and step is not None and abs(step) >= TURNED_ROWS * load.type.size


def _are_plain(divergence: Divergence) -> bool:
    """True if lanes never part, and a kernel does nothing but compute, load and store."""
    parts = divergence.divergent_blocks or divergence.divergent_branches
    return not parts and is_plain(divergence.kernel)


def is_plain(kernel: Kernel) -> bool:
    """True if a kernel does nothing but compute, load and store."""
    return (
        not kernel.observes_subgroups
        and not facts.has_barriers(kernel)
        and all(
            (node.op in PLAIN or not has_side_effects(node))
            and not (node.op in ACCESSES and is_volatile(node))
            and node.op != "Variable"
            and operation(node).category is not Category.GROUP
            for node in kernel.nodes()
        )
    )


def _added_products(kernel: Kernel) -> set[Node]:
    """Products that are added to something at once, mostly in one step."""
    users = kernel.users()
    return {
        node
        for node in kernel.nodes()
        if node.op == "FMul" and [each.op for each in users[node]] in (["FAdd"], ["FSub"])
    }


def _gathered(divergence: Divergence) -> set[Node]:
    """What lanes load from places of their own. Where all rows need it, it may as well wait in
    memory: to read it back takes much less."""
    found: set[Node] = set()
    for block in divergence.kernel.blocks:
        for node in block.nodes:
            if node.op == "Load":
                stride = divergence.stride_at(node.operands[0], block)
                is_gathered = stride not in (0, node.type.size)
            else:
                is_gathered = node.op == "CompositeExtract" and node.operands[0] in found
            if is_gathered:
                found.add(node)
    return found


def _turned_registers(divergence: Divergence) -> int:
    """What it takes to turn loads in registers that read several components for each lane."""
    return max(
        (
            registers_of(node, divergence)
            for node in divergence.kernel.nodes()
            if node.op == "Load" and isinstance(node.type, Vector)
        ),
        default=0,
    )


def differing_values(divergence: Divergence, along_row: bool) -> set[Node]:
    """The values that may differ between the vectors."""
    found: set[Node] = set()
    changed = True
    while changed:
        changed = False
        for node in divergence.kernel.nodes():
            if node in found:
                continue
            if _begins(node, divergence.axis, along_row) or any(
                each in found for each in node.operands
            ):
                found.add(node)
                changed = True
    return found


def _begins(node: Node, axis: int, along_row: bool) -> bool:
    """True for a number that tells rows apart, or vectors of a row."""
    if node.op != "Builtin":
        return False
    name = str(node.literals[0])
    if name in WITH_AXES and len(node.literals) > 1:
        return (node.literals[1] == axis) == along_row
    return name not in SAME_IN_ALL_ROWS


def _share_loads(
    divergence: Divergence, differing: set[Node], along_row: bool, is_tile: bool
) -> bool:
    """True if all rows load the same in a loop, and lanes do not. Along a row, if all vectors load
    the same number in a loop, and there each loads what lies behind that of the one before. In a
    tile there need be no loop."""
    loads = [
        (node in differing, divergence.stride_at(node.operands[0], block))
        for block in divergence.kernel.blocks
        if block in divergence.cfg.loop_of or is_tile
        for node in block.nodes
        if node.op == "Load"
    ]
    if not along_row:
        return any(not differs and stride != 0 for differs, stride in loads)
    return any(not differs for differs, _ in loads) and any(
        differs and stride in NEIGHBOURS for differs, stride in loads
    )
