"""Atomic instructions, in PTX: LLVM drops the order and the scope of `atomicrmw` on this target,
and begins its loops of compare-and-exchange with a load that is not atomic.

A sequentially consistent operation is a fence of that order, and behind it one that acquires.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from groundstate.compiler.codegen.arithmetic.bfloat import as_float, is_bfloat, upper_half
from groundstate.compiler.codegen.groups.operations import combine
from groundstate.compiler.codegen.memory.atomics import READ_MODIFY_WRITE
from groundstate.compiler.codegen.memory.ordering import ordering
from groundstate.compiler.codegen.thread import private_atomics
from groundstate.compiler.codegen.thread.emitter import ThreadEmitter, writes
from groundstate.compiler.codegen.thread.ordering import WORDS, fence, scope_of, space_of
from groundstate.compiler.codegen.thread.private_atomics import is_private
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.math.vec import Vec
from groundstate.compiler.spirv.types import Type

KINDS = {"add": "add", "xchg": "exch", "and": "and", "or": "or", "xor": "xor"}
KINDS |= {"min": "min", "max": "max", "umin": "min", "umax": "max", "fadd": "add"}
"""LLVM's name for an operation, and that of PTX."""
COMBINED = {"fadd": "FAdd", "fmin": "FMin", "fmax": "FMax", "add": "IAdd", "and": "And", "or": "Or"}
COMBINED |= {"xor": "Xor", "min": "SMin", "max": "SMax", "umin": "UMin", "umax": "UMax"}
"""By which operation of groups two values are put together, in loops of compare-and-exchange."""
REGISTERS = {16: "h", 32: "r", 64: "l"}
"""The constraint of an operand of so many bits; 8 are passed in 32."""
FLOATS = {"half": 16, "float": 32, "double": 64}
BFLOAT_ADD_SINCE = 90
TOGETHER = """
{{
.reg .b32 %all, %below, %count;
.reg .pred %same, %first;
activemask.b32 %all;
match.all.sync.b64 %count|%same, $A, %all;
popc.b32 %count, %all;
selp.b32 %count, %count, 1, %same;
mov.u32 %below, %lanemask_lt;
and.b32 %below, %below, %all;
setp.eq.or.u32 %first, %below, 0, !%same;
mul.lo.s32 %count, %count, $X0;
@%first red.relaxed.{scope}.global.add.s32 [$A], %count;
}}
""".replace("\n", "\\0A\\09")
"""Adds a constant: where the lanes that run at once have the same place, the first does it for all,
because the memory would do one after the other."""


def _bits(type_: str) -> int:
    return FLOATS.get(type_) or (64 if type_ == "ptr" else int(type_[1:]))


@dataclass(frozen=True)
class Place:
    """Where an atomic operation happens, and how it is seen."""

    emitter: ThreadEmitter
    address: str
    """Typed, as LLVM wants it."""
    space: str
    scope: str
    order: str

    @staticmethod
    def of(emitter: ThreadEmitter, node: Node, order: str) -> Place:
        """What the operands of an atomic instruction say."""
        pointer = node.operands[0]
        number, space = space_of(pointer.type)
        found = emitter.scalar(pointer)
        if number:
            address = f"ptr addrspace({number}) {emitter.own_address(found, number)}"
        else:
            address = f"ptr {found.name}"
        return Place(emitter, address, space, scope_of(node.operands[1]), order)

    def word(self, sequential: str) -> str:
        """The order in PTX's words; before one that is sequentially consistent comes a fence."""
        if self.order != "seq_cst":
            return WORDS[self.order]
        fence(self.emitter, self.order, self.scope)
        return sequential

    def run(self, code: str, result: str, operands: list[tuple[str, str]]) -> str:
        """Writes an instruction at the place: `$A` is the address."""
        bits = 32 if result == "void" else max(16, _bits(result))
        names = [f"${index + (result != 'void')}" for index in range(len(operands) + 1)]
        code = code.replace("$A", names[0])
        for index, name in enumerate(names[1:]):
            code = code.replace(f"$X{index}", name)
        constraints = [] if result == "void" else [f"={REGISTERS[bits]}"]
        constraints += ["l", *(REGISTERS[max(16, _bits(type_))] for type_, _ in operands)]
        constraints.append("~{memory}")
        typed = [tuple(self.address.rsplit(" ", 1)), *operands]
        return self.emitter.assembly(
            result,
            code.replace("$R", "$0"),
            ",".join(constraints),
            typed,  # type: ignore[arg-type]
        )

    def load(self, type_: str, word: str) -> str:
        bits = _bits(type_)
        if bits == 8:
            wide = self.run(f"ld.{word}.{self.scope}{self.space}.b8 $R, [$A];", "i16", [])
            return self.emitter.text.emit(f"trunc i16 {wide} to i8")
        return self.run(f"ld.{word}.{self.scope}{self.space}.b{bits} $R, [$A];", f"i{bits}", [])

    def exchange(self, type_: str, word: str, comparator: str, value: str) -> str:
        """Compare and exchange; what was found."""
        bits = _bits(type_)
        return self.run(
            f"atom.{word}.{self.scope}{self.space}.cas.b{bits} $R, [$A], $X0, $X1;",
            f"i{bits}",
            [(f"i{bits}", comparator), (f"i{bits}", value)],
        )


