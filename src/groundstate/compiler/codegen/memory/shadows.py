"""The shadow of memory in checked mode: which bits are uninitialised (check/uninitialised.h).

What lies at an address has its shadow at a fixed distance, if the address is one of the window that
has any; others lead to a place of zeros, or to one that nobody reads. So a shadow is loaded and
stored as the value is, for all lanes at once. Only where a bit is set, which is rare, is more done:
the checker looks whether the host has written there since, and whether the host reads what is
stored.
"""

from __future__ import annotations

from groundstate.compiler.analysis.divergence import lane_stride
from groundstate.compiler.codegen.control.speculation import MOSTLY
from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.function import components
from groundstate.compiler.codegen.memory.layout import load, store
from groundstate.compiler.codegen.reports import active_bits, lanes_of_bits, write_report
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.light_dataclass import replace
from groundstate.compiler.spirv.constants import null
from groundstate.compiler.spirv.types import Pointer, Type, Vector
from groundstate.native_layouts import ShadowChecks, offset_of

SHADOWS = frozenset(("ShadowLoad", "ShadowStore", "ShadowCopy", "InputsAreWritten"))
FARTHEST = 64 << 20
"""How far from the first the addresses of all lanes may lie for one look to be enough: so much can
be accessed around the shadow (native/check/uninitialised.c)."""
UNLESS_WRITTEN = 2
"""As instrument/uninitialised.py has it."""
LANES_SHIFT, SCATTERED, OF_ARGUMENT = 32, 1 << 40, 1 << 41
MEMSET = "llvm.memset.p0.i64"


def has_shadows(kernel: Kernel) -> bool:
    """True if a kernel asks for the shadow of memory."""
    return any(node.op in SHADOWS for node in kernel.nodes())


def _field(emitter: Emitter, name: str, type_: str = "i64") -> str:
    text, offset = emitter.text, offset_of(ShadowChecks, name)
    place = text.emit(f"getelementptr i8, ptr {emitter.context.shadow}, i64 {offset}")
    return text.emit(f"load {type_}, ptr {place}, align 8, !invariant.load !0")


def _translated(emitter: Emitter, node: Node, pointer: Lanes, otherwise: str) -> Lanes:
    """Where the shadow of an address lies."""
    text = emitter.text
    if str(node.literals[3]) == "local":
        return _local_place(emitter, pointer, otherwise)
    lower, size, distance = (_field(emitter, each) for each in ("lower", "size", "distance"))
    nowhere = _field(emitter, otherwise)

    def translate(name: str, splat: bool) -> str:
        number, address, truth = (
            (text.vector_type(each) if splat else each) for each in ("i64", "ptr", "i1")
        )
        given = [text.splat("i64", each) if splat else each for each in (lower, size, distance)]
        place = text.emit(f"ptrtoint {address} {name} to {number}")
        offset = text.emit(f"sub {number} {place}, {given[0]}")
        inside = text.emit(f"icmp ult {number} {offset}, {given[1]}")
        there = text.emit(f"add {number} {place}, {given[2]}")
        other = text.splat("i64", nowhere) if splat else nowhere
        chosen = text.emit(f"select {truth} {inside}, {number} {there}, {number} {other}")
        return text.emit(f"inttoptr {number} {chosen} to {address}")

    stride = pointer.stride
    if stride is not None and abs(stride) * emitter.width <= FARTHEST:
        return Lanes("ptr", translate(pointer.name, False), stride)
    speculation = pointer.speculation
    if speculation is not None and abs(speculation.stride) * emitter.width <= FARTHEST:
        first = translate(speculation.first, False)
        speculation = replace(speculation, first=first)
    else:
        speculation = None
    vector = translate(text.as_vector(pointer), emitter.width > 1)
    return Lanes("ptr", vector, None if emitter.width > 1 else 0, speculation)


