"""What compiled code tells the checkers of races and barriers: native/check/group_checks.h.

An access is one call for all lanes, with a base and a stride where addresses have them, and else
with the addresses themselves; what is stored goes along, so that writers of the same value can be
told from others.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.groups.operations import pick_first
from groundstate.compiler.codegen.memory.blocks import only
from groundstate.compiler.codegen.memory.layout import add_offset
from groundstate.compiler.codegen.text import scalar_bytes
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir import Kernel, Node
from groundstate.native_layouts import (
    ACCESS_ONE_VALUE,
    ACCESS_SCATTERED,
    ACCESS_WATCHED,
    GroupChecks,
    offset_of,
)

BARRIERS = frozenset(("TellBarrier", "TellTogether"))
TELLS = (
    BARRIERS
    | {"TellAccess", "TellAccessIf", "TellBlock", "TellCopy", "TellImage"}
    | {"TellCopyBegins", "TellWait", "TellFence"}
)
MIX = 0x9E3779B97F4A7C15 - (1 << 64)
"""An odd number with as many ones as zeros, which makes a hash of numbers."""
BYTES_SHIFT, LANES_SHIFT, COMPONENT_SHIFT, FENCES_SHIFT = 16, 32, 40, 16
MOST_COMPONENT_BYTES = 8
ALL_EVENTS = -1
"""What is told of a wait for events that are not known."""


def tells(kernel: Kernel) -> bool:
    """True if a kernel tells a checker what its groups do."""
    return any(node.op in TELLS for node in kernel.nodes())


def tells_barriers(kernel: Kernel) -> bool:
    """True if a kernel says which work-items come to what all have to come to."""
    return any(node.op in BARRIERS for node in kernel.nodes())


def checker_function(emitter: Emitter, name: str) -> str:
    text, offset = emitter.text, offset_of(GroupChecks, name)
    place = text.emit(f"getelementptr i8, ptr {emitter.context.group_checks}, i64 {offset}")
    return text.emit(f"load ptr, ptr {place}, align 8, !invariant.load !0")


def first_item(emitter: Emitter) -> str:
    """The number of the first lane's work-item in its group."""
    return emitter.context.ids["LocalInvocationIndex"][0].name


@handles("TellAccess")
def _tell_access(emitter: Emitter, node: Node) -> None:
    """Tells of an access, unless it is one of arguments of which the launch is told nothing."""
    tell_if_told(emitter, node, lambda is_watched: _tell(emitter, node, is_watched))


@handles("TellAccessIf")
def _tell_access_if(emitter: Emitter, node: Node) -> None:
    """The same, in some lanes."""

    def tell(is_watched: str) -> None:
        with only(emitter, emitter.scalar(node.operands[1])):
            _tell(emitter, node, is_watched)

    tell_if_told(emitter, node, tell)


@handles("TellBlock")
def _tell_block(emitter: Emitter, node: Node) -> None:
    """A row after the other, of which each lane has an element."""

    def tell(is_watched: str) -> None:
        pointer, size, rows = emitter.scalar(node.operands[0]), *numbers(node, 1, 4)
        if emitter.width > 1 and pointer.stride != 0:
            pointer = pick_first(emitter, pointer)
        for index in range(rows):
            row = add_offset(emitter, pointer, index * emitter.width * size)
            lanes = Lanes("ptr", row.name, size if emitter.width > 1 else 0)
            _tell_lanes(emitter, node, lanes, is_watched, None)

    tell_if_told(emitter, node, tell)


@handles("TellCopy")
def _tell_copy(emitter: Emitter, node: Node) -> None:
    """The group as a whole copies: the first of its work-items tells."""
    text = emitter.text
    place = text.lane(emitter.scalar(node.operands[0]), 0)
    base = text.emit(f"ptrtoint ptr {place} to i64")
    size, count, stride = (
        emitter.widen_i64(each, text.lane(emitter.scalar(each), 0)) for each in node.operands[1:]
    )
    site, flags = numbers(node, 0, 2)
    info = signed(site | flags | 1 << LANES_SHIFT | ACCESS_WATCHED)
    text.do(
        f"call void {checker_function(emitter, 'copy')}(i64 {base}, i64 {size}, i64 {stride}, "
        f"i64 {count}, i64 {first_item(emitter)}, i64 {info})"
    )


@handles("TellFence")
def _tell_fence(emitter: Emitter, node: Node) -> None:
    (told,) = numbers(node, 0)
    emitter.text.do(
        f"call void {checker_function(emitter, 'fence')}(i64 {active_bits(emitter)}, "
        f"i64 {first_item(emitter)}, i64 {told})"
    )


