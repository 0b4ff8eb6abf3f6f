"""Operations of a sub-group: across the lanes of a vector."""

from __future__ import annotations

from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.text import overloaded
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.ops import REDUCTIONS
from groundstate.compiler.ir.ops import operation as ir_operation
from groundstate.compiler.spirv.opcodes import GroupOperation

INFINITY = {"half": "0xH7C00", "float": "0x7FF0000000000000", "double": "0x7FF0000000000000"}
MINUS_INFINITY = {"half": "0xHFC00", "float": "0xFFF0000000000000", "double": "0xFFF0000000000000"}


def combine(kind: str, t: str, left: str, right: str, emitter: Emitter) -> str:
    """One step of a reduction."""
    text = emitter.text
    plain = {"IAdd": "add", "FAdd": "fadd", "IMul": "mul", "FMul": "fmul"}
    plain |= {"And": "and", "Or": "or", "Xor": "xor"}
    if kind in plain:
        return text.emit(f"{plain[kind]} {t} {left}, {right}")
    name = {"SMin": "smin", "UMin": "umin", "FMin": "minnum"} | {
        "SMax": "smax",
        "UMax": "umax",
        "FMax": "maxnum",
    }
    return text.call(t, f"llvm.{name[kind]}.{overloaded(t)}", [(t, left), (t, right)])


def identity(kind: str, type_: str) -> str:
    """The value that changes nothing in a reduction."""
    if kind in ("IAdd", "Or", "Xor", "UMax"):
        return "false" if type_ == "i1" else "0"
    if kind == "FAdd":
        return "0xH8000" if type_ == "half" else "-0.0"
    if kind == "IMul":
        return "1"
    if kind == "FMul":
        return "0xH3C00" if type_ == "half" else "1.0"
    if kind == "FMin":
        return INFINITY[type_]
    if kind == "FMax":
        return MINUS_INFINITY[type_]
    if kind in ("And", "UMin"):
        return "true" if type_ == "i1" else "-1"
    width = int(type_[1:])
    return str((1 << (width - 1)) - 1) if kind == "SMin" else str(-(1 << (width - 1)))


def first_of_scan(kind: str, type_: str) -> str:
    """What an exclusive scan gives the first lane; a sum starts with 0, though -0 is neutral."""
    if kind == "FAdd":
        return "0xH0000" if type_ == "half" else "0.0"
    return identity(kind, type_)


@handles(*REDUCTIONS)
def _arithmetic(emitter: Emitter, node: Node) -> None:
    operation = int(str(node.literals[0]))
    value = emitter.get(node.operands[1])
    kind = ir_operation(node).combines
    cluster = constant_int(node.operands[2]) if len(node.operands) > 2 else None
    result = emitter.map_components(
        node.type, [value], lambda _, parts: _reduce(emitter, kind, operation, parts[0], cluster)
    )
    assert result is not None
    emitter.define(node, result)


def _reduce(
    emitter: Emitter, kind: str, operation: int, value: Lanes, cluster: int | None
) -> Lanes:
    text, width = emitter.text, emitter.width
    nothing = identity(kind, value.type)
    if width == 1:
        start = first_of_scan(kind, value.type)
        return Lanes(value.type, start if operation == GroupOperation.ExclusiveScan else value.name)
    wide = text.vector_type(value.type)
    neutral = text.splat(value.type, nothing)
    current = text.select(emitter.mask, value.type, text.as_vector(value), neutral)
    if operation in (GroupOperation.InclusiveScan, GroupOperation.ExclusiveScan):
        total = _scan(emitter, kind, wide, current, neutral)
        if operation == GroupOperation.ExclusiveScan:
            start = text.splat(value.type, first_of_scan(kind, value.type))
            total = _shifted(emitter, wide, total, 1, start)
        return Lanes(value.type, total, None)
    distance, limit = 1, cluster or width
    while distance < min(limit, width):
        picks = ", ".join(f"i32 {lane ^ distance}" for lane in range(width))
        other = text.emit(
            f"shufflevector {wide} {current}, {wide} poison, <{width} x i32> <{picks}>"
        )
        current = combine(kind, wide, current, other, emitter)
        distance *= 2
    if cluster is not None and cluster < width:
        return Lanes(value.type, current, None)
    return Lanes(value.type, text.emit(f"extractelement {wide} {current}, i64 0"))


def _scan(emitter: Emitter, kind: str, wide: str, current: str, neutral: str) -> str:
    """Each lane combined with all before it."""
    distance = 1
    while distance < emitter.width:
        before = _shifted(emitter, wide, current, distance, neutral)
        current = combine(kind, wide, before, current, emitter)
        distance *= 2
    return current


def _shifted(emitter: Emitter, wide: str, vector: str, distance: int, start: str) -> str:
    """The values of the lanes some way before, and `start` where there are none."""
    width = emitter.width
    picks = ", ".join(
        f"i32 {lane - distance if lane >= distance else width}" for lane in range(width)
    )
    return emitter.text.emit(
        f"shufflevector {wide} {vector}, {wide} {start}, <{width} x i32> <{picks}>"
    )


# --- Votes and broadcasts -----------------------------------------------------------------------


def active_bits(emitter: Emitter) -> str:
    """The active lanes as the bits of a number."""
    text, width = emitter.text, emitter.width
    if width == 1:
        return text.emit("zext i1 true to i32")
    bits = text.emit(f"bitcast {text.vector_type('i1')} {emitter.full_mask()} to i{width}")
    return bits if width == 32 else text.emit(f"zext i{width} {bits} to i32")


