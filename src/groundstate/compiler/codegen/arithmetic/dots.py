"""Integer dot products of vectors, in numbers wide enough for any of them."""

from __future__ import annotations

from groundstate.compiler.codegen.arithmetic.integers import Many, resized
from groundstate.compiler.codegen.arithmetic.packed_dots import Format, packed_dot
from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.text import overloaded
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.spirv.types import Int

WIDE = "i64"
FORMATS = {"SDot": Format.S8S8, "UDot": Format.U8U8, "SUDot": Format.S8U8}
"""What is packed, by the name of the instruction."""


@handles("SDot", "UDot", "SUDot")
def _dot(emitter: Emitter, node: Node) -> None:
    parts = [emitter.get(each) for each in node.operands]
    if node.type == Int(32, False) and all(isinstance(each, Lanes) for each in parts):
        words = [each for each in parts if isinstance(each, Lanes)]
        emitter.define(node, packed_dot(emitter, FORMATS[node.op], *words))
        return
    emitter.define(node, resized(emitter, _total(emitter, node), scalar_type(node.type)))


@handles("SDotAccSat", "UDotAccSat", "SUDotAccSat")
def _accumulated(emitter: Emitter, node: Node) -> None:
    signed, scalar = node.op[0] == "S", scalar_type(node.type)
    accumulator = _widened(emitter, emitter.scalar(node.operands[2]), signed)
    total = _add_saturated(emitter, _total(emitter, node), accumulator, signed)
    total = _saturated(emitter, total, scalar, signed)
    emitter.define(node, resized(emitter, total, scalar))


def _total(emitter: Emitter, node: Node) -> Lanes:
    """The sum of all products, without limits."""
    first_signed, second_signed = node.op[0] == "S", node.op.startswith("SDot")
    left = _bytes_of(emitter, node.operands[0])
    right = _bytes_of(emitter, node.operands[1])
    total: Lanes | None = None
    for a, b in zip(left, right, strict=True):
        product = _wide_product(emitter, a, b, first_signed, second_signed)
        total = product if total is None else _add(emitter, total, product)
    assert total is not None
    return total


def _bytes_of(emitter: Emitter, node: Node) -> list[Lanes]:
    """The components of a vector, or the four bytes of a packed integer."""
    value = emitter.get(node)
    if isinstance(value, list):
        return [each for each in value if isinstance(each, Lanes)]
    many = Many(emitter, [value])
    parts = []
    for index in range(4):
        shift = many.constant("i32", 8 * index)
        moved = many.text.emit(f"lshr {many.types[0]} {many.names[0]}, {shift}")
        small = many.text.emit(f"trunc {many.types[0]} {moved} to {many.type_of('i8')}")
        parts.append(many.result("i8", small))
    return parts


def _widened(emitter: Emitter, value: Lanes, signed: bool) -> Lanes:
    if value.type == WIDE:
        return value
    many = Many(emitter, [value])
    kind = "sext" if signed else "zext"
    name = many.text.emit(f"{kind} {many.types[0]} {many.names[0]} to {many.type_of(WIDE)}")
    return many.result(WIDE, name)


def _wide_product(emitter: Emitter, a: Lanes, b: Lanes, a_signed: bool, b_signed: bool) -> Lanes:
    many = Many(emitter, [_widened(emitter, a, a_signed), _widened(emitter, b, b_signed)])
    product = many.text.emit(f"mul {many.type_of(WIDE)} {many.names[0]}, {many.names[1]}")
    return many.result(WIDE, product)


def _add(emitter: Emitter, left: Lanes, right: Lanes) -> Lanes:
    many = Many(emitter, [left, right])
    t = many.type_of(left.type)
    return many.result(left.type, many.text.emit(f"add {t} {many.names[0]}, {many.names[1]}"))


def _add_saturated(emitter: Emitter, left: Lanes, right: Lanes, signed: bool) -> Lanes:
    many = Many(emitter, [left, right])
    t = many.type_of(left.type)
    function = f"llvm.{'s' if signed else 'u'}add.sat.{overloaded(t)}"
    name = many.text.call(t, function, [(t, many.names[0]), (t, many.names[1])])
    return many.result(left.type, name)


def _saturated(emitter: Emitter, value: Lanes, scalar: str, signed: bool) -> Lanes:
    width = int(scalar[1:])
    if width >= int(value.type[1:]):
        return value
    many = Many(emitter, [value])
    t, text = many.types[0], many.text
    low = -(1 << (width - 1)) if signed else 0
    high = (1 << (width - 1 if signed else width)) - 1
    name = text.call(
        t, f"llvm.smin.{overloaded(t)}", [(t, many.names[0]), (t, many.constant(value.type, high))]
    )
    name = text.call(
        t, f"llvm.smax.{overloaded(t)}", [(t, name), (t, many.constant(value.type, low))]
    )
    return many.result(value.type, name)