def _as_bits(emitter: ThreadEmitter, value: Lanes) -> str:
    if value.type in FLOATS:
        return emitter.text.emit(f"bitcast {value.type} {value.name} to i{FLOATS[value.type]}")
    if value.type == "ptr":
        return emitter.text.emit(f"ptrtoint ptr {value.name} to i64")
    return value.name


def _from_bits(emitter: ThreadEmitter, type_: str, bits: str) -> str:
    if type_ in FLOATS:
        return emitter.text.emit(f"bitcast i{FLOATS[type_]} {bits} to {type_}")
    if type_ == "ptr":
        return emitter.text.emit(f"inttoptr i64 {bits} to ptr")
    return bits


@writes(*READ_MODIFY_WRITE)
def _read_modify_write(emitter: ThreadEmitter, node: Node) -> None:
    text, type_ = emitter.text, scalar_type(node.type)
    kind = READ_MODIFY_WRITE[node.op]
    value = emitter.scalar(node.operands[3]) if len(node.operands) > 3 else Lanes(type_, "1")
    if kind == "sub":
        kind, value = "add", Lanes(type_, text.emit(f"sub {type_} 0, {value.name}"))
    if is_private(node) and not is_bfloat(node.type):
        emitter.define(node, private_atomics.change(emitter, node, COMBINED.get(kind, ""), value))
        return
    place = Place.of(emitter, node, ordering(node, 2))
    if _counts(emitter, node, kind, place, value):
        place.run(TOGETHER.format(scope=place.scope), "void", [("i32", value.name)])
        return
    suffix = _suffix(emitter, kind, node.type)
    if suffix is None:
        emitter.define(node, Lanes(type_, _in_loop(place, kind, node.type, value)))
        return
    word, bits = place.word("acquire"), f"i{_bits(type_)}"
    found = place.run(
        f"atom.{word}.{place.scope}{place.space}.{KINDS[kind]}{suffix} $R, [$A], $X0;",
        bits,
        [(bits, _as_bits(emitter, value))],
    )
    emitter.define(node, Lanes(type_, _from_bits(emitter, type_, found)))


def _counts(emitter: ThreadEmitter, node: Node, kind: str, place: Place, value: Lanes) -> bool:
    """Whether an operation only adds a constant to something: nobody asks what was there."""
    context = emitter.context
    if context.unused is None:
        used = {*emitter.kernel.users(), *(block.condition for block in emitter.kernel.blocks)}
        context.unused = {each for each in emitter.kernel.nodes() if each not in used}
    is_plain = kind == "add" and value.type == "i32" and value.name.lstrip("-").isdigit()
    is_far = place.space == ".global" and place.order == "monotonic"
    return is_plain and is_far and node in context.unused


def _suffix(emitter: ThreadEmitter, kind: str, type_: Type) -> str | None:
    """The type of an instruction that does the operation; None if there is none."""
    bits = _bits(scalar_type(type_))
    if kind == "fadd":
        if is_bfloat(type_):
            is_new = emitter.context.target.compute_capability >= BFLOAT_ADD_SINCE
            return ".noftz.bf16" if is_new else None
        return ".noftz.f16" if bits == 16 else f".f{bits}"
    if kind in ("fmin", "fmax") or bits not in (32, 64):
        return None
    if kind in ("xchg", "and", "or", "xor"):
        return f".b{bits}"
    return f".s{bits}" if kind in ("min", "max") or (kind == "add" and bits == 32) else f".u{bits}"


def _in_loop(place: Place, kind: str, type_: Type, value: Lanes) -> str:
    """An operation that has no instruction: exchanged until nobody came in between."""
    emitter, scalar = place.emitter, value.type
    text, bits = emitter.text, _bits(value.type)
    if bits not in (16, 32, 64):
        raise BuildError(f"atomic operations on {bits} bits are not supported")

    def combined(before: str) -> str:
        if kind == "xchg":
            return _as_bits(emitter, value)
        if is_bfloat(type_):
            parts = [as_float(Vec(text, "i16", each)).name for each in (before, value.name)]
            both = combine(COMBINED[kind], "float", parts[0], parts[1], emitter)
            return upper_half(Vec(text, "float", both)).name
        old = _from_bits(emitter, scalar, before)
        both = combine(COMBINED[kind], scalar, old, value.name, emitter)
        return _as_bits(emitter, Lanes(scalar, both))

    return _from_bits(emitter, scalar, _exchanged(place, bits, combined))