def _vote(emitter: Emitter, condition: Lanes, all_lanes: bool) -> Lanes:
    text = emitter.text
    if emitter.width == 1 or condition.stride == 0:
        return Lanes("i1", condition.name)
    neutral = text.splat("i1", "true" if all_lanes else "false")
    mask = text.select(emitter.mask, "i1", text.as_vector(condition), neutral)
    if not all_lanes:
        return Lanes("i1", text.any(mask))
    bits = text.vector_type("i1")
    missing = text.any(text.emit(f"xor {bits} {mask}, {text.splat('i1', 'true')}"))
    return Lanes("i1", text.emit(f"xor i1 {missing}, true"))


@handles("GroupAll", "GroupAny", "GroupNonUniformAll", "GroupNonUniformAny")
def _group_vote(emitter: Emitter, node: Node) -> None:
    emitter.define(node, _vote(emitter, emitter.scalar(node.operands[1]), node.op.endswith("All")))


@handles("SubgroupAllKHR", "SubgroupAnyKHR")
def _subgroup_vote(emitter: Emitter, node: Node) -> None:
    all_lanes = node.op == "SubgroupAllKHR"
    emitter.define(node, _vote(emitter, emitter.scalar(node.operands[0]), all_lanes))


@handles("GroupNonUniformElect")
def _elect(emitter: Emitter, node: Node) -> None:
    """True in the first active lane only."""
    text = emitter.text
    if emitter.width == 1:
        emitter.define(node, Lanes("i1", "true"))
        return
    lane = _first_active(emitter)
    narrow = text.vector_type("i32")
    index = text.as_vector(Lanes("i32", "0", 1))
    name = text.emit(f"icmp eq {narrow} {index}, {text.splat('i32', lane)}")
    emitter.define(node, Lanes("i1", name, None))


def _first_active(emitter: Emitter) -> str:
    bits = active_bits(emitter)
    return emitter.text.call("i32", "llvm.cttz.i32", [("i32", bits), ("i1", "false")])


def pick_lane(emitter: Emitter, value: Value, lane: str) -> Value:
    """The value of one lane, given by a scalar number."""
    if isinstance(value, list):
        return [pick_lane(emitter, part, lane) for part in value]
    if emitter.width == 1 or value.stride == 0:
        return value
    wide = emitter.text.vector_type(value.type)
    vector = emitter.text.as_vector(value)
    return Lanes(value.type, emitter.text.emit(f"extractelement {wide} {vector}, i32 {lane}"))


@handles("GroupBroadcast", "GroupNonUniformBroadcast")
def _broadcast(emitter: Emitter, node: Node) -> None:
    lane = _number(emitter, emitter.get(node.operands[2]))
    emitter.define(node, pick_lane(emitter, emitter.get(node.operands[1]), lane))


@handles("GroupNonUniformBroadcastFirst", "SubgroupFirstInvocationKHR")
def _broadcast_first(emitter: Emitter, node: Node) -> None:
    value = emitter.get(node.operands[-1])
    lane = "0" if emitter.width == 1 else _first_active(emitter)
    emitter.define(node, pick_lane(emitter, value, lane))


@handles("SubgroupReadInvocationKHR")
def _read_invocation(emitter: Emitter, node: Node) -> None:
    lane = _number(emitter, emitter.get(node.operands[1]))
    emitter.define(node, pick_lane(emitter, emitter.get(node.operands[0]), lane))


def _number(emitter: Emitter, value: Value) -> str:
    """A lane number, wrapped to those that exist, as i32. Vectors of ids: only x counts here."""
    if isinstance(value, list):
        value = value[0]
    assert isinstance(value, Lanes)
    text = emitter.text
    if emitter.width > 1 and value.stride != 0:
        value = pick_first(emitter, value)
    name = value.name
    if value.type != "i32":
        kind = "trunc" if int(value.type[1:]) > 32 else "zext"
        name = text.emit(f"{kind} {value.type} {name} to i32")
    return text.emit(f"and i32 {name}, {emitter.width - 1}")


def pick_first(emitter: Emitter, value: Lanes) -> Lanes:
    """What the first active lane has: for values that are the same in all active lanes."""
    lane = "0" if emitter.mask is None else _first_active(emitter)
    picked = pick_lane(emitter, value, lane)
    assert isinstance(picked, Lanes)
    return picked


@handles("GroupNonUniformAllEqual", "SubgroupAllEqualKHR")
def _all_equal(emitter: Emitter, node: Node) -> None:
    """True if every active lane has the value of the first."""
    text = emitter.text
    value = emitter.get(node.operands[-1])
    first = pick_lane(emitter, value, "0" if emitter.width == 1 else _first_active(emitter))
    parts = value if isinstance(value, list) else [value]
    firsts = first if isinstance(first, list) else [first]
    same = text.splat("i1", "true")
    bits = text.vector_type("i1")
    for part, wanted in zip(parts, firsts, strict=True):
        assert isinstance(part, Lanes)
        assert isinstance(wanted, Lanes)
        wide = text.vector_type(part.type)
        kind = "icmp eq" if part.type[0] == "i" else "fcmp oeq"
        equal = text.emit(f"{kind} {wide} {text.as_vector(part)}, {text.as_vector(wanted)}")
        same = text.emit(f"and {bits} {same}, {equal}")
    emitter.define(node, _vote(emitter, Lanes("i1", same, None), True))
