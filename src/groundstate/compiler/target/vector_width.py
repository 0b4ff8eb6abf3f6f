"""How many work-items of a group run side by side.

A program that asks for its sub-groups gets the size that it was promised. All others see only
work-items, so the width is free: two registers for each value hide the latency of arithmetic, and
rows that hold whole sub-groups keep addresses next to each other.
"""

from __future__ import annotations

from collections.abc import Iterator

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.analysis.cost import estimate, has_gathers, scatters
from groundstate.compiler.analysis.divergence import VARYING, Divergence, walked_axes
from groundstate.compiler.analysis.facts import observes_subgroup
from groundstate.compiler.analysis.lane_blocks import stride_within_block
from groundstate.compiler.analysis.lane_values import picked_lanes
from groundstate.compiler.analysis.register_pressure import register_pressure
from groundstate.compiler.analysis.turned import other_axes
from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.ops import SHUFFLES, Category, Effect, operation
from groundstate.compiler.ir.passes import Variant
from groundstate.compiler.light_dataclass import replace
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Bool, Int, Pointer, Type, Void
from groundstate.compiler.target import Target

GroupSize = tuple[int, int, int]


def plan(kernel: Kernel, group_size: GroupSize, target: Target) -> Divergence:
    """The kernel's values for the width that suits it, and for the axis: that along which most of
    what lanes access lies together."""
    cfg = CFG(kernel)
    usual = _planned(kernel, cfg, group_size, target)
    if not has_gathers(usual):
        return usual
    best, least = usual, _cycles_of_item(usual) / target.clearly_faster
    for axis in other_axes(kernel, group_size, usual.axis):
        turned = _planned(kernel, cfg, group_size, target, axis)
        if turned.rows_are_whole and turned.width > 1 and _cycles_of_item(turned) < least:
            best, least = turned, _cycles_of_item(turned)
    return best


def _cycles_of_item(divergence: Divergence) -> float:
    """What a work-item costs as one of a vector, if strides that the program gives are the lengths
    of rows. Scattered stores cost more than gathers: the cache owns each line that they write, and
    the lines of a column often compete for the same place."""
    target, width = divergence.target, divergence.width
    written = scatters(divergence) * target.scattered_line_cycles
    return estimate(divergence, takes_products=False).as_vector / width + written


def _planned(
    kernel: Kernel, cfg: CFG, group_size: GroupSize, target: Target, axis: int | None = None
) -> Divergence:
    is_large = sum(1 for _ in kernel.nodes()) > target.large_kernel
    row = group_size[walked_axes(group_size, axis)[0]]
    if target.lanes > 1 and row % target.vector_bytes == 0 and _stores_bytes(kernel):
        variant = Variant(group_size, target.vector_bytes, target.vector_bytes, axis=axis)
        divergence = Divergence(kernel, cfg, variant, target)
        if _holds_bytes(divergence):
            return divergence
    for width in _candidates(group_size, row, target):
        if width > target.lanes and is_large:
            continue
        variant = Variant(group_size, width, width, axis=axis)
        divergence = Divergence(kernel, cfg, variant, target)
        waits = _waits_for_memory(divergence)
        spilled = target.most_spilled_waiting if waits else target.most_spilled
        if (
            width <= target.lanes
            or register_pressure(divergence) <= target.vector_registers + spilled
        ):
            break
    return _in_blocks(divergence)


def _in_blocks(usual: Divergence) -> Divergence:
    """The values for narrower vectors whose lanes share parts of their local ids, such as the row
    of a tile, if lanes of wider ones do not and a work-item costs less like that. Where lanes leave
    a loop one by one, those that share a row leave it together, which may cost a little more."""
    best, kernel, target = usual, usual.kernel, usual.target
    for width in sorted(target.subgroup_sizes, reverse=True):
        if target.narrow_lanes <= width < best.width and _splits_blocks(best, width):
            variant = replace(usual.variant, width=width, subgroup=width)
            narrow = Divergence(kernel, usual.cfg, variant, target)
            most = _cycles_of_item(best) * (target.clearly_faster if best.divergent_loops else 1)
            if _cycles_of_item(narrow) < most:
                best = narrow
    return best


