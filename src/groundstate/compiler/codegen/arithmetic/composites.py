"""Instructions that take values apart and put them together, and conversions without arithmetic."""

from __future__ import annotations

from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.function import components
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.spirv.types import Type

UNDEFINED_COMPONENT = 0xFFFFFFFF


@handles("CompositeExtract")
def _extract(emitter: Emitter, node: Node) -> None:
    value = emitter.get(node.operands[0])
    for index in node.literals:
        assert isinstance(value, list)
        assert isinstance(index, int)
        value = value[index]
    emitter.define(node, value)


@handles("CompositeInsert")
def _insert(emitter: Emitter, node: Node) -> None:
    part, whole = emitter.get(node.operands[0]), emitter.get(node.operands[1])
    path = [each for each in node.literals if isinstance(each, int)]
    emitter.define(node, _with_part(whole, path, part))


def _with_part(whole: Value, path: list[int], part: Value) -> Value:
    if not path:
        return part
    assert isinstance(whole, list)
    changed = list(whole)
    changed[path[0]] = _with_part(whole[path[0]], path[1:], part)
    return changed


@handles("CompositeConstruct")
def _construct(emitter: Emitter, node: Node) -> None:
    wanted = components(node.type)
    assert wanted is not None
    parts: list[Value] = []
    for operand in node.operands:
        value = emitter.get(operand)
        flatten = isinstance(value, list) and len(wanted) != len(node.operands)
        parts += value if flatten and isinstance(value, list) else [value]
    emitter.define(node, parts)


@handles("CompositeConstructReplicateEXT")
def _replicate(emitter: Emitter, node: Node) -> None:
    wanted = components(node.type)
    assert wanted is not None
    emitter.define(node, [emitter.get(node.operands[0])] * len(wanted))


@handles("VectorShuffle")
def _shuffle(emitter: Emitter, node: Node) -> None:
    first, second = emitter.get(node.operands[0]), emitter.get(node.operands[1])
    assert isinstance(first, list)
    assert isinstance(second, list)
    both = first + second
    picks = [each for each in node.literals if isinstance(each, int)]
    parts = [both[0] if pick == UNDEFINED_COMPONENT else both[pick] for pick in picks]
    emitter.define(node, parts)


@handles("VectorExtractDynamic")
def _extract_dynamic(emitter: Emitter, node: Node) -> None:
    """Picks a component by comparing the index with each."""
    vector, index = emitter.get(node.operands[0]), emitter.scalar(node.operands[1])
    assert isinstance(vector, list)
    number = constant_int(node.operands[1])
    if number is not None:
        emitter.define(node, vector[number % len(vector)])
        return
    result = vector[0]
    for position, part in enumerate(vector[1:], 1):
        result = choose(emitter, _equals(emitter, index, position), part, result)
    emitter.define(node, result)


@handles("VectorInsertDynamic")
def _insert_dynamic(emitter: Emitter, node: Node) -> None:
    vector, part = emitter.get(node.operands[0]), emitter.get(node.operands[1])
    index = emitter.scalar(node.operands[2])
    assert isinstance(vector, list)
    parts = [
        choose(emitter, _equals(emitter, index, position), part, old)
        for position, old in enumerate(vector)
    ]
    emitter.define(node, parts)


def _equals(emitter: Emitter, index: Lanes, number: int) -> Lanes:
    text = emitter.text
    if index.stride == 0:
        return Lanes("i1", text.emit(f"icmp eq {index.type} {index.name}, {number}"))
    wide = text.vector_type(index.type)
    name = text.emit(
        f"icmp eq {wide} {text.as_vector(index)}, {text.splat(index.type, str(number))}"
    )
    return Lanes("i1", name, None)


def choose(emitter: Emitter, condition: Lanes, yes: Value, no: Value) -> Value:
    """`yes` where the condition holds, `no` elsewhere."""
    if isinstance(yes, list):
        assert isinstance(no, list)
        return [choose(emitter, condition, y, n) for y, n in zip(yes, no, strict=True)]
    assert isinstance(no, Lanes)
    text = emitter.text
    same = condition.stride == 0 and yes.stride == no.stride and yes.stride is not None
    if same or emitter.width == 1:
        name = text.emit(f"select i1 {condition.name}, {yes.type} {yes.name}, {no.type} {no.name}")
        return Lanes(yes.type, name, yes.stride)
    wide = text.vector_type(yes.type)
    first, second = text.as_vector(yes), text.as_vector(no)
    bits = "i1" if condition.stride == 0 else text.vector_type("i1")
    name = text.emit(f"select {bits} {condition.name}, {wide} {first}, {wide} {second}")
    return Lanes(yes.type, name, None)


@handles("Select")
def _select(emitter: Emitter, node: Node) -> None:
    condition = emitter.get(node.operands[0])
    yes, no = emitter.get(node.operands[1]), emitter.get(node.operands[2])
    if isinstance(condition, list):
        assert isinstance(yes, list)
        assert isinstance(no, list)
        value: Value = [
            choose(emitter, _scalar(each), y, n)
            for each, y, n in zip(condition, yes, no, strict=True)
        ]
    else:
        value = choose(emitter, condition, yes, no)
    emitter.define(node, value)


def _scalar(value: Value) -> Lanes:
    assert isinstance(value, Lanes)
    return value


@handles(
    "CopyObject",
    "CopyLogical",
    "PtrCastToGeneric",
    "GenericCastToPtr",
    "ExpectKHR",
    "FreezeKHR",
)
def _same(emitter: Emitter, node: Node) -> None:
    emitter.define(node, emitter.get(node.operands[0]))


@handles("Bitcast")
def _bitcast(emitter: Emitter, node: Node) -> None:
    value = emitter.get(node.operands[0])
    emitter.define(node, bitcast(emitter, value, node.operands[0].type, node.type))


