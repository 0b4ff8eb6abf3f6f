"""Parts of composite values in a stepped kernel: taking them out, putting them in, choosing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from groundstate.compiler.ir import Node
from groundstate.compiler.spirv.types import Pointer, Vector, member_count
from groundstate.compiler.step.actions import Action, Frame
from groundstate.compiler.step.values import Value, decode, encode

if TYPE_CHECKING:
    from groundstate.compiler.step.work_item import WorkItem


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


PARTS: dict[str, Callable[[Node, Frame], Action]] = {
    "Bitcast": _bitcast,
    "CompositeConstruct": _construct,
    "CompositeConstructReplicateEXT": _replicate,
    "CompositeExtract": _extract,
    "CompositeInsert": _insert,
    "VectorExtractDynamic": _extract_dynamic,
    "VectorInsertDynamic": _insert_dynamic,
    "VectorShuffle": _vector_shuffle,
    "Select": _select,
}