def _splits_blocks(divergence: Divergence, width: int) -> bool:
    """True if so many lanes share a part of their local ids, and those of these vectors do not."""
    return any(
        stride_within_block(node, divergence.width) is None
        and stride_within_block(node, width) is not None
        and divergence.stride(node.operands[0]) == 1
        for node in divergence.kernel.nodes()
    )


def _stores_bytes(kernel: Kernel) -> bool:
    """True if all that anybody sees of a kernel is that it stores bytes. Atomic and group
    operations, and what checkers and metrics add, have at most 32 lanes in a vector."""
    stores = [node for node in kernel.nodes() if node.op == "Store"]
    return (
        bool(stores)
        and all(_is_byte(node.operands[1].type) for node in stores)
        and all(node.op == "Store" or _is_unseen(node) for node in kernel.nodes())
    )


def _is_unseen(node: Node) -> bool:
    return not operation(node).effect & ~Effect.READS and node.op != "Guard"


def _holds_bytes(divergence: Divergence) -> bool:
    """True if lanes differ in bytes alone, and few enough for registers: then each register holds
    one of as many lanes as it has bytes. Truths are bits with mask registers, and words without."""
    has_masks = divergence.target.has_mask_registers
    varying = [
        node.type
        for node in divergence.kernel.nodes()
        if divergence.stride(node) is VARYING and not isinstance(node.type, Void)
    ]
    return (
        all(_is_byte(each) or (has_masks and isinstance(each, Bool)) for each in varying)
        and register_pressure(divergence) <= divergence.target.vector_registers
    )


def _is_byte(type_: Type) -> bool:
    return isinstance(type_, Int) and type_.width == 8


def _waits_for_memory(divergence: Divergence) -> bool:
    """True if lanes search: each reads from an address of its own in a loop that each leaves when
    it is done. What one waits for, another has meanwhile."""
    return any(
        node.op == "Load"
        and divergence.stride_at(node.operands[0], block) is VARYING
        and isinstance(pointer := node.operands[0].type, Pointer)
        and pointer.storage != StorageClass.Function
        for loop in divergence.divergent_loops
        for block in loop.blocks
        for node in block.nodes
    )


def vector_of_subgroup(kernel: Kernel, group_size: GroupSize, subgroup: int, lanes: int) -> int:
    """How many lanes of a sub-group run side by side: all of them, or as many as fill a register
    and have a row of the group to themselves, if they take nothing from the others."""
    row = group_size[walked_axes(group_size)[0]]
    if row % subgroup == 0 or row % lanes or subgroup % lanes or subgroup == lanes:
        return subgroup
    alone = all(_stays_inside(node, subgroup, lanes) for node in kernel.nodes())
    return lanes if alone else subgroup


def _stays_inside(node: Node, subgroup: int, width: int) -> bool:
    """True if what an operation does is the same when a sub-group is run vector by vector."""
    if node.op == "Builtin":
        return not str(node.literals[0]).endswith("Mask")
    if node.op in SHUFFLES:
        return picked_lanes(node, subgroup, width) is not None
    return operation(node).category is not Category.GROUP and not observes_subgroup(node)


def _candidates(group_size: GroupSize, row: int, target: Target) -> Iterator[int]:
    """Widths from the best on, for rows of so many work-items; the last one always works."""
    best = target.lanes * target.vectors_per_value
    widths = [width for width in (best, target.lanes, 8, 4) if width <= best]
    whole = [width for width in dict.fromkeys(widths) if row % width == 0]
    if whole:
        yield from whole
        return
    items = group_size[0] * group_size[1] * group_size[2]
    if items == 1:
        yield 1
    elif items > target.lanes:
        yield best
    yield target.lanes
