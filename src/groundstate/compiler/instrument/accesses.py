"""What operations read and write: the addresses, how many bytes, and what to call it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from groundstate.compiler.ir import Node, constant_int, constant_node
from groundstate.compiler.ir.ops import Category, operation
from groundstate.compiler.spirv.opcodes import MemoryAccess, StorageClass
from groundstate.compiler.spirv.types import Array, Float, Int, Pointer, Struct, Type, Vector, Void

SECOND_RESULTS = frozenset(("fract", "modf", "sincos", "frexp", "lgamma_r", "remquo"))
INTEGER_RESULTS = frozenset(("frexp", "lgamma_r", "remquo"))


@dataclass(frozen=True, slots=True)
class Access:
    """One range of memory that an operation uses."""

    pointer: Node
    words: str
    """What it is to a person: a read, a write, an atomic access."""
    size: int
    """Bytes, or those of one element if there is a `count`."""
    align: int = 1
    index: tuple[Node, int] | None = None
    """How many times how many bytes behind the pointer it begins."""
    count: Node | None = None
    """How many elements, if only the program knows."""
    stride: Node | None = None
    """How many elements lie from one to the next."""
    condition: Node | None = None
    """When it happens."""
    is_block: bool = False
    """Whether each lane of the sub-group has an element of it."""


def accesses(node: Node) -> Iterator[Access]:
    """The memory that an operation uses."""
    op = node.op
    if op == "Load":
        yield Access(node.operands[0], "read", extent(node.type), _alignment(node, node.type))
    elif op == "Store":
        type_ = node.operands[1].type
        yield Access(node.operands[0], "write", extent(type_), _alignment(node, type_))
    elif operation(node).category is Category.ATOMIC:
        yield _atomic(node)
    elif op in ("PredicatedLoadINTEL", "PredicatedStoreINTEL"):
        yield _predicated(node)
    elif op in ("CopyMemory", "CopyMemorySized"):
        yield from _copies(node)
    elif op in ("SubgroupBlockReadINTEL", "SubgroupBlockWriteINTEL"):
        type_ = node.type if op == "SubgroupBlockReadINTEL" else node.operands[1].type
        words = "write" if isinstance(node.type, Void) else "read"
        yield Access(node.operands[0], words, extent(type_), is_block=True)
    elif op in ("GroupAsyncCopy", "UntypedGroupAsyncCopyKHR"):
        yield from _async_copies(node)
    elif op == "ExtInst":
        yield from _of_function(node)


def extent(type_: Type) -> int:
    """The bytes from the first to the last that a value of a type has: no padding behind it."""
    if isinstance(type_, Vector):
        return type_.count * type_.element.size
    if isinstance(type_, Array):
        return (type_.length - 1) * type_.stride + extent(type_.element) if type_.length else 0
    if isinstance(type_, Struct):
        return max(
            (at + extent(part) for at, part in zip(type_.offsets, type_.members, strict=True)),
            default=0,
        )
    return type_.size


def _alignment(node: Node, type_: Type) -> int:
    """What SPIR-V says, or what the numbers in a type need."""
    literals = [each for each in node.literals if isinstance(each, int)]
    if literals and literals[0] & MemoryAccess.Aligned and len(literals) > 1:
        return max(1, literals[1])
    return _natural(type_)


def _natural(type_: Type) -> int:
    if isinstance(type_, Vector | Array):
        return _natural(type_.element)
    if isinstance(type_, Struct):
        return 1
    return max(1, type_.size) if isinstance(type_, Int | Float | Pointer) else 1


def _atomic(node: Node) -> Access:
    pointer = node.operands[0]
    type_ = node.operands[3].type if node.op == "AtomicStore" else node.type
    if node.op.startswith("AtomicFlag"):
        type_ = Int(32)
    return Access(pointer, "atomic access", type_.size, type_.size)


def _predicated(node: Node) -> Access:
    if node.op == "PredicatedLoadINTEL":
        pointer, condition, _ = node.operands
        return Access(pointer, "read", extent(node.type), 1, condition=condition)
    pointer, value, condition = node.operands
    return Access(pointer, "write", extent(value.type), 1, condition=condition)


def _copies(node: Node) -> Iterator[Access]:
    target, source = node.operands[:2]
    count = node.operands[2] if node.op == "CopyMemorySized" else None
    size = 1
    if count is None:
        pointee = target.type.pointee if isinstance(target.type, Pointer) else None
        size = extent(pointee) if pointee is not None else 1
    yield Access(target, "write", size, count=count)
    yield Access(source, "read", size, count=count)


@dataclass(frozen=True, slots=True)
class CopySide:
    """What a copy of the group reads, or what it writes."""

    pointer: Node
    words: str
    size: Node
    """The bytes of an element."""
    count: Node
    stride: Node | None
    """How many elements lie from one to the next; None: one."""


def sides_of_copy(node: Node) -> Iterator[CopySide]:
    """Both sides of a copy between local and global memory: elements of the latter may lie
    apart."""
    _, target, source, *_, count, stride, _ = node.operands
    if node.op == "UntypedGroupAsyncCopyKHR":
        size = node.operands[3]
    else:
        pointee = target.type.pointee if isinstance(target.type, Pointer) else None
        size = constant_node(Int(64, False), pointee.size if pointee is not None else 1)
    for pointer, words in ((target, "write"), (source, "read")):
        is_local = (
            isinstance(pointer.type, Pointer) and pointer.type.storage == StorageClass.Workgroup
        )
        yield CopySide(pointer, words, size, count, None if is_local else stride)


def _async_copies(node: Node) -> Iterator[Access]:
    """Both sides of a copy of the group, if it is known how large its elements are."""
    for side in sides_of_copy(node):
        size = constant_int(side.size)
        if size is not None:
            yield Access(side.pointer, side.words, size, count=side.count, stride=side.stride)


def _of_function(node: Node) -> Iterator[Access]:
    """The functions of OpenCL.std that are given addresses."""
    name = operation(node).name
    if name.startswith(("vload", "vstore")):
        is_load = name.startswith("vload")
        type_ = node.type if is_load else node.operands[0].type
        index, pointer = node.operands[0 if is_load else 1 :][:2]
        count = type_.count if isinstance(type_, Vector) else 1
        part = type_.element if isinstance(type_, Vector) else type_
        size = 2 if "half" in name else part.size
        is_aligned = name.startswith(("vloada", "vstorea"))
        room = 4 if is_aligned and count == 3 else count
        align = room * size if is_aligned else size
        words = "read" if is_load else "write"
        yield Access(pointer, words, count * size, align, index=(index, room * size))
    elif name in SECOND_RESULTS:
        size = extent(node.type)
        if name in INTEGER_RESULTS:
            size = 4 * (node.type.count if isinstance(node.type, Vector) else 1)
        pointer = next(each for each in reversed(node.operands) if each.op != "Guard")
        yield Access(pointer, "write", size)
