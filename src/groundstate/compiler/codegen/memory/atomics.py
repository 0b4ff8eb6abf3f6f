"""Atomic instructions. Each active lane does its own, in turn, unless they are privatised.

Lanes that all add the same number to one place, such as a counter of results, do so with one
instruction: what each would have found there follows from how many lanes come before it. Those that
would change nothing only read (`changing_atomics.py`), and those on local memory are plain accesses
(`own_atomics.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.memory.changing_atomics import (
    exchanges_if_tested,
    if_changing,
    in_turns,
    may_change_nothing,
)
from groundstate.compiler.codegen.memory.ordering import barrier_fence, ordering
from groundstate.compiler.codegen.memory.own_atomics import compare_exchange, is_own, update
from groundstate.compiler.codegen.memory.privatised_atomics import combine_lanes
from groundstate.compiler.codegen.text import overloaded
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.type_rules import scalar_type

READ_MODIFY_WRITE = {
    "AtomicExchange": "xchg",
    "AtomicIAdd": "add",
    "AtomicISub": "sub",
    "AtomicSMin": "min",
    "AtomicUMin": "umin",
    "AtomicSMax": "max",
    "AtomicUMax": "umax",
    "AtomicAnd": "and",
    "AtomicOr": "or",
    "AtomicXor": "xor",
    "AtomicFAddEXT": "fadd",
    "AtomicFMinEXT": "fmin",
    "AtomicFMaxEXT": "fmax",
    "AtomicIIncrement": "add",
    "AtomicIDecrement": "sub",
}


def in_lanes(
    emitter: Emitter, node: Node, type_: str, write: Callable[[int], str], once: bool = False
) -> None:
    """Defines a node by what `write` gives for each active lane."""
    text = emitter.text
    if emitter.width == 1 or once:
        emitter.define(node, Lanes(type_, write(0)))
        return
    wide = text.vector_type(type_)
    room = emitter.new_slot(wide, "a")

    def one(lane: int) -> None:
        result = write(lane)
        old = text.emit(f"load {wide}, ptr {room}")
        new = text.emit(f"insertelement {wide} {old}, {type_} {result}, i64 {lane}")
        text.do(f"store {wide} {new}, ptr {room}")

    text.do(f"store {wide} zeroinitializer, ptr {room}")
    emitter.each_lane(one)
    emitter.define(node, Lanes(type_, text.emit(f"load {wide}, ptr {room}"), None))


@handles(*READ_MODIFY_WRITE)
def _read_modify_write(emitter: Emitter, node: Node) -> None:
    type_ = scalar_type(node.type)
    pointer = emitter.scalar(node.operands[0])
    kind, order = READ_MODIFY_WRITE[node.op], ordering(node, 2)
    value = emitter.scalar(node.operands[3]) if len(node.operands) > 3 else Lanes(type_, "1")
    if combine_lanes(emitter, node, pointer, value, order):
        return
    if kind in ("add", "sub") and _are_counting(emitter, pointer, value):
        emitter.define(node, _count(emitter, node, pointer, value, kind))
        return

    def write(address: str, operand: str) -> str:
        return update(emitter, kind, type_, address, operand, order, is_own(node))

    if may_change_nothing(node, order):
        found = if_changing(emitter, kind, type_, pointer, value, write)
    else:
        found = in_turns(emitter, type_, (pointer, value), write, is_short=is_own(node))
    emitter.define(node, found)


def _are_counting(emitter: Emitter, pointer: Lanes, value: Lanes) -> bool:
    """True if all lanes add the same number to the same place."""
    return emitter.width > 1 and pointer.stride == 0 and value.stride == 0


def _count(emitter: Emitter, node: Node, pointer: Lanes, value: Lanes, kind: str) -> Lanes:
    """What each lane finds if active lanes add or subtract a number in turn, undisturbed."""
    text, type_ = emitter.text, value.type
    wide = text.vector_type(type_)
    before, total = _turns(emitter, type_)
    amount = text.emit(f"mul {type_} {total}, {value.name}")
    order = ordering(node, 2)
    found = update(emitter, kind, type_, pointer.name, amount, order, is_own(node))
    passed = text.emit(f"mul {wide} {before}, {text.splat(type_, value.name)}")
    return Lanes(type_, text.emit(f"{kind} {wide} {text.splat(type_, found)}, {passed}"), None)


def _turns(emitter: Emitter, type_: str) -> tuple[str, str]:
    """How many active lanes come before each lane, and how many there are, as integers."""
    text = emitter.text
    if emitter.mask is None:
        return text.steps(type_, 1), str(emitter.width)
    bits, wide = f"i{emitter.width}", text.vector_type(type_)
    narrow = text.emit(f"bitcast {text.vector_type('i1')} {emitter.mask} to {bits}")
    active = narrow
    if bits != "i32":
        active = text.emit(f"zext {bits} {narrow} to i32")
    words = text.vector_type("i32")
    earlier = ", ".join(f"i32 {(1 << lane) - 1}" for lane in range(emitter.width))
    mine = text.emit(f"and {words} {text.splat('i32', active)}, <{earlier}>")
    before = text.call(words, f"llvm.ctpop.{overloaded(words)}", [(words, mine)])
    total = text.call("i32", "llvm.ctpop.i32", [("i32", active)])
    if type_ == "i64":
        before = text.emit(f"zext {words} {before} to {wide}")
        total = text.emit(f"zext i32 {total} to i64")
    return before, total


@handles("AtomicCompareExchange", "AtomicCompareExchangeWeak")
def _compare_exchange(emitter: Emitter, node: Node) -> None:
    type_ = scalar_type(node.type)
    pointer = emitter.scalar(node.operands[0])
    value, comparator = emitter.scalar(node.operands[4]), emitter.scalar(node.operands[5])
    success = ordering(node, 2)
    failure = ordering(node, 3, stores=False)

    def write(address: str, value: str, comparator: str) -> str:
        names = (address, value, comparator)
        return compare_exchange(emitter, type_, names, (success, failure), is_own(node))

    operands = (pointer, value, comparator)
    if exchanges_if_tested(node, failure):
        found = if_changing(emitter, "eq", type_, pointer, comparator, write, operands)
    else:
        found = in_turns(emitter, type_, operands, write, is_short=is_own(node))
    emitter.define(node, found)


@handles("AtomicLoad")
def _load(emitter: Emitter, node: Node) -> None:
    text = emitter.text
    type_ = scalar_type(node.type)
    pointer = emitter.scalar(node.operands[0])
    order = ordering(node, 2, stores=False)

    def write(lane: int) -> str:
        address = text.lane(pointer, lane)
        return text.emit(f"load atomic {type_}, ptr {address} {order}, align {node.type.align}")

    in_lanes(emitter, node, type_, write, once=pointer.stride == 0)


@handles("AtomicStore")
def _store(emitter: Emitter, node: Node) -> None:
    text = emitter.text
    pointer, value = emitter.scalar(node.operands[0]), emitter.scalar(node.operands[3])
    kind, order = node.operands[3].type, ordering(node, 2, loads=False)

    def write(lane: int) -> None:
        address, operand = text.lane(pointer, lane), text.lane(value, lane)
        text.do(f"store atomic {value.type} {operand}, ptr {address} {order}, align {kind.align}")

    emitter.each_lane(write, once=pointer.stride == 0 and value.stride == 0)


@handles("AtomicFlagTestAndSet")
def _test_and_set(emitter: Emitter, node: Node) -> None:
    text = emitter.text
    pointer = emitter.scalar(node.operands[0])
    order = ordering(node, 2)

    def write(lane: int) -> str:
        address = text.lane(pointer, lane)
        old = update(emitter, "xchg", "i32", address, "1", order, is_own(node))
        return text.emit(f"icmp ne i32 {old}, 0")

    in_lanes(emitter, node, "i1", write)


@handles("AtomicFlagClear")
def _clear(emitter: Emitter, node: Node) -> None:
    text = emitter.text
    pointer = emitter.scalar(node.operands[0])
    order = ordering(node, 2, loads=False)
    emitter.each_lane(
        lambda lane: text.do(
            f"store atomic i32 0, ptr {text.lane(pointer, lane)} {order}, align 4"
        ),
        once=pointer.stride == 0,
    )


@handles("MemoryBarrier")
def _memory_barrier(emitter: Emitter, node: Node) -> None:
    order = ordering(node, 1)
    if order != "monotonic":
        emitter.text.do(f"fence {order}")


@handles("ControlBarrier")
def _subgroup_barrier(emitter: Emitter, node: Node) -> None:
    """Only for a sub-group: its lanes are always together. Barriers of groups end a block."""
    if fence := barrier_fence(node):
        emitter.text.do(fence)