def _local_place(emitter: Emitter, pointer: Lanes, otherwise: str) -> Lanes:
    """The same of an address in local memory, of which all has a shadow or nothing has: that is
    known before the first access."""
    text = emitter.text
    lower, size, distance = (_field(emitter, each) for each in ("lower", "size", "distance"))
    start = text.emit("ptrtoint ptr %local to i64")
    offset = text.emit(f"sub i64 {start}, {lower}")
    inside = text.emit(f"icmp ult i64 {offset}, {size}")
    elsewhere = text.emit(f"sub i64 {_field(emitter, otherwise)}, {start}")
    step = text.emit(f"select i1 {inside}, i64 {distance}, i64 {elsewhere}")
    kind = text.vector_type("ptr") if pointer.is_vector else "ptr"
    name = text.emit(f"getelementptr i8, {kind} {pointer.name}, i64 {step}")
    speculation = pointer.speculation
    if speculation is not None:
        first = text.emit(f"getelementptr i8, ptr {speculation.first}, i64 {step}")
        speculation = replace(speculation, first=first)
    return Lanes("ptr", name, pointer.stride, speculation)


# --- Loads ----------------------------------------------------------------------------------------


@handles("ShadowLoad")
def _shadow_load(emitter: Emitter, node: Node) -> None:
    """Loads a shadow; if a bit is set, notes who loaded it where. Of local memory no more can be
    found out than what the site says."""
    text = emitter.text
    site, size = (int(str(each)) for each in node.literals[:2])
    pointer = emitter.scalar(node.operands[0])
    align = _alignment(node)
    place = _translated(emitter, node, pointer, "zeros")
    value = load(emitter, place, node.type, align)
    if str(node.literals[3]) == "local":
        emitter.define(node, value)
        return
    rare, before, after = (text.label(stem) for stem in ("unknown", "shadow", "looked"))
    none = _is_none_set(emitter, value)
    text.do(f"br label %{before}")
    text.start(before)
    text.do(f"br i1 {none}, label %{after}, label %{rare}, !prof {MOSTLY}")
    text.start(rare)
    function = _field(emitter, "look_again", "ptr")
    text.do(f"call void {function}({_addresses(emitter, pointer, size)})")
    again = load(emitter, place, node.type, align)
    bits = _set_bits(emitter, again)
    write_report(emitter, site, bits, [pointer])
    last = text.label("noted")
    text.do(f"br label %{last}")
    text.start(last)
    text.do(f"br label %{after}")
    text.start(after)
    emitter.define(node, _joined(emitter, value, before, again, last))


def _alignment(node: Node) -> int:
    type_ = node.type if node.op == "ShadowLoad" else node.operands[1].type
    return max(1, min(int(str(node.literals[2])), _scalar_size(type_)))


def _scalar_size(type_: Type) -> int:
    if isinstance(type_, Vector):
        return type_.element.size
    parts = components(type_)
    return min(map(_scalar_size, parts), default=1) if parts is not None else type_.size


def _flat(value: Value) -> list[Lanes]:
    """The numbers that a value consists of."""
    if isinstance(value, Lanes):
        return [value]
    return [each for part in value for each in _flat(part)]


def _set_lanes(emitter: Emitter, value: Value) -> Lanes:
    """In which lanes any bit of a shadow is set; of one for all if it is the same in all."""
    text = emitter.text
    by_type: dict[tuple[str, bool], list[str]] = {}
    flat = _flat(value)
    is_vector = emitter.width > 1 and any(each.stride != 0 for each in flat)
    for each in flat:
        name = text.as_vector(each) if is_vector else each.name
        by_type.setdefault((each.type, is_vector), []).append(name)
    found = ""
    truth = text.vector_type("i1") if is_vector else "i1"
    for (type_, wide), names in by_type.items():
        t = text.vector_type(type_) if wide else type_
        joined = names[0]
        for name in names[1:]:
            joined = text.emit(f"or {t} {joined}, {name}")
        if type_ != "i1":
            zero = "zeroinitializer" if wide else "0"
            joined = text.emit(f"icmp ne {t} {joined}, {zero}")
        found = text.emit(f"or {truth} {found}, {joined}") if found else joined
    return Lanes("i1", found or "false", None if is_vector else 0)


def _is_none_set(emitter: Emitter, value: Value) -> str:
    """Whether no bit is set in any active lane."""
    text, lanes = emitter.text, _set_lanes(emitter, value)
    if lanes.stride == 0:
        return text.emit(f"xor i1 {lanes.name}, true")
    name = lanes.name
    if emitter.mask is not None:
        name = text.select(emitter.mask, "i1", name, text.splat("i1", "false"))
    return text.emit(f"xor i1 {text.any(name)}, true")


