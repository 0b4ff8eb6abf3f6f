"""Integer instructions that give two results, or act on fields of bits."""

from __future__ import annotations

from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.text import overloaded
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.addresses import array_step
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.spirv.types import Int, Pointer, Struct, Type, Vector


class Many:
    """Operands of one component as LLVM values: scalars, or vectors of lanes if any of them
    varies."""

    def __init__(self, emitter: Emitter, parts: list[Lanes]) -> None:
        self.text = emitter.text
        self.vector = emitter.width > 1 and any(part.stride != 0 for part in parts)
        self.names = [self.text.as_vector(part) if self.vector else part.name for part in parts]
        self.types = [self.type_of(part.type) for part in parts]

    def type_of(self, scalar: str) -> str:
        return self.text.vector_type(scalar) if self.vector else scalar

    def constant(self, scalar: str, number: int) -> str:
        return f"splat ({scalar} {number})" if self.vector else str(number)

    def result(self, scalar: str, name: str) -> Lanes:
        return Lanes(scalar, name, None if self.vector else 0)


def _each_component(
    emitter: Emitter, node: Node, type_: Type, write: object
) -> tuple[Value, Value]:
    """Two results for each component."""
    operands = [emitter.get(each) for each in node.operands]
    firsts: list[Value] = []
    seconds: list[Value] = []
    count = type_.count if isinstance(type_, Vector) else 1
    for index in range(count):
        parts = [each[index] if isinstance(each, list) else each for each in operands]
        first, second = write(parts)  # type: ignore[operator]
        firsts.append(first)
        seconds.append(second)
    if isinstance(type_, Vector):
        return firsts, seconds
    return firsts[0], seconds[0]


@handles("IAddCarry", "ISubBorrow", "UMulExtended", "SMulExtended")
def _two_results(emitter: Emitter, node: Node) -> None:
    assert isinstance(node.type, Struct)

    def one(parts: list[Lanes]) -> tuple[Lanes, Lanes]:
        many = Many(emitter, parts)
        scalar, t = parts[0].type, many.types[0]
        if node.op in ("UMulExtended", "SMulExtended"):
            return _product(many, scalar, t, "zext" if node.op[0] == "U" else "sext")
        kind = "add" if node.op == "IAddCarry" else "sub"
        total = many.text.emit(f"{kind} {t} {many.names[0]}, {many.names[1]}")
        left, right = (total, many.names[0]) if kind == "add" else (many.names[0], many.names[1])
        over = many.text.emit(f"icmp ult {t} {left}, {right}")
        carry = many.text.emit(f"zext {many.type_of('i1')} {over} to {t}")
        return many.result(scalar, total), many.result(scalar, carry)

    first, second = _each_component(emitter, node, node.type.members[0], one)
    emitter.define(node, [first, second])


def _product(many: Many, scalar: str, t: str, extend: str) -> tuple[Lanes, Lanes]:
    width = int(scalar[1:])
    wide = many.type_of(f"i{2 * width}")
    left, right = (many.text.emit(f"{extend} {t} {each} to {wide}") for each in many.names)
    product = many.text.emit(f"mul {wide} {left}, {right}")
    low = many.text.emit(f"trunc {wide} {product} to {t}")
    shifted = many.text.emit(f"lshr {wide} {product}, {many.constant(f'i{2 * width}', width)}")
    high = many.text.emit(f"trunc {wide} {shifted} to {t}")
    return many.result(scalar, low), many.result(scalar, high)


@handles("BitFieldInsert", "BitFieldSExtract", "BitFieldUExtract")
def _bit_field(emitter: Emitter, node: Node) -> None:
    operands = [emitter.get(each) for each in node.operands]

    def one(type_: Type, parts: list[Lanes]) -> Lanes:
        many = Many(emitter, parts)
        text, scalar = many.text, scalar_type(type_)
        t, width = many.type_of(scalar), int(scalar[1:])
        offset, count = (_resized(many, index, t, width) for index in (-2, -1))
        full = many.constant(scalar, width)
        if node.op != "BitFieldInsert":
            rest = text.emit(f"sub {t} {full}, {count}")
            up = text.emit(f"sub {t} {rest}, {offset}")
            empty = text.emit(f"icmp eq {t} {count}, {many.constant(scalar, 0)}")
            moved = text.emit(f"shl {t} {many.names[0]}, {up}")
            kind = "ashr" if node.op == "BitFieldSExtract" else "lshr"
            field = text.emit(f"{kind} {t} {moved}, {rest}")
            zero = many.constant(scalar, 0)
            name = text.emit(f"select {many.type_of('i1')} {empty}, {t} {zero}, {t} {field}")
            return many.result(scalar, name)
        rest = text.emit(f"sub {t} {full}, {count}")
        ones = text.emit(f"lshr {t} {many.constant(scalar, -1)}, {rest}")
        empty = text.emit(f"icmp eq {t} {count}, {many.constant(scalar, 0)}")
        zero = many.constant(scalar, 0)
        ones = text.emit(f"select {many.type_of('i1')} {empty}, {t} {zero}, {t} {ones}")
        mask = text.emit(f"shl {t} {ones}, {offset}")
        new = text.emit(f"and {t} {text.emit(f'shl {t} {many.names[1]}, {offset}')}, {mask}")
        keep = text.emit(f"xor {t} {mask}, {many.constant(scalar, -1)}")
        old = text.emit(f"and {t} {many.names[0]}, {keep}")
        return many.result(scalar, text.emit(f"or {t} {old}, {new}"))

    value = emitter.map_components(node.type, operands, one)
    assert value is not None
    emitter.define(node, value)