@handles("TellCopyBegins")
def _tell_copy_begins(emitter: Emitter, node: Node) -> None:
    """The event of a copy is the one that it is given, or has its own number."""
    text = emitter.text
    given = _event_number(emitter, node.operands[0])
    none = text.emit(f"icmp eq i64 {given}, 0")
    (site,) = numbers(node, 0)
    number = text.emit(f"select i1 {none}, i64 {site + 1}, i64 {given}")
    text.do(
        f"call void {checker_function(emitter, 'begin_copy')}"
        f"(i64 {first_item(emitter)}, i64 {number}, i64 {site})"
    )


@handles("TellWait")
def _tell_wait(emitter: Emitter, node: Node) -> None:
    text, (site,) = emitter.text, numbers(node, 0)
    number = _event_number(emitter, node.operands[0]) if node.operands else str(ALL_EVENTS)
    text.do(
        f"call void {checker_function(emitter, 'wait')}"
        f"(i64 {first_item(emitter)}, i64 {number}, i64 {site})"
    )


def _event_number(emitter: Emitter, event: Node) -> str:
    """The number of the event that the first lane has."""
    text = emitter.text
    return text.emit(f"ptrtoint ptr {text.lane(emitter.scalar(event), 0)} to i64")


@handles("TellTogether")
def _tell_together(emitter: Emitter, node: Node) -> None:
    """A hash of what a work-item gives: the same for all lanes, if they give the same."""
    text, found = emitter.text, Lanes("i64", "0")
    for operand in node.operands:
        found = _mixed(emitter, found, emitter.scalar(operand))
    given, of_lanes = found.name, "null"
    if found.is_vector:
        wide = text.vector_type("i64")
        given, of_lanes = "0", emitter.new_slot(wide, "w")
        text.do(f"store {wide} {found.name}, ptr {of_lanes}")
    text.do(
        f"call void {checker_function(emitter, 'together')}(i64 {given}, ptr {of_lanes}, "
        f"i64 {active_bits(emitter)}, i64 {first_item(emitter)}, i64 {node.literals[0]})"
    )


def _mixed(emitter: Emitter, hash_: Lanes, operand: Lanes) -> Lanes:
    text = emitter.text
    is_vector = emitter.width > 1 and (hash_.is_vector or operand.stride != 0)
    wide = text.vector_type("i64") if is_vector else "i64"
    name = text.as_vector(operand) if is_vector else operand.name
    before = text.as_vector(hash_) if is_vector else hash_.name
    kind = text.vector_type(operand.type) if is_vector else operand.type
    if operand.type == "ptr":
        name = text.emit(f"ptrtoint {kind} {name} to {wide}")
    elif operand.type != "i64":
        name = text.emit(f"zext {kind} {name} to {wide}")
    factor = text.splat("i64", str(MIX)) if is_vector else str(MIX)
    product = text.emit(f"mul {wide} {before}, {factor}")
    return Lanes("i64", text.emit(f"add {wide} {product}, {name}"), None if is_vector else 0)


def numbers(node: Node, *positions: int) -> list[int]:
    return [int(str(node.literals[each])) for each in positions]


def tell_if_told(emitter: Emitter, node: Node, tell: Callable[[str], None]) -> None:
    """Writes a call that is made if the launch is told of the arguments in question."""
    text, arguments = emitter.text, int(str(node.literals[3]))
    if arguments == 0:
        tell("")
        return
    for operand in node.operands:
        emitter.get(operand)  # here, so that it is there on both ways
    is_told = _has(emitter, "told", arguments)
    inside, after = text.label("tell"), text.label("told")
    text.do(f"br i1 {is_told}, label %{inside}, label %{after}")
    text.start(inside)
    known = dict(emitter.here)
    tell(_has(emitter, "watched", arguments))
    emitter.here = known
    text.do(f"br label %{after}")
    text.start(after)


def _has(emitter: Emitter, field: str, arguments: int) -> str:
    """Whether a field of the launch has the bit of one of these arguments."""
    text, offset = emitter.text, offset_of(GroupChecks, field)
    place = text.emit(f"getelementptr i8, ptr {emitter.context.group_checks}, i64 {offset}")
    bits = text.emit(f"load i64, ptr {place}, align 8, !invariant.load !0")
    common = text.emit(f"and i64 {bits}, {signed(arguments)}")
    return text.emit(f"icmp ne i64 {common}, 0")


def _tell(emitter: Emitter, node: Node, is_watched: str) -> None:
    """`is_watched` is a value, or empty: it always is."""
    stored = node.operands[2:] if node.op == "TellAccessIf" else node.operands[1:]
    value = emitter.get(stored[0]) if stored else None
    _tell_lanes(emitter, node, emitter.scalar(node.operands[0]), is_watched, value)