def _exchanged(place: Place, bits: int, combined: Callable[[str], str]) -> str:
    emitter, text = place.emitter, place.emitter.text
    word = place.word("acquire")
    seen = emitter.new_slot(f"i{bits}", "x")
    text.do(f"store i{bits} {place.load(f'i{bits}', 'relaxed')}, ptr {seen}")
    head, after = text.label("exchange"), text.label("exchanged")
    text.do(f"br label %{head}")
    text.start(head)
    before = text.emit(f"load i{bits}, ptr {seen}")
    found = place.exchange(f"i{bits}", word, before, combined(before))
    text.do(f"store i{bits} {found}, ptr {seen}")
    same = text.emit(f"icmp eq i{bits} {found}, {before}")
    text.do(f"br i1 {same}, label %{after}, label %{head}")
    text.start(after)
    return before


@writes("AtomicCompareExchange", "AtomicCompareExchangeWeak")
def _compare_exchange(emitter: ThreadEmitter, node: Node) -> None:
    """PTX has one order for both outcomes: the stronger of the two."""
    type_ = scalar_type(node.type)
    value, comparator = emitter.scalar(node.operands[4]), emitter.scalar(node.operands[5])
    if is_private(node):
        emitter.define(node, private_atomics.exchange(emitter, node, comparator, value))
        return
    orders = {ordering(node, 2), ordering(node, 3, stores=False)}
    place = Place.of(emitter, node, _stronger(orders))
    word = place.word("acquire")
    given = [_as_bits(emitter, each) for each in (comparator, value)]
    found = place.exchange(type_, word, given[0], given[1])
    emitter.define(node, Lanes(type_, _from_bits(emitter, type_, found)))


def _stronger(orders: set[str]) -> str:
    for each in ("seq_cst", "acq_rel"):
        if each in orders:
            return each
    if orders >= {"acquire", "release"}:
        return "acq_rel"
    return next((each for each in ("acquire", "release") if each in orders), "monotonic")


@writes("AtomicLoad")
def _load(emitter: ThreadEmitter, node: Node) -> None:
    type_ = scalar_type(node.type)
    if is_private(node):
        emitter.define(node, private_atomics.load(emitter, node, type_))
        return
    place = Place.of(emitter, node, ordering(node, 2, stores=False))
    found = place.load(type_, place.word("acquire"))
    emitter.define(node, Lanes(type_, _from_bits(emitter, type_, found)))


@writes("AtomicStore")
def _store(emitter: ThreadEmitter, node: Node) -> None:
    value = emitter.scalar(node.operands[3])
    if is_private(node):
        private_atomics.store(emitter, node, value)
        return
    place = Place.of(emitter, node, ordering(node, 2, loads=False))
    _put(place, f"i{_bits(value.type)}", _as_bits(emitter, value))


def _put(place: Place, type_: str, value: str) -> None:
    word, bits = place.word("relaxed"), _bits(type_)
    if bits == 8:
        type_, value = "i16", place.emitter.text.emit(f"zext i8 {value} to i16")
    place.run(f"st.{word}.{place.scope}{place.space}.b{bits} [$A], $X0;", "void", [(type_, value)])


@writes("AtomicFlagTestAndSet")
def _test_and_set(emitter: ThreadEmitter, node: Node) -> None:
    if is_private(node):
        before = private_atomics.change(emitter, node, "", Lanes("i32", "1")).name
        emitter.define(node, Lanes("i1", emitter.text.emit(f"icmp ne i32 {before}, 0")))
        return
    place = Place.of(emitter, node, ordering(node, 2))
    word = place.word("acquire")
    code = f"atom.{word}.{place.scope}{place.space}.exch.b32 $R, [$A], $X0;"
    found = place.run(code, "i32", [("i32", "1")])
    emitter.define(node, Lanes("i1", emitter.text.emit(f"icmp ne i32 {found}, 0")))


@writes("AtomicFlagClear")
def _clear(emitter: ThreadEmitter, node: Node) -> None:
    if is_private(node):
        private_atomics.store(emitter, node, Lanes("i32", "0"))
        return
    _put(Place.of(emitter, node, ordering(node, 2, loads=False)), "i32", "0")
