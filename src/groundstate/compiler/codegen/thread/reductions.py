"""Reductions and scans of a sub-group.

If all of a full sub-group take part, values go from lane to lane in as many steps as the size has
bits. If not, each of those that take part is asked in turn.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.codegen.groups.operations import combine, first_of_scan, identity
from groundstate.compiler.codegen.thread import lanes
from groundstate.compiler.codegen.thread.emitter import ThreadEmitter, writes
from groundstate.compiler.codegen.thread.subgroups import members_of
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.ops import REDUCTIONS, operation
from groundstate.compiler.spirv.opcodes import GroupOperation

REDUX = {"IAdd": "add", "SMin": "min", "SMax": "max", "UMin": "umin", "UMax": "umax"}
REDUX |= {"And": "and", "Or": "or", "Xor": "xor"}
"""What GPUs from sm_80 on do in one instruction, for 32 bits of any lanes of a warp."""
REDUX_SINCE = 80
SCANS = (GroupOperation.InclusiveScan, GroupOperation.ExclusiveScan)


@writes(*REDUCTIONS)
def _arithmetic(emitter: ThreadEmitter, node: Node) -> None:
    cluster = constant_int(node.operands[2]) if len(node.operands) > 2 else None
    step = int(str(node.literals[0]))
    kind, mask = operation(node).combines, members_of(emitter, node)
    result = emitter.map_components(
        node.type,
        [emitter.get(node.operands[1])],
        lambda _, parts: reduce(emitter, kind, step, parts[0], mask, cluster),
    )
    assert result is not None
    emitter.define(node, result)


def reduce(
    emitter: ThreadEmitter, kind: str, step: int, value: Lanes, mask: str, cluster: int | None
) -> Lanes:
    """What the members of a mask give together, or those up to each of them."""
    size = emitter.context.subgroup
    is_cluster = cluster is not None and 0 < cluster < size
    if not is_cluster and step not in SCANS and _has_redux(emitter, kind, value):
        name = f"llvm.nvvm.redux.sync.{REDUX[kind]}"
        return Lanes("i32", emitter.text.call("i32", name, [("i32", value.name), ("i32", mask)]))

    def in_steps() -> str:
        if step in SCANS:
            return _scan(emitter, kind, value, mask, step)
        return _butterfly(emitter, kind, value, mask, cluster if is_cluster and cluster else size)

    if mask == "-1" or emitter.context.has_whole_subgroups:
        return Lanes(value.type, in_steps())
    is_whole = lanes.is_whole(emitter, mask)
    return Lanes(
        value.type,
        _either(
            emitter,
            is_whole,
            value.type,
            in_steps,
            lambda: _in_turn(emitter, kind, step, value, mask, cluster if is_cluster else None),
        ),
    )


def _has_redux(emitter: ThreadEmitter, kind: str, value: Lanes) -> bool:
    context = emitter.context
    is_new = context.target.compute_capability >= REDUX_SINCE
    return is_new and context.subgroup == 32 and value.type == "i32" and kind in REDUX


def _either(
    emitter: ThreadEmitter,
    condition: str,
    type_: str,
    yes: Callable[[], str],
    no: Callable[[], str],
) -> str:
    text, room = emitter.text, emitter.new_slot(type_, "r")
    ways = [text.label("whole"), text.label("some")]
    after = text.label("reduced")
    text.do(f"br i1 {condition}, label %{ways[0]}, label %{ways[1]}")
    for label, write in zip(ways, (yes, no), strict=True):
        text.start(label)
        text.do(f"store {type_} {write()}, ptr {room}")
        text.do(f"br label %{after}")
    text.start(after)
    return text.emit(f"load {type_}, ptr {room}")


def _other(emitter: ThreadEmitter, mask: str, type_: str, name: str, lane: str) -> str:
    found = lanes.from_lane(emitter, mask, Lanes(type_, name), lane)
    assert isinstance(found, Lanes)
    return found.name


def _butterfly(emitter: ThreadEmitter, kind: str, value: Lanes, mask: str, size: int) -> str:
    """All lanes combine with the one at a distance, which doubles."""
    text, own, current, distance = emitter.text, lanes.number(emitter), value.name, 1
    while distance < size:
        lane = text.emit(f"xor i32 {own}, {distance}")
        other = _other(emitter, mask, value.type, current, lane)
        current = combine(kind, value.type, current, other, emitter)
        distance *= 2
    return current


def _scan(emitter: ThreadEmitter, kind: str, value: Lanes, mask: str, step: int) -> str:
    """Each lane combines with those before it."""
    text, own, current, distance = emitter.text, lanes.number(emitter), value.name, 1
    while distance < emitter.context.subgroup:
        lane = text.emit(f"sub i32 {own}, {distance}")
        other = _other(emitter, mask, value.type, current, _at_least_zero(emitter, lane))
        both = combine(kind, value.type, other, current, emitter)
        is_there = text.emit(f"icmp uge i32 {own}, {distance}")
        current = text.emit(f"select i1 {is_there}, {value.type} {both}, {value.type} {current}")
        distance *= 2
    if step == GroupOperation.InclusiveScan:
        return current
    before = _at_least_zero(emitter, text.emit(f"sub i32 {own}, 1"))
    shifted = _other(emitter, mask, value.type, current, before)
    is_first = text.emit(f"icmp eq i32 {own}, 0")
    start = first_of_scan(kind, value.type)
    return text.emit(f"select i1 {is_first}, {value.type} {start}, {value.type} {shifted}")


def _at_least_zero(emitter: ThreadEmitter, lane: str) -> str:
    return emitter.text.call("i32", "llvm.smax.i32", [("i32", lane), ("i32", "0")])


def _in_turn(
    emitter: ThreadEmitter, kind: str, step: int, value: Lanes, mask: str, cluster: int | None
) -> str:
    """Combines the values of the members one after the other, in a loop that all go through."""
    text, type_ = emitter.text, value.type
    own, bits = lanes.number(emitter), lanes.own_bits(emitter, mask)
    if step == GroupOperation.ExclusiveScan:
        start = first_of_scan(kind, type_)
    else:
        start = identity(kind, type_)
    left, total = emitter.new_slot("i32", "l"), emitter.new_slot(type_, "s")
    text.do(f"store i32 {bits}, ptr {left}")
    text.do(f"store {type_} {start}, ptr {total}")
    head, after = text.label("turn"), text.label("turned")
    text.do(f"br label %{head}")  # there is one at least: the one that asks
    text.start(head)
    some = text.emit(f"load i32, ptr {left}")
    lane = text.call("i32", "llvm.cttz.i32", [("i32", some), ("i1", "true")])
    other = _other(emitter, mask, type_, value.name, lane)
    before = text.emit(f"load {type_}, ptr {total}")
    both = combine(kind, type_, before, other, emitter)
    counts = "true"
    if step in SCANS:
        relation = "ult" if step == GroupOperation.ExclusiveScan else "ule"
        counts = text.emit(f"icmp {relation} i32 {lane}, {own}")
    elif cluster is not None:
        ends = [text.emit(f"and i32 {each}, {-cluster}") for each in (lane, own)]
        counts = text.emit(f"icmp eq i32 {ends[0]}, {ends[1]}")
    text.do(
        f"store {type_} {text.emit(f'select i1 {counts}, {type_} {both}, {type_} {before}')}, "
        f"ptr {total}"
    )
    minus = text.emit(f"sub i32 {some}, 1")
    rest = text.emit(f"and i32 {some}, {minus}")
    text.do(f"store i32 {rest}, ptr {left}")
    more = text.emit(f"icmp ne i32 {rest}, 0")
    text.do(f"br i1 {more}, label %{head}, label %{after}")
    text.start(after)
    return text.emit(f"load {type_}, ptr {total}")
