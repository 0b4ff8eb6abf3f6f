"""Atomic operations of lanes in turn, and those that most often change nothing.

An atomic instruction takes some 20 cycles and the whole cache line, from whatever core has it. A
comparison that fails, a minimum that is no smaller, a bit that is set already are no more than
reads of the same place: so lanes read first, all together, and only those that would change
something go on to the instruction, which decides anew. That also brings the lines of all lanes into
the cache at once rather than one after the other.

One work-item at a time reads first only if that would have been right for the one before: the first
read of a line that another core has written costs as much as the exchange behind it.

Lanes that do go on take turns in a loop over the bits of the mask, with their operands in memory:
that is shorter than a branch and an extraction for each lane, and as fast. Where all lanes are
active and the operation is short, they follow each other without a loop.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.memory.gathers import gather
from groundstate.compiler.codegen.memory.own_atomics import is_own
from groundstate.compiler.codegen.text import scalar_bytes
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.ops import Category, operation

CHANGES = {
    "min": "icmp slt {t} {value}, {now}",
    "max": "icmp sgt {t} {value}, {now}",
    "umin": "icmp ult {t} {value}, {now}",
    "umax": "icmp ugt {t} {value}, {now}",
    "fmin": "fcmp ult {t} {value}, {now}",
    "fmax": "fcmp ugt {t} {value}, {now}",
    "eq": "icmp eq {t} {value}, {now}",
}
"""Whether a value changes what is there; of floats also if that is no number."""
MASKING = {"and": "and", "or": "or"}
"""Those that change something if their result is not what was there."""
IDEMPOTENT = frozenset(
    f"Atomic{kind}" for kind in ("SMin", "SMax", "UMin", "UMax", "FMinEXT", "FMaxEXT", "And", "Or")
)
HABIT = "%habit"
"""A byte of the worker: whether an exchange should read first (`group_loop.py`)."""
Write = Callable[..., str]


def may_change_nothing(node: Node, order: str) -> bool:
    """Whether an operation that finds nothing to change may be a read instead: one that orders
    other accesses may not, and on local memory a read is no cheaper."""
    return node.op in IDEMPOTENT and order == "monotonic" and not is_own(node)


def exchanges_if_tested(node: Node, order: str) -> bool:
    """Whether a compare-and-exchange should read first. Not if it compares with what has just been
    read there: then it mostly succeeds."""
    if order != "monotonic" or is_own(node):
        return False
    expected = node.operands[5]
    while operation(expected).category is Category.CAST and len(expected.operands) == 1:
        expected = expected.operands[0]
    return expected.op != "Phi" and not operation(expected).address_operand


def if_changing(
    emitter: Emitter,
    kind: str,
    type_: str,
    pointer: Lanes,
    value: Lanes,
    write: Write,
    operands: tuple[Lanes, ...] = (),
) -> Lanes:
    """Writes an operation for the lanes in which it would change something, and a read for all.

    `operands` are those that `write` takes, the address and the value unless others are given.
    """
    text = emitter.text
    operands = operands or (pointer, value)
    if emitter.width == 1 and kind == "eq":
        return Lanes(type_, _exchange_by_habit(emitter, type_, operands, write))
    is_one = emitter.width == 1 or pointer.stride == 0
    align = scalar_bytes(type_)
    if is_one:
        now = Lanes(
            type_, text.emit(f"load atomic {type_}, ptr {pointer.name} monotonic, align {align}")
        )
    else:
        addresses = text.as_vector(pointer)
        now = Lanes(type_, gather(emitter, type_, addresses, align), None)
    found, wide = text.as_vector(now), text.vector_type(type_)
    changes = _changes(emitter, kind, wide, text.as_vector(value), found)
    if emitter.width == 1:
        return Lanes(type_, _if_one(emitter, changes, type_, found, operands, write))
    if emitter.mask is not None:
        changes = text.emit(f"and {text.vector_type('i1')} {emitter.mask}, {changes}")
    return in_turns(emitter, type_, operands, write, changes, found)


def _changes(emitter: Emitter, kind: str, wide: str, value: str, now: str) -> str:
    text = emitter.text
    if kind in MASKING:
        combined = text.emit(f"{MASKING[kind]} {wide} {value}, {now}")
        return text.emit(f"icmp ne {wide} {combined}, {now}")
    return text.emit(CHANGES[kind].format(t=wide, value=value, now=now))


def _if_one(
    emitter: Emitter,
    condition: str,
    type_: str,
    otherwise: str,
    operands: tuple[Lanes, ...],
    write: Write,
) -> str:
    """What an operation of one work-item gives if it is done, and else what was read."""
    text = emitter.text
    room = emitter.new_slot(type_, "found")
    inside, after = text.label("changes"), text.label("after")
    text.do(f"store {type_} {otherwise}, ptr {room}")
    text.do(f"br i1 {condition}, label %{inside}, label %{after}")
    text.start(inside)
    text.do(f"store {type_} {write(*(each.name for each in operands))}, ptr {room}")
    text.do(f"br label %{after}")
    text.start(after)
    return text.emit(f"load {type_}, ptr {room}")


def _exchange_by_habit(
    emitter: Emitter, type_: str, operands: tuple[Lanes, ...], write: Write
) -> str:
    """A compare-and-exchange of one work-item, which reads first if the last one came in vain."""
    text = emitter.text
    emitter.context.has_habit = True
    address, expected = operands[0].name, operands[2].name
    names = [each.name for each in operands]
    room = emitter.new_slot(type_, "found")
    direct, test, change, after = map(text.label, ("direct", "test", "change", "after"))
    habit = text.emit(f"load i8, ptr {HABIT}")
    reads = text.emit(f"icmp ne i8 {habit}, 0")
    text.do(f"br i1 {reads}, label %{test}, label %{direct}")
    text.start(direct)
    found = write(*names)
    text.do(f"store {type_} {found}, ptr {room}")
    failed = text.emit(f"icmp ne {type_} {found}, {expected}")
    text.do(f"store i8 {text.emit(f'zext i1 {failed} to i8')}, ptr {HABIT}")
    text.do(f"br label %{after}")
    text.start(test)
    align = scalar_bytes(type_)
    now = text.emit(f"load atomic {type_}, ptr {address} monotonic, align {align}")
    text.do(f"store {type_} {now}, ptr {room}")
    same = text.emit(f"icmp eq {type_} {now}, {expected}")
    text.do(f"br i1 {same}, label %{change}, label %{after}")
    text.start(change)
    text.do(f"store {type_} {write(*names)}, ptr {room}")
    text.do(f"store i8 0, ptr {HABIT}")
    text.do(f"br label %{after}")
    text.start(after)
    return text.emit(f"load {type_}, ptr {room}")


def in_turns(
    emitter: Emitter,
    type_: str,
    operands: tuple[Lanes, ...],
    write: Write,
    mask: str | None = None,
    otherwise: str = "zeroinitializer",
    is_short: bool = False,
) -> Lanes:
    """What `write` gives for the operands of each lane of a mask, the first lane first.

    Without a mask of its own: for each active lane. `is_short`: it takes a few instructions.
    """
    text, width = emitter.text, emitter.width
    if width == 1:
        return Lanes(type_, write(*(each.name for each in operands)))
    mask = mask if mask is not None else emitter.mask
    if mask is None and is_short:
        return _all_in_turn(emitter, type_, operands, write)
    wide, bits = text.vector_type(type_), f"i{width}"
    results = emitter.new_slot(wide, "found")
    text.do(f"store {wide} {otherwise}, ptr {results}")
    places = [_kept(emitter, each) for each in operands]
    left = emitter.new_slot(bits, "left")
    active = "-1"
    if mask is not None:
        active = text.emit(f"bitcast {text.vector_type('i1')} {mask} to {bits}")
    text.do(f"store {bits} {active}, ptr {left}")
    turn, after = text.label("turn"), text.label("after")
    some = text.emit(f"icmp ne {bits} {active}, 0")
    text.do(f"br i1 {some}, label %{turn}, label %{after}")
    text.start(turn)
    now = text.emit(f"load {bits}, ptr {left}")
    lane = text.call(bits, f"llvm.cttz.{bits}", [(bits, now), ("i1", "true")])
    lane = text.emit(f"zext {bits} {lane} to i64")
    found = write(
        *(
            each.name if place is None else _at(emitter, each.type, place, lane, "load")
            for each, place in zip(operands, places, strict=True)
        )
    )
    _at(emitter, type_, results, lane, found)
    less = text.emit(f"add {bits} {now}, -1")
    rest = text.emit(f"and {bits} {now}, {less}")
    text.do(f"store {bits} {rest}, ptr {left}")
    more = text.emit(f"icmp ne {bits} {rest}, 0")
    text.do(f"br i1 {more}, label %{turn}, label %{after}")
    text.start(after)
    return Lanes(type_, text.emit(f"load {wide}, ptr {results}"), None)


def _all_in_turn(emitter: Emitter, type_: str, operands: tuple[Lanes, ...], write: Write) -> Lanes:
    """The same if all lanes are active, without a loop. Addresses that differ at will go through
    memory: if they came out of a register one by one, the CPU would load for a lane before it knew
    where the one before stores, and begin again where that was wrong, in ten times the time."""
    text, wide, name = emitter.text, emitter.text.vector_type(type_), "poison"
    address, *others = operands
    place = _kept(emitter, address) if address.is_vector else None
    for lane in range(emitter.width):
        if place is None:
            at = text.lane(address, lane)
        else:
            kept = text.emit(f"getelementptr ptr, ptr {place}, i64 {lane}")
            at = text.emit(f"load volatile ptr, ptr {kept}")  # or LLVM would take it from above
        found = write(at, *(text.lane(each, lane) for each in others))
        name = text.emit(f"insertelement {wide} {name}, {type_} {found}, i64 {lane}")
    return Lanes(type_, name, None)


def _kept(emitter: Emitter, value: Lanes) -> str | None:
    """Where the value of each lane is kept; nowhere if all have the same."""
    if value.stride == 0:
        return None
    text = emitter.text
    wide = text.vector_type(value.type)
    room = emitter.new_slot(wide, "each")
    text.do(f"store {wide} {text.as_vector(value)}, ptr {room}")
    return room


def _at(emitter: Emitter, type_: str, room: str, lane: str, value: str) -> str:
    """Loads or stores what is kept for one lane."""
    text = emitter.text
    place = text.emit(f"getelementptr {type_}, ptr {room}, i64 {lane}")
    if value == "load":
        return text.emit(f"load {type_}, ptr {place}")
    text.do(f"store {type_} {value}, ptr {place}")
    return ""