def _tell_lanes(
    emitter: Emitter, node: Node, pointer: Lanes, is_watched: str, value: Value | None
) -> None:
    text = emitter.text
    site, size, flags = numbers(node, 0, 1, 2)
    info = site | size << BYTES_SHIFT | flags | emitter.width << LANES_SHIFT
    stride = pointer.stride
    if stride is None:
        wide = text.vector_type(pointer.type)
        room = emitter.new_slot(wide, "w")
        text.do(f"store {wide} {pointer.name}, ptr {room}")
        pointer, stride = Lanes("ptr", room), 0
        info |= ACCESS_SCATTERED
    base = pointer.name
    if pointer.type == "ptr":
        base = text.emit(f"ptrtoint ptr {base} to i64")
    values = "null"
    if value is not None:
        parts = _scalars(value)
        if parts:
            values, has_one = _spilled(emitter, parts)
            info |= ACCESS_ONE_VALUE if has_one else 0
            info |= scalar_bytes(parts[0].type) << COMPONENT_SHIFT
    told = str(signed(info | ACCESS_WATCHED))
    if is_watched:
        told = text.emit(f"select i1 {is_watched}, i64 {told}, i64 {signed(info)}")
    text.do(
        f"call void {checker_function(emitter, 'access')}(i64 {base}, i64 {stride}, "
        f"i64 {active_bits(emitter)}, i64 {first_item(emitter)}, i64 {told}, ptr {values})"
    )


def active_bits(emitter: Emitter) -> str:
    """The active lanes as bits."""
    if emitter.mask is None or emitter.width == 1:
        return str((1 << emitter.width) - 1)
    text, bits = emitter.text, f"i{emitter.width}"
    narrow = text.emit(f"bitcast {text.vector_type('i1')} {emitter.mask} to {bits}")
    return narrow if emitter.width == 64 else text.emit(f"zext {bits} {narrow} to i64")


def signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _scalars(value: Value) -> list[Lanes]:
    """The components of a number or a vector; none for what is made of something else."""
    parts = value if isinstance(value, list) else [value]
    found = [each for each in parts if isinstance(each, Lanes)]
    whole = len(found) == len(parts) and len({each.type for each in found}) == 1
    is_plain = (
        whole and found[0].type != "i1" and scalar_bytes(found[0].type) <= MOST_COMPONENT_BYTES
    )
    return found if is_plain else []


def _spilled(emitter: Emitter, parts: list[Lanes]) -> tuple[str, bool]:
    """Where components lie in memory, and whether there is one of each for all lanes."""
    text, type_ = emitter.text, parts[0].type
    is_one = emitter.width == 1 or all(each.stride == 0 for each in parts)
    wide = type_ if is_one else text.vector_type(type_)
    step = scalar_bytes(type_) * (1 if is_one else emitter.width)
    room = emitter.new_slot(f"[{len(parts) * step} x i8]", "w")
    for index, part in enumerate(parts):
        place = text.emit(f"getelementptr i8, ptr {room}, i64 {index * step}")
        name = part.name if is_one else text.as_vector(part)
        text.do(f"store {wide} {name}, ptr {place}, align 1")
    return room, is_one


@handles("TellBarrier")
def _tell_barrier(emitter: Emitter, node: Node) -> None:
    """Of a group: all lanes of a vector come to it together, or it has only one."""
    text, first = emitter.text, first_item(emitter)
    site, fences = (int(str(each)) for each in node.literals[:2])
    info = str(site | fences << FENCES_SHIFT)
    if node.operands:
        shifted = text.emit(f"shl i64 {_common_bits(emitter, node.operands[0])}, {FENCES_SHIFT}")
        info = text.emit(f"or i64 {shifted}, {site}")
    if node.literals[2] == "group":
        function = checker_function(emitter, "arrive")
        text.do(f"call void {function}(i64 {first}, i64 {emitter.width}, i64 {info})")
    else:
        function = checker_function(emitter, "subgroup_barrier")
        text.do(f"call void {function}(i64 {first}, i64 {info})")


def _common_bits(emitter: Emitter, node: Node) -> str:
    """The bits that a number has in all lanes."""
    text, value = emitter.text, emitter.scalar(node)
    name = value.name
    if emitter.width > 1 and value.stride != 0:
        wide = text.vector_type(value.type)
        name = text.call(
            value.type,
            f"llvm.vector.reduce.and.v{emitter.width}{value.type}",
            [(wide, text.as_vector(value))],
        )
    return emitter.widen_i64(node, name)