def bitcast(emitter: Emitter, value: Value, source: Type, target: Type) -> Value:
    """The same bits as another type; vectors may have another number of components."""
    if not isinstance(value, list) and components(target) is None:
        return _bitcast_scalar(emitter, value, scalar_type(target))
    before = value if isinstance(value, list) else [value]
    kinds = components(target) or [target]
    if len(before) == len(kinds):
        changed: list[Value] = [
            _bitcast_scalar(emitter, _scalar(each), scalar_type(kind))
            for each, kind in zip(before, kinds, strict=True)
        ]
        return changed if components(target) is not None else changed[0]
    if len(before) > len(kinds):
        parts = _join(emitter, [_scalar(each) for each in before], kinds)
    else:
        parts = _split(emitter, [_scalar(each) for each in before], kinds)
    return parts if components(target) is not None else parts[0]


def _bits(type_: str) -> int:
    return {"half": 16, "float": 32, "double": 64, "ptr": 64}.get(type_) or int(type_[1:])


def _bitcast_scalar(emitter: Emitter, value: Lanes, type_: str) -> Lanes:
    if value.type == type_:
        return value
    text = emitter.text
    keep = (
        value.stride
        if {value.type, type_} <= {"ptr", "i64"}
        else (0 if value.stride == 0 else None)
    )
    vector = keep is None
    name = text.as_vector(value) if vector else value.name
    source = text.vector_type(value.type) if vector else value.type
    target = text.vector_type(type_) if vector else type_
    kind = "ptrtoint" if value.type == "ptr" else "inttoptr" if type_ == "ptr" else "bitcast"
    return Lanes(type_, text.emit(f"{kind} {source} {name} to {target}"), keep)


def _integer(emitter: Emitter, value: Lanes, width: int) -> Lanes:
    """The bits of a value as a wider integer."""
    plain = _bitcast_scalar(emitter, value, f"i{_bits(value.type)}")
    if plain.type == f"i{width}":
        return plain
    vector = plain.stride != 0
    text = emitter.text
    name = text.as_vector(plain) if vector else plain.name
    source = text.vector_type(plain.type) if vector else plain.type
    target = text.vector_type(f"i{width}") if vector else f"i{width}"
    return Lanes(f"i{width}", text.emit(f"zext {source} {name} to {target}"), None if vector else 0)


def _shifted(emitter: Emitter, kind: str, value: Lanes, amount: int) -> Lanes:
    if amount == 0:
        return value
    text = emitter.text
    vector = value.stride != 0
    wide = text.vector_type(value.type) if vector else value.type
    by = text.splat(value.type, str(amount)) if vector else str(amount)
    return Lanes(value.type, text.emit(f"{kind} {wide} {value.name}, {by}"), value.stride)


def _join(emitter: Emitter, before: list[Lanes], kinds: list[Type]) -> list[Value]:
    """Narrow components to fewer wide ones, the first in the low bits."""
    step = len(before) // len(kinds)
    width, narrow = _bits(scalar_type(kinds[0])), _bits(before[0].type)
    parts: list[Value] = []
    for index, kind in enumerate(kinds):
        total: Lanes | None = None
        for position, each in enumerate(before[index * step : (index + 1) * step]):
            moved = _shifted(emitter, "shl", _integer(emitter, each, width), position * narrow)
            total = moved if total is None else _or(emitter, total, moved)
        assert total is not None
        parts.append(_bitcast_scalar(emitter, total, scalar_type(kind)))
    return parts


def _or(emitter: Emitter, left: Lanes, right: Lanes) -> Lanes:
    text = emitter.text
    vector = left.stride != 0 or right.stride != 0
    wide = text.vector_type(left.type) if vector else left.type
    first = text.as_vector(left) if vector else left.name
    second = text.as_vector(right) if vector else right.name
    return Lanes(left.type, text.emit(f"or {wide} {first}, {second}"), None if vector else 0)


def _split(emitter: Emitter, before: list[Lanes], kinds: list[Type]) -> list[Value]:
    """Wide components to more narrow ones, the low bits first."""
    step = len(kinds) // len(before)
    narrow = _bits(scalar_type(kinds[0]))
    text = emitter.text
    parts: list[Value] = []
    for index, kind in enumerate(kinds):
        plain = _integer(emitter, before[index // step], _bits(before[0].type))
        moved = _shifted(emitter, "lshr", plain, (index % step) * narrow)
        vector = moved.stride != 0
        source = text.vector_type(moved.type) if vector else moved.type
        target = text.vector_type(f"i{narrow}") if vector else f"i{narrow}"
        name = text.emit(f"trunc {source} {moved.name} to {target}")
        small = Lanes(f"i{narrow}", name, None if vector else 0)
        parts.append(_bitcast_scalar(emitter, small, scalar_type(kind)))
    return parts


@handles("All", "Any")
def _all_or_any(emitter: Emitter, node: Node) -> None:
    parts = emitter.get(node.operands[0])
    assert isinstance(parts, list)
    kind = "and" if node.op == "All" else "or"
    result = _scalar(parts[0])
    for part in parts[1:]:
        result = _logic(emitter, kind, result, _scalar(part))
    emitter.define(node, result)


def _logic(emitter: Emitter, kind: str, left: Lanes, right: Lanes) -> Lanes:
    text = emitter.text
    vector = left.stride != 0 or right.stride != 0
    wide = text.vector_type("i1") if vector else "i1"
    first = text.as_vector(left) if vector else left.name
    second = text.as_vector(right) if vector else right.name
    return Lanes("i1", text.emit(f"{kind} {wide} {first}, {second}"), None if vector else 0)
