"""Cells that the sub-groups of a work-group share, and copies that a group does together."""

from __future__ import annotations

from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.function import components
from groundstate.compiler.codegen.groups.operations import combine, identity
from groundstate.compiler.codegen.memory.layout import array_step_of, load, store
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.instrument.group_copies import arguments
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Pointer, Type

CELL_BYTES = 128
"""Room for the largest OpenCL vector."""


def _cell(emitter: Emitter, number: int, subgroup: str) -> Lanes:
    """The address of a sub-group's cell."""
    text = emitter.text
    first = number * CELL_BYTES * emitter.context.subgroups
    offset = text.emit(f"mul i64 {subgroup}, {CELL_BYTES}")
    base = text.emit(f"getelementptr i8, ptr %shared, i64 {first}")
    return Lanes("ptr", text.emit(f"getelementptr i8, ptr {base}, i64 {offset}"))


@handles("WriteGroupCell")
def _write(emitter: Emitter, node: Node) -> None:
    number, mode = int(str(node.literals[0])), node.literals[1]
    value = emitter.get(node.operands[0])
    type_ = node.operands[0].type
    if mode == "one":
        _write_one(emitter, node, _cell(emitter, number, "0"), value, type_)
    elif mode == "all":
        _add_up(emitter, node, value)
    else:
        _add_up_before(emitter, node, value)


def _add_up(emitter: Emitter, node: Node, value: Value) -> None:
    """Adds a sub-group's value to the cell of all: the sub-groups come one after the other."""
    text, type_ = emitter.text, node.operands[0].type
    cell = _cell(emitter, int(str(node.literals[0])), "0")
    first, later, after = text.label("first"), text.label("later"), text.label("added")
    is_first = text.emit("icmp eq i64 %sub, 0")
    text.do(f"br i1 {is_first}, label %{first}, label %{later}")
    text.start(first)
    store(emitter, cell, type_, value, 16)
    text.do(f"br label %{after}")
    text.start(later)
    so_far = load(emitter, cell, type_, 16)
    kind = str(node.literals[2])
    store(emitter, cell, type_, _merge(emitter, kind, type_, so_far, value), 16)
    text.do(f"br label %{after}")
    text.start(after)


def _add_up_before(emitter: Emitter, node: Node, value: Value) -> None:
    """Gives the next sub-group what it and all before it come to; the first has nothing before."""
    text, type_ = emitter.text, node.operands[0].type
    number, kind = int(str(node.literals[0])), str(node.literals[2])
    mine = _cell(emitter, number, "%sub")
    ways = [text.label(each) for each in ("first", "later", "hand", "last")]
    is_first = text.emit("icmp eq i64 %sub, 0")
    text.do(f"br i1 {is_first}, label %{ways[0]}, label %{ways[1]}")
    text.start(ways[0])
    store(emitter, mine, type_, _neutral(emitter, kind, type_), 16)
    text.do(f"br label %{ways[1]}")
    text.start(ways[1])
    is_last = text.emit(f"icmp eq i64 %sub, {emitter.context.subgroups - 1}")
    text.do(f"br i1 {is_last}, label %{ways[3]}, label %{ways[2]}")
    text.start(ways[2])
    so_far = load(emitter, mine, type_, 16)
    following = text.emit("add i64 %sub, 1")
    total = _merge(emitter, kind, type_, so_far, value)
    store(emitter, _cell(emitter, number, following), type_, total, 16)
    text.do(f"br label %{ways[3]}")
    text.start(ways[3])


def _write_one(emitter: Emitter, node: Node, cell: Lanes, value: Value, kind: Type) -> None:
    """Writes the value of the work-item with a local id, if it is in this sub-group."""
    text = emitter.text
    wanted = emitter.get(node.operands[1])
    parts = wanted if isinstance(wanted, list) else [wanted]
    mine = emitter.context.ids["LocalInvocationId"]
    bits = text.vector_type("i1")
    here = emitter.full_mask()
    for part, own in zip(parts, mine, strict=False):
        assert isinstance(part, Lanes)
        wide = text.vector_type("i64")
        name = text.as_vector(part)
        if part.type != "i64":
            name = text.emit(f"zext {text.vector_type(part.type)} {name} to {wide}")
        same = text.emit(f"icmp eq {wide} {name}, {text.as_vector(own)}")
        here = text.emit(f"and {bits} {here}, {same}")
    found, inside, after = text.any(here), text.label("one"), text.label("after")
    text.do(f"br i1 {found}, label %{inside}, label %{after}")
    text.start(inside)
    lane = "0"
    if emitter.width > 1:
        number = text.emit(f"bitcast {bits} {here} to i{emitter.width}")
        count = f"llvm.cttz.i{emitter.width}"
        lane = text.call(
            f"i{emitter.width}", count, [(f"i{emitter.width}", number), ("i1", "false")]
        )
        lane = text.emit(f"zext i{emitter.width} {lane} to i64")
    store(emitter, cell, kind, _lane_of(emitter, value, lane), 16)
    text.do(f"br label %{after}")
    text.start(after)


def _lane_of(emitter: Emitter, value: Value, lane: str) -> Value:
    if isinstance(value, list):
        return [_lane_of(emitter, part, lane) for part in value]
    if emitter.width == 1 or value.stride == 0:
        return value
    wide = emitter.text.vector_type(value.type)
    vector = emitter.text.as_vector(value)
    return Lanes(value.type, emitter.text.emit(f"extractelement {wide} {vector}, i64 {lane}"))