def _set_bits(emitter: Emitter, value: Value) -> str:
    """The same as bits of an i64."""
    lanes, text = _set_lanes(emitter, value), emitter.text
    if lanes.is_vector and emitter.mask is not None:
        name = text.select(emitter.mask, "i1", lanes.name, text.splat("i1", "false"))
        lanes = Lanes("i1", name, None)
    return active_bits(emitter, lanes)


def _addresses(emitter: Emitter, pointer: Lanes, size: int, flags: int = 0) -> str:
    """What a function of the checker is told of an access: a base and a stride, or where all
    addresses lie; the active lanes; the bytes, and how many lanes there are."""
    text = emitter.text
    info = size | emitter.width << LANES_SHIFT | flags
    base, stride = pointer.name, pointer.stride
    if stride is None:
        wide = text.vector_type("ptr")
        base = emitter.new_slot(wide, "w")
        text.do(f"store {wide} {pointer.name}, ptr {base}")
        stride, info = 0, info | SCATTERED
    number = text.emit(f"ptrtoint ptr {base} to i64")
    return f"i64 {number}, i64 {stride}, i64 {active_bits(emitter, None)}, i64 {info}"


def _joined(emitter: Emitter, one: Value, first: str, other: Value, second: str) -> Value:
    """The value of whichever way was taken; both have the same shape."""
    if one is other:
        return one
    if isinstance(one, list):
        assert isinstance(other, list)
        return [_joined(emitter, a, first, b, second) for a, b in zip(one, other, strict=True)]
    assert isinstance(other, Lanes)
    text = emitter.text
    is_vector = emitter.width > 1 and one.stride is None
    t = text.vector_type(one.type) if is_vector else one.type
    name = text.emit(f"phi {t} [ {one.name}, %{first} ], [ {other.name}, %{second} ]")
    return Lanes(one.type, name, None if is_vector else 0)


# --- Stores ---------------------------------------------------------------------------------------


@handles("ShadowStore")
def _shadow_store(emitter: Emitter, node: Node) -> None:
    """Stores a shadow; none to memory that the host reads, where it is reported instead."""
    text = emitter.text
    space, is_possible = str(node.literals[3]), bool(node.literals[5])
    pointer, value = emitter.scalar(node.operands[0]), emitter.get(node.operands[1])
    type_ = node.operands[1].type
    if is_possible and space != "local":
        is_one = pointer.stride == 0 and all(each.stride == 0 for each in _flat(value))
        value = _as_lanes(emitter, value, is_one)
        rare, before, after = (text.label(stem) for stem in ("poison", "shadow", "looked"))
        none = _is_none_set(emitter, value)
        text.do(f"br label %{before}")
        text.start(before)
        text.do(f"br i1 {none}, label %{after}, label %{rare}, !prof {MOSTLY}")
        text.start(rare)
        kept = _kept(emitter, node, pointer, value)
        last = text.label("noted")
        text.do(f"br label %{last}")
        text.start(last)
        text.do(f"br label %{after}")
        text.start(after)
        value = _joined(emitter, value, before, kept, last)
    if int(str(node.literals[4])) == UNLESS_WRITTEN and not is_possible:
        _store_unless_written(emitter, node, pointer, value)
        return
    place = _translated(emitter, node, pointer, "unread")
    store(emitter, place, type_, value, _alignment(node))


def _store_unless_written(emitter: Emitter, node: Node, pointer: Lanes, value: Value) -> None:
    text = emitter.text
    written = _field(emitter, "outputs_are_written")
    skips = text.emit(f"icmp ne i64 {written}, 0")
    note, after = text.label("note"), text.label("noted")
    text.do(f"br i1 {skips}, label %{after}, label %{note}, !prof {MOSTLY}")
    text.start(note)
    place = _translated(emitter, node, pointer, "unread")
    store(emitter, place, node.operands[1].type, value, _alignment(node))
    text.do(f"br label %{after}")
    text.start(after)


@handles("InputsAreWritten")
def _inputs_are_written(emitter: Emitter, node: Node) -> None:
    name = emitter.text.emit(f"icmp ne i64 {_field(emitter, 'inputs_are_written')}, 0")
    emitter.define(node, Lanes("i1", name))


