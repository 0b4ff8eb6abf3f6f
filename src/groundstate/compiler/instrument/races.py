"""Races: each access that another work-item could reach is told to the race checker.

In goes a lowered kernel. Beside each load, store and atomic operation on global, local or generic
memory comes a `TellAccess`, beside each access of an image a `TellImage`, and beside each barrier a
`TellBarrier`, which also tells the checker of barriers who waits where. native/check/races.c
compares accesses and knows what orders them.

Not told are accesses of private and constant memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from groundstate.compiler.instrument import group_copies
from groundstate.compiler.instrument.accesses import Access, CopySide, accesses, sides_of_copy
from groundstate.compiler.instrument.own_elements import MOST_ARGUMENTS, OwnElements, own_texel
from groundstate.compiler.instrument.provenance import U64, as_u64
from groundstate.compiler.ir import Kernel, Node, constant_int, constant_node
from groundstate.compiler.ir.ops import Category, Effect, operation
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.ir.site import make_site
from groundstate.compiler.lower.barriers import is_group_barrier
from groundstate.compiler.spirv.opcodes import MemorySemantics, Scope, StorageClass
from groundstate.compiler.spirv.types import Bool, Float, Pointer, Type, Vector, Void
from groundstate.native_layouts import (
    ACCESS_ACQUIRES,
    ACCESS_ATOMIC,
    ACCESS_FENCED,
    ACCESS_GENERIC,
    ACCESS_IMAGE,
    ACCESS_LOCAL,
    ACCESS_NARROW,
    ACCESS_RELEASES,
    ACCESS_UNFENCED,
    ACCESS_WRITES,
    FENCE_ACQUIRES,
    FENCE_NARROW,
    FENCE_RELEASES,
)

SPACES = {
    StorageClass.CrossWorkgroup: 0,
    StorageClass.Workgroup: ACCESS_LOCAL,
    StorageClass.Generic: ACCESS_GENERIC,
}
"""The memories that work-items share, and how an access says so."""
LOCAL_FENCE, GLOBAL_FENCE, IMAGE_FENCE = 1, 2, 4
ALL_FENCES = LOCAL_FENCE | GLOBAL_FENCE | IMAGE_FENCE
GROUP_SCOPES = (Scope.Workgroup, Scope.Subgroup, Scope.Invocation)
ACQUIRES = MemorySemantics.Acquire | MemorySemantics.AcquireRelease
RELEASES = MemorySemantics.Release | MemorySemantics.AcquireRelease
ANY_ORDER = MemorySemantics.SequentiallyConsistent
ORDERS = ACQUIRES | RELEASES | ANY_ORDER
IMAGE_ACCESSES = ("ImageRead", "ImageFetch", "ImageWrite", "SampleImage")
EXCHANGES = ("AtomicCompareExchange", "AtomicCompareExchangeWeak")
MOST_BYTES = 0xFFFF
"""Of an access, as it is told."""
MOST_SITES = 0xFFFF


def tell_accesses(kernel: Kernel, analyses: Analyses) -> bool:
    """Tells the race checker of accesses of memory that work-items share."""
    del analyses
    fences, own = fences_in(kernel), OwnElements(kernel)
    has_wide_fence = any(_is_wide_fence(node) for node in kernel.nodes())
    changed = False
    for block in kernel.blocks:
        nodes: list[Node] = []
        for node in block.nodes:
            if node.op in group_copies.COPIES:
                nodes.append(group_copies.tell_copy(kernel, node))
                for side in sides_of_copy(node):
                    nodes += _told_of_copy(kernel, node, side, own)
            elif node.op == group_copies.WAIT:
                nodes += group_copies.tell_wait(kernel, node)
                changed = True
            elif node.op == "MemoryBarrier" and _semantics(node, 1) & ORDERS:
                nodes.append(_told_of_fence(node, has_wide_fence))
            elif node.op in IMAGE_ACCESSES and len(kernel.sites) < MOST_SITES:
                nodes.append(_told_of_image(kernel, node))
                changed = True
            for told in _told(kernel, node, own, fences):
                nodes.append(told)
                changed = True
            nodes.append(node)
            if nodes[-2:-1] and node.op in EXCHANGES and nodes[-2].op == "TellAccess":
                nodes += _if_it_writes(nodes[-2], node)
        block.nodes = nodes
    if not kernel.sites:  # there is nothing that a fence could order
        for block in kernel.blocks:
            block.nodes = [each for each in block.nodes if each.op != "TellFence"]
    kernel.renumber()
    return changed


def tell_barriers(kernel: Kernel, analyses: Analyses) -> bool:
    """Tells the checkers of races and barriers who comes to which barrier."""
    del analyses
    changed = False
    for block in kernel.blocks:
        nodes: list[Node] = []
        for node in block.nodes:
            if node.op in (*group_copies.COPIES, group_copies.WAIT):
                nodes += group_copies.tell_together(kernel, node)
                changed = True
            told = _barrier(kernel, node, nodes)
            nodes += told
            changed |= bool(told)
            nodes.append(node)
        block.nodes = nodes
    kernel.renumber()
    return changed


class Fences(Enum):
    """What orders the relaxed atomic operations of a kernel."""

    NONE = 0
    FENCES = 1
    BARRIERS = 2
    """With a scope beyond the group: all atomic operations are taken to be ordered."""


def fences_in(kernel: Kernel) -> Fences:
    """Whether a kernel has fences, or barriers that are."""
    found = Fences.NONE
    for node in kernel.nodes():
        if node.op == "MemoryBarrier" and _semantics(node, 1) & ORDERS:
            found = Fences.FENCES
        is_wide = node.op == "ControlBarrier" and constant_int(node.operands[1]) not in GROUP_SCOPES
        if is_wide and _semantics(node, 2) & ORDERS:
            return Fences.BARRIERS
    return found


def _is_wide_fence(node: Node) -> bool:
    """True for a fence with a scope beyond the group."""
    return node.op == "MemoryBarrier" and constant_int(node.operands[0]) not in GROUP_SCOPES


def _told_of_fence(node: Node, has_wide_fence: bool) -> Node:
    """What is told of a fence.

    Modules have the scope of the group for `mem_fence` of OpenCL 1, which has none. It is taken at
    its word only where that cannot be meant: in a kernel that also has a wider one, and where the
    order is none of `mem_fence` (opencl/fences.py).
    """
    semantics = _semantics(node, 1)
    is_meant = has_wide_fence or bool(semantics & ANY_ORDER)
    told = fences_of(semantics) or ALL_FENCES
    told |= FENCE_NARROW if is_meant and not _is_wide_fence(node) else 0
    told |= FENCE_ACQUIRES if semantics & (ACQUIRES | ANY_ORDER) else 0
    told |= FENCE_RELEASES if semantics & (RELEASES | ANY_ORDER) else 0
    return node.derive("TellFence", Void(), [], (told,))


def _semantics(node: Node, position: int) -> int:
    """The memory semantics that an operand states; all of them if it is not known."""
    found = constant_int(node.operands[position])
    return -1 if found is None else found


# --- Accesses -------------------------------------------------------------------------------------


def _told(kernel: Kernel, node: Node, own: OwnElements, fences: Fences) -> Iterator[Node]:
    """What is told of a node, and what that needs."""
    for access in accesses(node):
        space = access.pointer.type.storage if isinstance(access.pointer.type, Pointer) else None
        if node.op in group_copies.COPIES:
            continue  # they are told of as a whole
        if access.is_block:
            yield from _told_of_block(kernel, node, access, own)
            continue
        count = constant_int(access.count) if access.count is not None else 1
        size = access.size * (count or 0)
        if space not in SPACES or not 0 < size <= MOST_BYTES:
            continue
        if len(kernel.sites) >= MOST_SITES:
            return
        flags = ACCESS_WRITES if access.words == "write" else 0
        if operation(node).category is Category.ATOMIC:
            flags = _atomic_flags(node, fences)
        address = access.pointer
        if access.index is not None:
            index, bytes_ = access.index
            nodes: list[Node] = []
            number = _added(nodes, node.derive("ConvertPtrToU", U64, [address]))
            step = as_u64(index, nodes, node, is_signed=True)
            distance = _added(nodes, node.derive("IMul", U64, [step, constant_node(U64, bytes_)]))
            address = _added(nodes, node.derive("IAdd", U64, [number, distance]))
            yield from nodes
        operands = [address, *([access.condition] if access.condition is not None else [])]
        value = _stored(node)
        if value is not None and flags == ACCESS_WRITES:
            operands.append(value)
        arguments = 0 if space == StorageClass.Workgroup else own.arguments(access.pointer)
        literals = (len(kernel.sites), size, flags | SPACES[space], arguments)
        facts = {"arguments": arguments, "is_own": own.is_own(access), "row": own.row(access)}
        kernel.sites.append(make_site("races", node, bytes=size, flags=flags, **facts))
        op = "TellAccess" if access.condition is None else "TellAccessIf"
        yield node.derive(op, Void(), operands, literals)


def _told_of_image(kernel: Kernel, node: Node) -> Node:
    """What is told of texels that are read, sampled or written."""
    image, *others = node.operands[:3]
    coordinate, *more = others[::-1] if node.op == "SampleImage" else others
    is_write = node.op == "ImageWrite"
    flags = ACCESS_IMAGE | (ACCESS_WRITES if is_write else 0)
    arguments = 1 << min(_argument_of(image), MOST_ARGUMENTS)
    site = len(kernel.sites)
    facts = {"arguments": arguments, "is_own": False, "row": None, "is_image": True}
    facts["texel_axes"] = own_texel(coordinate)
    kernel.sites.append(make_site("races", node, bytes=0, flags=flags, **facts))
    operands = [image, coordinate, *(more if is_write or node.op == "SampleImage" else [])]
    mixes = node.op == "SampleImage" and _is_float(node.type) and _is_float(coordinate.type)
    return node.derive("TellImage", Void(), operands, (site, flags, mixes, arguments))


def _argument_of(image: Node) -> int:
    """The number of the argument that an image is; one behind them if it comes from elsewhere."""
    return int(str(image.literals[0])) if image.op == "Argument" else MOST_ARGUMENTS


def _is_float(type_: Type) -> bool:
    return isinstance(type_.element if isinstance(type_, Vector) else type_, Float)


def _told_of_block(kernel: Kernel, node: Node, access: Access, own: OwnElements) -> Iterator[Node]:
    """What is told of a block of the sub-group."""
    made = _site_together(kernel, node, access.pointer, access.words, own, bytes=access.size)
    if made is not None:
        site, flags, arguments = made
        type_ = node.operands[1].type if isinstance(node.type, Void) else node.type
        rows = type_.count if isinstance(type_, Vector) else 1
        literals = (site, access.size // rows, flags, arguments, rows)
        yield node.derive("TellBlock", Void(), [access.pointer], literals)


def _told_of_copy(kernel: Kernel, node: Node, side: CopySide, own: OwnElements) -> Iterator[Node]:
    """What is told of one side of a copy of the group."""
    made = _site_together(kernel, node, side.pointer, side.words, own, bytes=0, is_copy=True)
    if made is not None:
        site, flags, arguments = made
        stride = side.stride or constant_node(U64, 1)
        operands = [side.pointer, side.size, side.count, stride]
        yield node.derive("TellCopy", Void(), operands, (site, 0, flags, arguments))


def _site_together(
    kernel: Kernel, node: Node, pointer: Node, words: str, own: OwnElements, **facts: object
) -> tuple[int, int, int] | None:
    """A site of what several work-items do together, its flags, and the arguments that it uses;
    None: nobody else can meet it, or there is no room for it."""
    space = pointer.type.storage if isinstance(pointer.type, Pointer) else None
    if space not in SPACES or len(kernel.sites) >= MOST_SITES:
        return None
    flags = ACCESS_WRITES if words == "write" else 0
    arguments = 0 if space == StorageClass.Workgroup else own.arguments(pointer)
    facts |= {"arguments": arguments, "is_own": False, "row": None, "flags": flags}
    kernel.sites.append(make_site("races", node, **facts))
    return len(kernel.sites) - 1, flags | SPACES[space], arguments


def _added(nodes: list[Node], node: Node) -> Node:
    nodes.append(node)
    return node


def _if_it_writes(told: Node, node: Node) -> list[Node]:
    """Tells behind an exchange that those have written that found what they expected. What was told
    before it, so that others see what it orders, becomes a read."""
    site, size, flags, arguments = (int(str(each)) for each in told.literals)
    told.literals = (site, size, flags & ~ACCESS_WRITES, arguments)
    nodes: list[Node] = []
    address = _added(nodes, node.derive("ConvertPtrToU", U64, [told.operands[0]]))
    found = _added(nodes, node.derive("IEqual", Bool(), [node, node.operands[5]]))
    elsewhere = constant_node(U64, 0)  # where all are atomic
    place = _added(nodes, node.derive("Select", U64, [found, address, elsewhere]))
    only = flags & ~(ACCESS_ACQUIRES | ACCESS_RELEASES | ACCESS_UNFENCED)
    nodes.append(node.derive("TellAccess", Void(), [place], (site, size, only, arguments)))
    return nodes


def _stored(node: Node) -> Node | None:
    """What a node stores, if that is told as it is."""
    if node.op in ("Store", "PredicatedStoreINTEL"):
        return node.operands[1]
    return node.operands[0] if operation(node).name == "vstoren" else None


def _atomic_flags(node: Node, fences: Fences) -> int:
    effect = operation(node).effect
    reads, writes = effect & Effect.READS, effect & Effect.WRITES
    if node.op in ("AtomicStore", "AtomicFlagClear"):
        reads = Effect.NONE
    flags = ACCESS_ATOMIC | (ACCESS_WRITES if writes else 0)
    if constant_int(node.operands[1]) in GROUP_SCOPES:
        flags |= ACCESS_NARROW
    order = _semantics(node, 2)
    if fences is not Fences.NONE:
        is_relaxed = not order & ORDERS and fences is Fences.FENCES
        flags |= ACCESS_FENCED if is_relaxed else 0
        flags |= ACCESS_UNFENCED if is_relaxed and node.op in EXCHANGES else 0
        order = ORDERS
    if order & (ACQUIRES | ANY_ORDER) and reads:
        flags |= ACCESS_ACQUIRES
    if order & (RELEASES | ANY_ORDER) and writes:
        flags |= ACCESS_RELEASES
    return flags


# --- Barriers -------------------------------------------------------------------------------------


def _barrier(kernel: Kernel, node: Node, before: list[Node]) -> list[Node]:
    """What is told of a barrier."""
    is_of_group = is_group_barrier(node)
    if (not is_of_group and node.op != "ControlBarrier") or len(kernel.sites) >= MOST_SITES:
        return []
    kernel.sites.append(make_site("sync", node, bytes=0, flags=0))
    is_operation = bool(before) and before[-1].op == "WriteGroupCell"
    if node.op == "GroupWaitEvents" or is_operation:
        fences = ALL_FENCES  # it is not said what these order
    else:
        fences = fences_of(_semantics(node, 2))
    literals = (len(kernel.sites) - 1, fences, "group" if is_of_group else "subgroup")
    nodes: list[Node] = []
    computed = []
    if node.op == "ControlBarrier" and not is_operation and constant_int(node.operands[2]) is None:
        computed = [_computed_fences(node, nodes)]
    return [*nodes, node.derive("TellBarrier", Void(), computed, literals)]


def _computed_fences(node: Node, nodes: list[Node]) -> Node:
    """The same as `fences_of` for semantics that the kernel computes."""

    def make(op: str, *operands: Node) -> Node:
        return _added(nodes, node.derive(op, type_, list(operands)))

    semantics = node.operands[2]
    type_ = semantics.type

    def moved(memories: int, fence: int) -> Node:
        """Some bits of the semantics, in the place of a fence."""
        shift = (memories & -memories).bit_length() - fence.bit_length()
        only = make("BitwiseAnd", semantics, constant_node(type_, memories))
        return make("ShiftRightLogical", only, constant_node(type_, shift))

    memories = MemorySemantics.WorkgroupMemory | MemorySemantics.CrossWorkgroupMemory
    images = moved(MemorySemantics.ImageMemory, IMAGE_FENCE)
    fences = make("BitwiseOr", moved(memories, LOCAL_FENCE), images)
    order = make("BitwiseAnd", semantics, constant_node(type_, ORDERS))
    zero = constant_node(type_, 0)
    orders = _added(nodes, node.derive("INotEqual", Bool(), [order, zero]))
    return make("Select", orders, fences, zero)


def fences_of(semantics: int) -> int:
    """The memories whose accesses a barrier orders."""
    if not semantics & ORDERS:
        return 0
    local = LOCAL_FENCE if semantics & MemorySemantics.WorkgroupMemory else 0
    images = IMAGE_FENCE if semantics & MemorySemantics.ImageMemory else 0
    global_ = GLOBAL_FENCE if semantics & MemorySemantics.CrossWorkgroupMemory else 0
    return local | global_ | images