@handles("ReadGroupCells")
def _read(emitter: Emitter, node: Node) -> None:
    number, mode = int(str(node.literals[0])), node.literals[1]
    cell = _cell(emitter, number, "%sub" if mode == "before" else "0")
    emitter.define(node, load(emitter, cell, node.type, 16))


def _neutral(emitter: Emitter, kind: str, type_: Type) -> Value:
    """What changes nothing when it is combined with another value."""
    parts = components(type_)
    if parts is not None:
        return [_neutral(emitter, kind, part) for part in parts]
    scalar = scalar_type(type_)
    return Lanes(scalar, identity(kind, scalar))


def _merge(emitter: Emitter, kind: str, type_: Type, left: Value, right: Value) -> Value:
    def one(each: Type, parts: list[Lanes]) -> Lanes:
        scalar = scalar_type(each)
        text = emitter.text
        vector = emitter.width > 1 and any(part.stride != 0 for part in parts)
        t = text.vector_type(scalar) if vector else scalar
        names = [text.as_vector(part) if vector else part.name for part in parts]
        return Lanes(scalar, combine(kind, t, names[0], names[1], emitter), None if vector else 0)

    result = emitter.map_components(type_, [left, right], one)
    assert result is not None
    return result


@handles("CombineGroup")
def _combine_group(emitter: Emitter, node: Node) -> None:
    before, inner = (emitter.get(each) for each in node.operands)
    kind = str(node.literals[0])
    emitter.define(node, _merge(emitter, kind, node.type, before, inner))


# --- Copies of a group --------------------------------------------------------------------------


@handles("GroupAsyncCopy")
def _async_copy(emitter: Emitter, node: Node) -> None:
    pointer = node.operands[1].type
    assert isinstance(pointer, Pointer)
    size = str(array_step_of(pointer))
    _copy_together(emitter, node, size, node.operands[3], node.operands[4])


@handles("UntypedGroupAsyncCopyKHR")
def _untyped_async_copy(emitter: Emitter, node: Node) -> None:
    size = _same_number(emitter, node.operands[3])
    _copy_together(emitter, node, size, node.operands[4], node.operands[5])


def _same_number(emitter: Emitter, node: Node) -> str:
    """A number that is the same for all work-items, as i64."""
    return emitter.widen_i64(node, emitter.text.lane(emitter.scalar(node), 0))


def _copy_together(emitter: Emitter, node: Node, size: str, elements: Node, distance: Node) -> None:
    """The first sub-group copies for all; GroupWaitEvents is a barrier."""
    text = emitter.text
    target, source = emitter.scalar(node.operands[1]), emitter.scalar(node.operands[2])
    count, stride = _same_number(emitter, elements), _same_number(emitter, distance)
    pointer = node.operands[1].type
    to_local = isinstance(pointer, Pointer) and pointer.storage == StorageClass.Workgroup
    first, body, after = text.label("copy"), text.label("element"), text.label("copied")
    check, begin = text.label("check"), text.emit("icmp eq i64 %sub, 0")
    text.do(f"br i1 {begin}, label %{first}, label %{after}")
    text.start(first)
    cursor = emitter.new_slot("i64", "i")
    text.do(f"store i64 0, ptr {cursor}")
    text.do(f"br label %{check}")
    text.start(check)
    index = text.emit(f"load i64, ptr {cursor}")
    more = text.emit(f"icmp ult i64 {index}, {count}")
    text.do(f"br i1 {more}, label %{body}, label %{after}")
    text.start(body)
    far = text.emit(f"mul i64 {index}, {stride}")
    into, out = (index, far) if to_local else (far, index)
    places = []
    for pointer_, step in ((target, into), (source, out)):
        offset = text.emit(f"mul i64 {step}, {size}")
        places.append(text.emit(f"getelementptr i8, ptr {text.lane(pointer_, 0)}, i64 {offset}"))
    text.call(
        "void",
        "llvm.memcpy.p0.p0.i64",
        [("ptr", places[0]), ("ptr", places[1]), ("i64", size), ("i1", "false")],
    )
    following = text.emit(f"add i64 {index}, 1")
    text.do(f"store i64 {following}, ptr {cursor}")
    text.do(f"br label %{check}")
    text.start(after)
    emitter.define(node, _event(emitter, node))


def _event(emitter: Emitter, node: Node) -> Lanes:
    """Nothing, because the copy has been made; for checkers a number, if there is one."""
    if not node.literals:
        return Lanes("ptr", "null")
    text = emitter.text
    given = emitter.scalar(arguments(node)[-1])
    is_vector = given.is_vector
    kind, truth = (text.vector_type(each) if is_vector else each for each in ("ptr", "i1"))
    own = text.emit(f"inttoptr i64 {node.literals[0]} to ptr")
    own = text.splat("ptr", own) if is_vector else own
    null = "zeroinitializer" if is_vector else "null"
    none = text.emit(f"icmp eq {kind} {given.name}, {null}")
    name = text.emit(f"select {truth} {none}, {kind} {own}, {kind} {given.name}")
    return Lanes("ptr", name, given.stride)
