"""What a stepped work-item does with memory and addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from groundstate.compiler.ir import Node
from groundstate.compiler.ir.addresses import array_step, chain_steps
from groundstate.compiler.spirv.fold_numbers import as_signed, mask
from groundstate.compiler.spirv.opcodes import MemorySemantics, StorageClass
from groundstate.compiler.spirv.types import Pointer, Vector
from groundstate.compiler.step.actions import Action, Frame, element_of
from groundstate.compiler.step.values import Value, decode, encode, stored_bytes

if TYPE_CHECKING:
    from groundstate.compiler.step.work_item import WorkItem

MEMORY_BITS = {
    StorageClass.Workgroup: MemorySemantics.WorkgroupMemory,
    StorageClass.CrossWorkgroup: MemorySemantics.CrossWorkgroupMemory,
}


# --- Accesses -------------------------------------------------------------------------------------


def _load(node: Node, frame: Frame) -> Action:
    address, kind, size = frame(node.operands[0]), node.type, stored_bytes(node.type)
    return lambda item: decode(kind, item.group.memory.read(address(item), size))


def _store(node: Node, frame: Frame) -> Action:
    address, value = frame(node.operands[0]), frame(node.operands[1])
    kind = node.operands[1].type

    def run(item: WorkItem) -> Value:
        item.group.memory.write(address(item), encode(kind, value(item)))
        return 0

    return run


def _copy_memory(node: Node, frame: Frame) -> Action:
    target, source = frame(node.operands[0]), frame(node.operands[1])
    if node.op == "CopyMemorySized":
        size = frame(node.operands[2])
    else:
        kinds = [getattr(each.type, "pointee", None) for each in node.operands[:2]]
        whole = next(each.size for each in kinds if each is not None)
        size = lambda item: whole  # noqa: E731

    def run(item: WorkItem) -> Value:
        memory, count = item.group.memory, size(item)
        if count:
            memory.write(target(item), memory.read(source(item), count))
        return 0

    return run


def _variable(node: Node, frame: Frame) -> Action:
    del frame
    offset = node
    return lambda item: item.private_address(offset)


def _variable_array(node: Node, frame: Frame) -> Action:
    length = frame(node.operands[0])
    kind = node.type.pointee if isinstance(node.type, Pointer) else None
    step = array_step(kind) if kind is not None else 1
    return lambda item: item.new_private(step * length(item))


def _predicated_load(node: Node, frame: Frame) -> Action:
    address, condition, default = (frame(each) for each in node.operands[:3])
    kind, size = node.type, stored_bytes(node.type)

    def run(item: WorkItem) -> Value:
        if not condition(item):
            value: Value = default(item)
            return value
        return decode(kind, item.group.memory.read(address(item), size))

    return run


def _predicated_store(node: Node, frame: Frame) -> Action:
    address, value, condition = (frame(each) for each in node.operands[:3])
    kind = node.operands[1].type

    def run(item: WorkItem) -> Value:
        if condition(item):
            item.group.memory.write(address(item), encode(kind, value(item)))
        return 0

    return run


def _gather(node: Node, frame: Frame) -> Action:
    pointers, wanted, default = (frame(each) for each in node.operands[:3])
    kind = element_of(node.type)

    def run(item: WorkItem) -> Value:
        rows = zip(pointers(item), wanted(item), default(item), strict=True)
        read = item.group.memory.read
        return tuple(
            decode(kind, read(address, kind.size)) if is_wanted else other
            for address, is_wanted, other in rows
        )

    return run


def _scatter(node: Node, frame: Frame) -> Action:
    values, pointers, wanted = (frame(each) for each in node.operands[:3])
    kind = element_of(node.operands[0].type)

    def run(item: WorkItem) -> Value:
        rows = zip(values(item), pointers(item), wanted(item), strict=True)
        for value, address, is_wanted in rows:
            if is_wanted:
                item.group.memory.write(address, encode(kind, value))
        return 0

    return run


# --- Addresses ------------------------------------------------------------------------------------


def chain(node: Node, frame: Frame) -> Action:
    base = frame(node.operands[0])
    fixed, steps = 0, []
    for index, (size, offset) in zip(node.operands[1:], chain_steps(node), strict=True):
        if size is None:
            fixed += offset
        else:
            steps.append((frame(index), index.type, size))
    limit = mask(64)
    if len(steps) == 1:
        ((get, kind, size),) = steps
        return lambda item: (base(item) + fixed + as_signed(kind, get(item)) * size) & limit

    def run(item: WorkItem) -> Value:
        address = base(item) + fixed
        for get, kind, size in steps:
            address += as_signed(kind, get(item)) * size
        return int(address & limit)

    return run


def _generic_cast(node: Node, frame: Frame) -> Action:
    pointer, wanted = frame(node.operands[0]), node.literals[0]

    def run(item: WorkItem) -> Value:
        address = pointer(item)
        return int(address) if address and item.storage_of(address) == wanted else 0

    return run


def _pointer_semantics(node: Node, frame: Frame) -> Action:
    pointer = frame(node.operands[0])
    return lambda item: int(MEMORY_BITS.get(item.storage_of(pointer(item)), 0))


def _pointers_compared(node: Node, frame: Frame) -> Action:
    first, second = frame(node.operands[0]), frame(node.operands[1])
    is_equal = node.op == "PtrEqual"
    if isinstance(node.type, Vector):
        return lambda item: tuple(
            int((a == b) == is_equal) for a, b in zip(first(item), second(item), strict=True)
        )
    return lambda item: int((first(item) == second(item)) == is_equal)


def _pointer_difference(node: Node, frame: Frame) -> Action:
    first, second = frame(node.operands[0]), frame(node.operands[1])
    kind = getattr(node.operands[0].type, "pointee", None)
    size, limit = (array_step(kind) if kind is not None else 1), mask(8 * node.type.size)
    return lambda item: (first(item) - second(item)) // size & limit


def _address_converted(node: Node, frame: Frame) -> Action:
    get, element = frame(node.operands[0]), element_of(node.type)
    limit = mask(8 * element.size)
    if isinstance(node.type, Vector):
        return lambda item: tuple(each & limit for each in get(item))
    return lambda item: get(item) & limit


def _size_of(node: Node, frame: Frame) -> Action:
    del frame
    kind = getattr(node.operands[0].type, "pointee", None)
    size = kind.size if kind is not None else 0
    return lambda item: size


MEMORY: dict[str, Callable[[Node, Frame], Action]] = {
    "Load": _load,
    "Store": _store,
    "CopyMemory": _copy_memory,
    "CopyMemorySized": _copy_memory,
    "Variable": _variable,
    "VariableLengthArrayINTEL": _variable_array,
    "PredicatedLoadINTEL": _predicated_load,
    "PredicatedStoreINTEL": _predicated_store,
    "MaskedGatherINTEL": _gather,
    "MaskedScatterINTEL": _scatter,
    "GenericCastToPtrExplicit": _generic_cast,
    "GenericPtrMemSemantics": _pointer_semantics,
    "PtrEqual": _pointers_compared,
    "PtrNotEqual": _pointers_compared,
    "PtrDiff": _pointer_difference,
    "SizeOf": _size_of,
    "ConvertPtrToU": _address_converted,
    "ConvertUToPtr": _address_converted,
}