def _resized(many: Many, index: int, t: str, width: int) -> str:
    """An offset or count in the width of the value."""
    name, type_ = many.names[index], many.types[index]
    bits = int(type_.strip("<>").split("i")[-1])
    if bits == width:
        return name
    return many.text.emit(f"{'trunc' if bits > width else 'zext'} {type_} {name} to {t}")


# --- Addresses as numbers -----------------------------------------------------------------------


def resized(emitter: Emitter, value: Lanes, scalar: str) -> Lanes:
    """A signed number in another width."""
    if value.type == scalar:
        return value
    many = Many(emitter, [value])
    kind = "trunc" if int(scalar[1:]) < int(value.type[1:]) else "sext"
    name = many.text.emit(f"{kind} {many.types[0]} {many.names[0]} to {many.type_of(scalar)}")
    return many.result(scalar, name)


@handles("PtrDiff")
def _difference(emitter: Emitter, node: Node) -> None:
    """The number of elements between two addresses."""
    pointer = node.operands[0].type
    assert isinstance(pointer, Pointer)
    assert pointer.pointee is not None
    many = Many(emitter, [emitter.scalar(each) for each in node.operands])
    wide, text = many.type_of("i64"), many.text
    first, second = (
        text.emit(f"ptrtoint {many.type_of('ptr')} {each} to {wide}") for each in many.names
    )
    distance = text.emit(f"sub {wide} {first}, {second}")
    size = many.constant("i64", array_step(pointer.pointee))
    count = many.result("i64", text.emit(f"sdiv {wide} {distance}, {size}"))
    emitter.define(node, resized(emitter, count, scalar_type(node.type)))


@handles("FMod")
def _float_modulo(emitter: Emitter, node: Node) -> None:
    """The remainder with the sign of the divisor."""
    operands = [emitter.get(each) for each in node.operands]

    def one(type_: Type, parts: list[Lanes]) -> Lanes:
        many = Many(emitter, parts)
        text, t = many.text, many.types[0]
        bits = many.type_of(f"i{8 * type_.size}")
        rest = emitter.operate("FRem", t, t, many.names)
        assert rest is not None
        signs = [text.emit(f"bitcast {t} {each} to {bits}") for each in (rest, many.names[1])]
        differ = text.emit(f"xor {bits} {signs[0]}, {signs[1]}")
        opposite = text.emit(f"icmp slt {bits} {differ}, {many.constant(f'i{8 * type_.size}', 0)}")
        zero = "zeroinitializer" if many.vector else "0.0"
        some = text.emit(f"fcmp une {t} {rest}, {zero}")
        truth = many.type_of("i1")
        fix = text.emit(f"and {truth} {opposite}, {some}")
        moved = text.emit(f"fadd {t} {rest}, {many.names[1]}")
        name = text.emit(f"select {truth} {fix}, {t} {moved}, {t} {rest}")
        signed = f"llvm.copysign.{overloaded(t)}"
        return many.result(
            scalar_type(type_), text.call(t, signed, [(t, name), (t, many.names[1])])
        )

    value = emitter.map_components(node.type, operands, one)
    assert value is not None
    emitter.define(node, value)


@handles("SizeOf")
def _size_of(emitter: Emitter, node: Node) -> None:
    pointer = node.operands[0].type
    assert isinstance(pointer, Pointer)
    assert pointer.pointee is not None
    assert isinstance(node.type, Int)
    emitter.define(node, Lanes(f"i{node.type.width}", str(pointer.pointee.size)))


# --- Any function of three bits -------------------------------------------------------------------


@handles("BitwiseFunctionINTEL")
def _bitwise_function(emitter: Emitter, node: Node) -> None:
    """For each bit of the operands, the bit of a table at the place that they spell: a is its
    lowest digit, c its highest."""
    table = constant_int(node.operands[3])
    assert table is not None
    operands = [emitter.get(each) for each in node.operands[:3]]

    def one(type_: Type, parts: list[Lanes]) -> Lanes:
        many = Many(emitter, parts)
        text, t, scalar = many.text, many.types[0], scalar_type(type_)
        ones = many.constant(scalar, -1)
        inverse = [text.emit(f"xor {t} {each}, {ones}") for each in many.names]
        total = many.constant(scalar, 0)
        for place in range(8):
            if table >> place & 1:
                a, b, c = (
                    (many.names if place >> digit & 1 else inverse)[digit] for digit in range(3)
                )
                both = text.emit(f"and {t} {a}, {b}")
                all_ = text.emit(f"and {t} {both}, {c}")
                total = text.emit(f"or {t} {total}, {all_}")
        return many.result(scalar, total)

    value = emitter.map_components(node.type, operands, one)
    assert value is not None
    emitter.define(node, value)


@handles("ReadClockKHR")
def _read_clock(emitter: Emitter, node: Node) -> None:
    """A counter that only goes up, as one number or as its two halves."""
    text = emitter.text
    clock = text.call("i64", "llvm.readcyclecounter", [])
    if not isinstance(node.type, Vector):
        emitter.define(node, Lanes("i64", clock))
        return
    high = text.emit(f"lshr i64 {clock}, 32")
    halves: list[Value] = [
        Lanes("i32", text.emit(f"trunc i64 {each} to i32")) for each in (clock, high)
    ]
    emitter.define(node, halves)
