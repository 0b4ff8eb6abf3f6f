"""Operations of a whole work-group: each sub-group leaves what it comes to in shared memory, and
all read it behind the barrier. `lower/group_operations.py` puts them together.
"""

from __future__ import annotations

from groundstate.compiler.codegen.function import components
from groundstate.compiler.codegen.groups.operations import combine, identity
from groundstate.compiler.codegen.memory.layout import array_step_of, load, store
from groundstate.compiler.codegen.thread import lanes
from groundstate.compiler.codegen.thread.emitter import ThreadEmitter, writes
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Pointer, Type
from groundstate.compiler.target.nvptx import MOST_GROUP_ITEMS

CELL_ALIGNMENT = 16


def _cell_bytes(type_: Type) -> int:
    return -(-type_.size // CELL_ALIGNMENT) * CELL_ALIGNMENT


def _cell(emitter: ThreadEmitter, node: Node, type_: Type, subgroup: str) -> Lanes:
    """The address of a sub-group's cell, whose number is an i64."""
    text, context = emitter.text, emitter.context
    items = context.group_items or MOST_GROUP_ITEMS
    count = 1 if node.literals[1] == "one" else -(-items // context.subgroup)
    size = _cell_bytes(type_)
    name = context.shared_room(f"cells{node.literals[0]}", size * count, CELL_ALIGNMENT)
    base = text.emit(f"addrspacecast ptr addrspace(3) @{name} to ptr")
    offset = text.emit(f"mul i64 {subgroup}, {size}")
    return Lanes("ptr", text.emit(f"getelementptr i8, ptr {base}, i64 {offset}"))


def _own_subgroup(emitter: ThreadEmitter) -> str:
    return emitter.context.ids["SubgroupId"][0].name


@writes("WriteGroupCell")
def _write(emitter: ThreadEmitter, node: Node) -> None:
    """The first of a sub-group writes what all of it came to, or the one that is asked for."""
    text, type_ = emitter.text, node.operands[0].type
    value = emitter.get(node.operands[0])
    if node.literals[1] == "one":
        cell, writes_it = _cell(emitter, node, type_, "0"), _is_wanted(emitter, node)
    else:
        cell = _cell(emitter, node, type_, _own_subgroup(emitter))
        writes_it = text.emit(f"icmp eq i32 {lanes.number(emitter)}, 0")
    inside, after = text.label("cell"), text.label("after")
    text.do(f"br i1 {writes_it}, label %{inside}, label %{after}")
    text.start(inside)
    store(emitter, cell, type_, value, CELL_ALIGNMENT)
    text.do(f"br label %{after}")
    text.start(after)


def _is_wanted(emitter: ThreadEmitter, node: Node) -> str:
    """Whether the work-item is the one with the local id that is asked for."""
    text, here = emitter.text, "true"
    wanted = emitter.get(node.operands[1])
    parts = wanted if isinstance(wanted, list) else [wanted]
    for part, own in zip(parts, emitter.context.ids["LocalInvocationId"], strict=False):
        assert isinstance(part, Lanes)
        name = part.name
        if part.type != "i64":
            name = text.emit(f"zext {part.type} {name} to i64")
        same = text.emit(f"icmp eq i64 {name}, {own.name}")
        here = text.emit(f"and i1 {here}, {same}")
    return here


@writes("ReadGroupCells")
def _read(emitter: ThreadEmitter, node: Node) -> None:
    if node.literals[1] == "one":
        cell = _cell(emitter, node, node.type, "0")
        emitter.define(node, load(emitter, cell, node.type, CELL_ALIGNMENT))
        return
    end = _own_subgroup(emitter)
    if node.literals[1] == "all":
        end = emitter.context.ids["NumSubgroups"][0].name
    emitter.define(node, _all_cells(emitter, node, end))


def _all_cells(emitter: ThreadEmitter, node: Node, end: str) -> Value:
    """What the cells of the sub-groups before a number come to together."""
    text, kind = emitter.text, str(node.literals[2])
    at, room = emitter.new_slot("i64", "c"), _room(emitter, node.type)
    text.do(f"store i64 0, ptr {at}")
    emitter.store(room, _neutral(kind, node.type))
    head, body, after = text.label("cells"), text.label("cell"), text.label("added")
    text.do(f"br label %{head}")
    text.start(head)
    index = text.emit(f"load i64, ptr {at}")
    more = text.emit(f"icmp ult i64 {index}, {end}")
    text.do(f"br i1 {more}, label %{body}, label %{after}")
    text.start(body)
    one = load(emitter, _cell(emitter, node, node.type, index), node.type, CELL_ALIGNMENT)
    emitter.store(room, _merge(emitter, kind, node.type, emitter.load(room), one))
    following = text.emit(f"add i64 {index}, 1")
    text.do(f"store i64 {following}, ptr {at}")
    text.do(f"br label %{head}")
    text.start(after)
    return emitter.load(room)


def _room(emitter: ThreadEmitter, type_: Type) -> Value:
    parts = components(type_)
    if parts is not None:
        return [_room(emitter, part) for part in parts]
    scalar = scalar_type(type_)
    return Lanes(scalar, emitter.new_slot(scalar, "g"))


def _neutral(kind: str, type_: Type) -> Value:
    parts = components(type_)
    if parts is not None:
        return [_neutral(kind, part) for part in parts]
    scalar = scalar_type(type_)
    return Lanes(scalar, identity(kind, scalar))


def _merge(emitter: ThreadEmitter, kind: str, type_: Type, left: Value, right: Value) -> Value:
    def one(each: Type, parts: list[Lanes]) -> Lanes:
        scalar = scalar_type(each)
        return Lanes(scalar, combine(kind, scalar, parts[0].name, parts[1].name, emitter))

    result = emitter.map_components(type_, [left, right], one)
    assert result is not None
    return result


# --- Copies of a group ----------------------------------------------------------------------------


@writes("GroupAsyncCopy")
def _async_copy(emitter: ThreadEmitter, node: Node) -> None:
    pointer = node.operands[1].type
    assert isinstance(pointer, Pointer)
    size = str(array_step_of(pointer))
    _copy_together(emitter, node, size, node.operands[3], node.operands[4])


@writes("UntypedGroupAsyncCopyKHR")
def _untyped_async_copy(emitter: ThreadEmitter, node: Node) -> None:
    size = emitter.widen_i64(node.operands[3], emitter.scalar(node.operands[3]).name)
    _copy_together(emitter, node, size, node.operands[4], node.operands[5])


def _copy_together(
    emitter: ThreadEmitter, node: Node, size: str, elements: Node, distance: Node
) -> None:
    """Each work-item copies its share; GroupWaitEvents is a barrier."""
    text, ids = emitter.text, emitter.context.ids
    target, source = emitter.scalar(node.operands[1]), emitter.scalar(node.operands[2])
    count, stride = (
        emitter.widen_i64(each, emitter.scalar(each).name) for each in (elements, distance)
    )
    pointer = node.operands[1].type
    to_local = isinstance(pointer, Pointer) and pointer.storage == StorageClass.Workgroup
    cursor = emitter.new_slot("i64", "i")
    text.do(f"store i64 {ids['LocalInvocationIndex'][0].name}, ptr {cursor}")
    check, body, after = text.label("check"), text.label("element"), text.label("copied")
    text.do(f"br label %{check}")
    text.start(check)
    index = text.emit(f"load i64, ptr {cursor}")
    more = text.emit(f"icmp ult i64 {index}, {count}")
    text.do(f"br i1 {more}, label %{body}, label %{after}")
    text.start(body)
    far = text.emit(f"mul i64 {index}, {stride}")
    into, out = (index, far) if to_local else (far, index)
    places = []
    for place, step in ((target, into), (source, out)):
        offset = text.emit(f"mul i64 {step}, {size}")
        places.append(text.emit(f"getelementptr i8, ptr {place.name}, i64 {offset}"))
    text.call(
        "void",
        "llvm.memcpy.p0.p0.i64",
        [("ptr", places[0]), ("ptr", places[1]), ("i64", size), ("i1", "false")],
    )
    following = text.emit(f"add i64 {index}, {_group_items(emitter)}")
    text.do(f"store i64 {following}, ptr {cursor}")
    text.do(f"br label %{check}")
    text.start(after)
    emitter.define(node, Lanes("ptr", "null"))


def _group_items(emitter: ThreadEmitter) -> str:
    text = emitter.text
    x, y, z = (each.name for each in emitter.context.ids["WorkgroupSize"])
    return text.emit(f"mul i64 {text.emit(f'mul i64 {x}, {y}')}, {z}")
