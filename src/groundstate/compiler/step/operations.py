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
from groundstate.compiler.ir.ops import CHAINS, Effect, operation
from groundstate.compiler.spirv.fold_numbers import as_signed, mask, to_float
from groundstate.compiler.spirv.instructions import opencl_rows
from groundstate.compiler.spirv.types import (
    Array,
    Bool,
    Float,
    Int,
    Pointer,
    Type,
    Vector,
)
from groundstate.compiler.step.actions import Action, Frame, StepError, element_of
from groundstate.compiler.step.memory_operations import MEMORY, chain
from groundstate.compiler.step.parts import PARTS
from groundstate.compiler.step.values import Value, stored_bytes, zero_of

if TYPE_CHECKING:
    from groundstate.compiler.step.work_item import WorkItem

SAME = frozenset(
    (
        *("Copy", "CopyObject", "CopyLogical", "ExpectKHR", "FreezeKHR", "ArithmeticFenceEXT"),
        *("PtrCastToGeneric", "GenericCastToPtr"),
    )
)
"""What gives its first operand."""
NOTHING = frozenset(("MemoryBarrier", "Prefetch", "SaveMemoryINTEL", "RestoreMemoryINTEL"))
Place = Callable[[list[Any]], int]
"""Where something lies, by the operands of what accesses it."""
ROUNDING, SATURATED = 39, 28
"""Decorations that change what a conversion does."""
UNDEFINED = frozenset(("ConvertFToU", "ConvertFToS"))
"""What gives anything where the result does not fit: the same as in compiled code."""


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
        return chain(node, frame)
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


def _folded(node: Node, frame: Frame) -> Action | None:
    """By the table of operations, or None if that does not know how."""
    fold = operation(node).fold if node.op not in UNDEFINED else None
    if fold is None or ROUNDING in node.decorations or SATURATED in node.decorations:
        return None
    types = [element_of(each.type) for each in node.operands] + [element_of(node.type)]
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
    sources = _read_places(node)
    code: list[Callable[[list[Value]], Value]] = []

    def run(item: WorkItem) -> Value:
        if not code:
            from groundstate.compiler.step.compiled import CompiledOperation

            try:
                code.append(CompiledOperation(node))
            except BuildError as problem:
                raise StepError(f"does what cannot be compiled: {problem.log}") from problem
        operands = [get(item) for get in gets]
        memory = item.group.memory
        for place, size in sources:
            memory.read(place(operands), size)
        for place, size in places:
            address = place(operands)
            memory.read(address, size)
            memory.note(address, size)
        return code[0](operands)

    return run


def _read_places(node: Node) -> list[tuple[Place, int]]:
    """Where an operation reads, and how many bytes: looked at before its code does."""
    if node.op.startswith("Atomic"):
        return [(_at(0), stored_bytes(_accessed(node)))]
    if node.op == "ExtInst" and extended_name(node).startswith("vload"):
        return [_vector_place(node, node.type, 0)]
    return []


def _accessed(node: Node) -> Type:
    """What an atomic operation accesses."""
    pointer = node.operands[0].type
    kind = pointer.pointee if isinstance(pointer, Pointer) else None
    if kind is not None and not isinstance(kind, Bool):
        return kind
    return node.operands[-1].type if node.op == "AtomicStore" else Int(32)


def _written_places(node: Node) -> list[tuple[Place, int]]:
    """Where an operation writes, and how many bytes."""
    if node.op.startswith("Atomic"):
        return [(_at(0), stored_bytes(_accessed(node)))]
    if node.op == "ExtInst" and extended_name(node).startswith("vstore"):
        return [_vector_place(node, node.operands[0].type, 1)]
    return [
        (_at(index), _pointee_bytes(each, node))
        for index, each in enumerate(node.operands)
        if isinstance(each.type, Pointer)
    ]


def _at(index: int) -> Place:
    return lambda operands: int(operands[index])


def _pointee_bytes(operand: Node, node: Node) -> int:
    kind = operand.type.pointee if isinstance(operand.type, Pointer) else None
    return stored_bytes(kind if kind is not None and kind.size > 1 else node.type)


def _vector_place(node: Node, kind: Type, first: int) -> tuple[Place, int]:
    """Where a vload or vstore accesses memory: by operands from `first` on, offset and pointer."""
    name = extended_name(node)
    count = kind.count if isinstance(kind, Vector) else 1
    size = 2 if "half" in name else element_of(kind).size
    step = 4 if count == 3 and name.startswith(("vloada", "vstorea")) else count

    def place(operands: list[Any]) -> int:
        offset = as_signed(node.operands[first].type, operands[first])
        return int(operands[first + 1]) + offset * step * size

    return place, count * size


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
        raise StepError("comes to a place that the compiler took for unreachable")

    return run


def _refused(node: Node, frame: Frame) -> Action:
    del frame

    def run(item: WorkItem) -> Value:
        raise StepError(f"executes {node.literals[0]}: {node.literals[1]}")

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
    **MEMORY,
    **PARTS,
    "Builtin": _builtin,
    "Trap": _trap,
    "Refused": _refused,
    "DebugDeclare": _declare,
    "LifetimeStop": _end_life,
    "Undef": _undefined,
}
