"""What one work-item does by itself: each operation as a function of the work-item.

`action(node, frame)` gives the function that executes a node; `frame` says where a node's values
are kept. What has a fold in the table of operations is computed by that, part by part. Memory,
addresses and parts of composites are here. What is left is compiled (`compiled.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.addresses import array_step, chain_steps
from groundstate.compiler.ir.ops import CHAINS, Effect, operation
from groundstate.compiler.spirv.fold_numbers import as_signed, mask, to_float
from groundstate.compiler.spirv.instructions import opencl_rows
from groundstate.compiler.spirv.opcodes import MemorySemantics, StorageClass
from groundstate.compiler.spirv.types import (
    Array,
    Bool,
    Float,
    Int,
    Pointer,
    Type,
    Vector,
    member_count,
)
from groundstate.compiler.step.values import Value, decode, encode, stored_bytes, zero_of

if TYPE_CHECKING:
    from groundstate.compiler.step.work_item import WorkItem

Action = Callable[["WorkItem"], Value]
Get = Callable[["WorkItem"], Any]
Frame = Callable[[Node], Get]
"""How the value of an operand is had."""

SAME = frozenset(
    "Copy CopyObject CopyLogical ExpectKHR FreezeKHR ArithmeticFenceEXT PtrCastToGeneric "
    "GenericCastToPtr".split()
)
"""What gives its first operand."""
NOTHING = frozenset(
    "MemoryBarrier Prefetch SaveMemoryINTEL RestoreMemoryINTEL".split()
)
ROUNDING, SATURATED = 39, 28
"""Decorations that change what a conversion does."""
UNDEFINED = frozenset(("ConvertFToU", "ConvertFToS"))
"""What gives anything where the result does not fit: the same as in compiled code."""
MEMORY_BITS = {
    StorageClass.Workgroup: MemorySemantics.WorkgroupMemory,
    StorageClass.CrossWorkgroup: MemorySemantics.CrossWorkgroupMemory,
}


class Fault(Exception):
    """A work-item does something that cannot be done. Its text goes on from its name."""


def action(node: Node, frame: Frame) -> Action:
    """The function that executes a node."""
    if node.op in SAME:
        return frame(node.operands[0])
    if node.op in NOTHING:
        return lambda item: 0
    maker = MAKERS.get(node.op)
    if maker is not None:
        return maker(node, frame)
    if node.op in CHAINS:
        return _chain(node, frame)
    if node.op == "ExtInst" and extended_name(node) == "prefetch":
        return lambda item: 0
    if node.op == "ExtInst" and extended_name(node) == "printf":
        return _printf(node, frame)
    return _folded(node, frame) or _compiled(node, frame)


def extended_name(node: Node) -> str:
    """What OpenCL.std calls an extended instruction."""
    row = opencl_rows().get(int(str(node.literals[1])))
    return row.name if row is not None else ""


# --- Computed -------------------------------------------------------------------------------------


def _element(kind: Type) -> Type:
    return kind.element if isinstance(kind, Vector) else kind


def _folded(node: Node, frame: Frame) -> Action | None:
    """By the table of operations, or None if that does not know how."""
    fold = operation(node).fold if node.op not in UNDEFINED else None
    if fold is None or ROUNDING in node.decorations or SATURATED in node.decorations:
        return None
    types = [_element(each.type) for each in node.operands] + [_element(node.type)]
    if any(isinstance(each, Float) and each.encoding not in (None, 0) for each in types):
        return None
    source, target, compute = types[0], types[-1], fold.compute
    gets = [frame(each) for each in node.operands[: fold.arity]]
    if isinstance(node.type, Vector):
        return lambda item: tuple(
            compute(source, target, *each)
            for each in zip(*(get(item) for get in gets), strict=True)
        )
    if len(gets) == 1:
        (only,) = gets
        return lambda item: compute(source, target, only(item))
    first, second = gets
    return lambda item: compute(source, target, first(item), second(item))


def _compiled(node: Node, frame: Frame) -> Action:
    """By code for one lane, which is compiled when it is needed."""
    gets = [frame(each) for each in node.operands]
    writes = bool(operation(node).effect & Effect.WRITES)
    places = _written_places(node) if writes else []
    code: list[Callable[[list[Value]], Value]] = []

    def run(item: WorkItem) -> Value:
        if not code:
            from groundstate.compiler.step.compiled import CompiledOperation

            try:
                code.append(CompiledOperation(node))
            except BuildError as problem:
                raise Fault(f"does what cannot be compiled: {problem.log}") from problem
        operands = [get(item) for get in gets]
        memory = item.group.memory
        for index, size in _read_places(node):
            memory.read(operands[index], size)
        for place, size in places:
            address = place(operands)
            memory.read(address, size)
            memory.note(address, size)
        return code[0](operands)

    return run


def _read_places(node: Node) -> list[tuple[int, int]]:
    """The operands that are addresses of which something is read, and how much."""
    if node.op.startswith("Atomic"):
        return [(0, stored_bytes(_accessed(node)))]
    return []


def _accessed(node: Node) -> Type:
    """What an atomic operation accesses."""
    pointer = node.operands[0].type
    kind = pointer.pointee if isinstance(pointer, Pointer) else None
    if kind is not None and not isinstance(kind, Bool):
        return kind
    return node.operands[-1].type if node.op == "AtomicStore" else Int(32)


Place = Callable[[list[Any]], int]


def _written_places(node: Node) -> list[tuple[Place, int]]:
    """Where an operation writes, and how many bytes."""
    if node.op.startswith("Atomic"):
        return [(lambda operands: int(operands[0]), stored_bytes(_accessed(node)))]
    if node.op == "ExtInst" and extended_name(node).startswith("vstore"):
        return [_stored_vector(node)]
    return [
        (lambda operands, index=index: int(operands[index]), _pointee_bytes(each, node))
        for index, each in enumerate(node.operands)
        if isinstance(each.type, Pointer)
    ]


def _pointee_bytes(operand: Node, node: Node) -> int:
    kind = operand.type.pointee if isinstance(operand.type, Pointer) else None
    return stored_bytes(kind if kind is not None and kind.size > 1 else node.type)


def _stored_vector(node: Node) -> tuple[Place, int]:
    name, data = extended_name(node), node.operands[0].type
    count = data.count if isinstance(data, Vector) else 1
    size = 2 if "half" in name else _element(data).size
    step = 4 if count == 3 and "vstorea" in name else count

    def place(operands: list[Any]) -> int:
        offset = as_signed(node.operands[1].type, operands[1])
        return int(operands[2]) + offset * step * size

    return place, count * size


# --- Memory ---------------------------------------------------------------------------------------


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
    kind = _element(node.type)

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
    kind = _element(node.operands[0].type)

    def run(item: WorkItem) -> Value:
        rows = zip(values(item), pointers(item), wanted(item), strict=True)
        for value, address, is_wanted in rows:
            if is_wanted:
                item.group.memory.write(address, encode(kind, value))
        return 0

    return run


# --- Addresses ------------------------------------------------------------------------------------


def _chain(node: Node, frame: Frame) -> Action:
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
    get, element = frame(node.operands[0]), _element(node.type)
    limit = mask(8 * element.size)
    if isinstance(node.type, Vector):
        return lambda item: tuple(each & limit for each in get(item))
    return lambda item: get(item) & limit


def _size_of(node: Node, frame: Frame) -> Action:
    del frame
    kind = getattr(node.operands[0].type, "pointee", None)
    size = kind.size if kind is not None else 0
    return lambda item: size


# --- Parts of composites --------------------------------------------------------------------------


def _bitcast(node: Node, frame: Frame) -> Action:
    source, target, get = node.operands[0].type, node.type, frame(node.operands[0])
    if isinstance(source, Pointer) and isinstance(target, Pointer):
        return get
    return lambda item: decode(target, encode(source, get(item)))


def _construct(node: Node, frame: Frame) -> Action:
    gets = [frame(each) for each in node.operands]
    if isinstance(node.type, Vector) and any(
        isinstance(each.type, Vector) for each in node.operands
    ):

        def flat(item: WorkItem) -> Value:
            parts: list[Value] = []
            for each in (get(item) for get in gets):
                parts += each if isinstance(each, tuple) else (each,)
            return tuple(parts)

        return flat
    return lambda item: tuple(get(item) for get in gets)


def _replicate(node: Node, frame: Frame) -> Action:
    get, count = frame(node.operands[0]), member_count(node.type)
    return lambda item: (get(item),) * count


def _extract(node: Node, frame: Frame) -> Action:
    get, path = frame(node.operands[0]), [int(str(each)) for each in node.literals]

    def run(item: WorkItem) -> Value:
        value = get(item)
        for index in path:
            value = value[index]
        found: Value = value
        return found

    return run


def _put(whole: Any, path: list[int], value: Value) -> Value:
    if not path:
        return value
    index = path[0]
    return (*whole[:index], _put(whole[index], path[1:], value), *whole[index + 1 :])


def _insert(node: Node, frame: Frame) -> Action:
    value, whole = frame(node.operands[0]), frame(node.operands[1])
    path = [int(str(each)) for each in node.literals]
    return lambda item: _put(whole(item), path, value(item))


def _extract_dynamic(node: Node, frame: Frame) -> Action:
    vector, index = frame(node.operands[0]), frame(node.operands[1])

    def run(item: WorkItem) -> Value:
        parts, at = vector(item), index(item)
        part: Value = parts[at] if at < len(parts) else 0
        return part

    return run


def _insert_dynamic(node: Node, frame: Frame) -> Action:
    vector, value, index = (frame(each) for each in node.operands)

    def run(item: WorkItem) -> Value:
        parts, at = vector(item), index(item)
        return _put(parts, [at], value(item)) if at < len(parts) else parts

    return run


def _vector_shuffle(node: Node, frame: Frame) -> Action:
    first, second = frame(node.operands[0]), frame(node.operands[1])
    picks = [int(str(each)) for each in node.literals]

    def run(item: WorkItem) -> Value:
        parts = (*first(item), *second(item))
        return tuple(parts[pick] if pick < len(parts) else parts[0] for pick in picks)

    return run


def _select(node: Node, frame: Frame) -> Action:
    condition, yes, no = (frame(each) for each in node.operands)
    if isinstance(node.operands[0].type, Vector):
        return lambda item: tuple(
            a if c else b for c, a, b in zip(condition(item), yes(item), no(item), strict=True)
        )
    return lambda item: yes(item) if condition(item) else no(item)


# --- Others ---------------------------------------------------------------------------------------


def _builtin(node: Node, frame: Frame) -> Action:
    del frame
    name = str(node.literals[0])
    if isinstance(node.type, Vector):
        limit, count = mask(8 * node.type.element.size), node.type.count
        return lambda item: tuple(each & limit for each in item.builtin(name)[:count])
    component = int(str(node.literals[1])) if len(node.literals) > 1 else 0
    limit = mask(8 * node.type.size)
    return lambda item: item.builtin(name)[component] & limit


def _trap(node: Node, frame: Frame) -> Action:
    del frame, node

    def run(item: WorkItem) -> Value:
        raise Fault("comes to a place that the compiler took for unreachable")

    return run


def _refused(node: Node, frame: Frame) -> Action:
    del frame

    def run(item: WorkItem) -> Value:
        raise Fault(f"executes {node.literals[0]}: {node.literals[1]}")

    return run


def _declare(node: Node, frame: Frame) -> Action:
    value = frame(node.operands[0])

    def run(item: WorkItem) -> Value:
        item.declare(node, value(item))
        return 0

    return run


def _end_life(node: Node, frame: Frame) -> Action:
    address = frame(node.operands[0])

    def run(item: WorkItem) -> Value:
        item.undeclare(address(item))
        return 0

    return run


def _printf(node: Node, frame: Frame) -> Action:
    gets = [(frame(each), each.type) for each in node.operands]

    def run(item: WorkItem) -> Value:
        from groundstate.compiler.step.printing import formatted

        (form, _), *rest = gets
        memory = item.group.memory
        arguments = [_printed(kind, get(item)) for get, kind in rest]
        item.group.print(formatted(memory, form(item), arguments))
        return 0

    return run


def _printed(kind: Type, value: Any) -> list[int | float]:
    """An argument of printf, component by component."""
    element = kind.element if isinstance(kind, Vector | Array) else kind
    parts = value if isinstance(value, tuple) else (value,)
    if isinstance(element, Float):
        return [to_float(element, each) for each in parts]
    if isinstance(element, Int):
        return [as_signed(element, each) for each in parts]
    return [int(each) for each in parts]


def _undefined(node: Node, frame: Frame) -> Action:
    del frame
    value = zero_of(node.type)
    return lambda item: value


MAKERS: dict[str, Callable[[Node, Frame], Action]] = {
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
    "Bitcast": _bitcast,
    "CompositeConstruct": _construct,
    "CompositeConstructReplicateEXT": _replicate,
    "CompositeExtract": _extract,
    "CompositeInsert": _insert,
    "VectorExtractDynamic": _extract_dynamic,
    "VectorInsertDynamic": _insert_dynamic,
    "VectorShuffle": _vector_shuffle,
    "Select": _select,
    "Builtin": _builtin,
    "Trap": _trap,
    "Refused": _refused,
    "DebugDeclare": _declare,
    "LifetimeStop": _end_life,
    "Undef": _undefined,
}