def _as_lanes(emitter: Emitter, value: Value, is_one: bool) -> Value:
    if isinstance(value, list):
        return [_as_lanes(emitter, each, is_one) for each in value]
    if is_one or emitter.width == 1:
        return Lanes(value.type, value.name)
    return Lanes(value.type, emitter.text.as_vector(value), None)


def _kept(emitter: Emitter, node: Node, pointer: Lanes, value: Value) -> Value:
    """What of a shadow is stored. The rest is reported; so is what goes to memory that the host may
    copy later."""
    text = emitter.text
    site, size, mode = (int(str(node.literals[each])) for each in (0, 1, 4))
    flags = OF_ARGUMENT if str(node.literals[3]) == "argument" else 0
    function = _field(emitter, "is_read_by_host", "ptr")
    read = text.emit(f"call i64 {function}({_addresses(emitter, pointer, size, flags)})")
    cleared = lanes_of_bits(emitter, read)
    if site >= 0:
        bad = _set_bits(emitter, value) if mode else _whole_bits(emitter, value)
        write_report(emitter, site, bad, [pointer, Lanes("i1", cleared, None)])
    one = text.emit(f"icmp ne i64 {read}, 0")
    return _cleared(emitter, value, cleared, one)


def _whole_bits(emitter: Emitter, value: Value) -> str:
    """The lanes in which all bits of all numbers are set."""
    text, found = emitter.text, ""
    flat = _flat(value)
    is_vector = emitter.width > 1 and any(each.stride is None for each in flat)
    truth = text.vector_type("i1") if is_vector else "i1"
    for each in flat:
        t = text.vector_type(each.type) if is_vector else each.type
        full = text.splat(each.type, "-1") if is_vector else "-1"
        whole = each.name
        if each.type != "i1":
            whole = text.emit(f"icmp eq {t} {each.name}, {full}")
        found = text.emit(f"and {truth} {found}, {whole}") if found else whole
    return active_bits(emitter, Lanes("i1", found or "false", None if is_vector else 0))


def _cleared(emitter: Emitter, value: Value, lanes: str, one: str) -> Value:
    if isinstance(value, list):
        return [_cleared(emitter, each, lanes, one) for each in value]
    text = emitter.text
    if value.is_vector:
        zero = text.splat(value.type, "false" if value.type == "i1" else "0")
        return Lanes(value.type, text.select(lanes, value.type, zero, value.name), None)
    zero = "false" if value.type == "i1" else "0"
    name = text.emit(f"select i1 {one}, {value.type} {zero}, {value.type} {value.name}")
    return Lanes(value.type, name)


@handles("Unwritten")
def _unwritten(emitter: Emitter, node: Node) -> None:
    """Zero, which is as good as anything."""
    zero = Node("Constant", node.type, literals=(null(node.type), 0))
    emitter.define(node, emitter.get(zero))


# --- Copies, and private variables ----------------------------------------------------------------


@handles("ShadowCopy")
def _shadow_copy(emitter: Emitter, node: Node) -> None:
    """Copies the shadow of memory, lane by lane unless all would copy the same."""
    text = emitter.text
    operands = [emitter.scalar(each) for each in node.operands]
    function = _field(emitter, "copy", "ptr")

    def call(lane: int) -> None:
        names = [text.lane(each, lane) for each in operands]
        passed = ", ".join(
            f"{each.type} {name}" for each, name in zip(operands, names, strict=True)
        )
        text.do(f"call void {function}({passed})")

    emitter.each_lane(call, once=all(each.stride == 0 for each in operands))


@handles("LifetimeBegins")
def _lifetime_begins(emitter: Emitter, node: Node) -> None:
    """Clears the copies of a private variable of all lanes."""
    variable, text = emitter.scalar(node.operands[0]), emitter.text
    kind = node.operands[0].type
    assert isinstance(kind, Pointer)
    size = lane_stride(kind.pointee)
    total = size if variable.stride == 0 else size * emitter.width
    text.declarations.setdefault(MEMSET, f"declare void @{MEMSET}(ptr, i8, i64, i1 immarg)")
    text.do(f"call void @{MEMSET}(ptr align 1 {variable.name}, i8 0, i64 {total}, i1 false)")
