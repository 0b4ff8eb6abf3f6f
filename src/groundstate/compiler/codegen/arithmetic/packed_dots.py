"""Dot products of numbers that are packed in words of 32 bits, added to a sum.

Machines have instructions for some kinds of numbers: for bytes of which one operand is unsigned and
the other signed (VNNI), for pairs of 16 bits, for pairs of bfloats. Bytes of two equal signs are
moved by 128, and the difference is taken back. Without an instruction for bytes, those at even and
those at odd places become numbers of 16 bits. Nothing saturates on the way, so integers are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from groundstate.compiler.codegen.arithmetic.bfloat import as_float
from groundstate.compiler.codegen.arithmetic.integers import Many
from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.text import Text
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Node
from groundstate.compiler.math.vec import Vec

FLIP = 0x80808080
"""Moves signed bytes to unsigned ones, and back."""


class Format(Enum):
    """What words hold: the first operand's numbers, and the second's."""

    S8S8 = (8, True, True)
    U8U8 = (8, False, False)
    S8U8 = (8, True, False)
    S16 = (16, True, True)


@handles("SDotAdd", "UDotAdd", "SUDotAdd", "ShortDotAdd")
def _dot_add(emitter: Emitter, node: Node) -> None:
    formats = {"SDotAdd": Format.S8S8, "UDotAdd": Format.U8U8, "SUDotAdd": Format.S8U8}
    a, b, total = (emitter.scalar(each) for each in node.operands)
    emitter.define(node, packed_dot(emitter, formats.get(node.op, Format.S16), a, b, total))


def packed_dot(
    emitter: Emitter, format_: Format, a: Lanes, b: Lanes, total: Lanes | None = None
) -> Lanes:
    """The sum of the products of two words, and of what there is already, modulo 2**32."""
    many = Many(emitter, [a, b, total or Lanes("i32", "0")])
    target = emitter.text.target
    if many.vector and format_ is not Format.S16 and _piece(emitter.width, target.byte_dots):
        odd = {Format.S8S8: a, Format.U8U8: b}.get(format_)
        flipped = _flipped(emitter, odd) if odd is not None else ""
        return many.result("i32", _byte_dot(emitter, many, format_, flipped))
    if many.vector and _piece(emitter.width, target.short_dots):
        return many.result("i32", _short_dot(emitter, many, format_))
    return many.result("i32", _plain_dot(many, format_))


def _piece(width: int, instructions: Mapping[int, str]) -> int:
    """The most lanes that one instruction takes; 0 if there is none."""
    return max((lanes for lanes in instructions if width % lanes == 0), default=0)


def _in_pieces(
    text: Text, width: int, lanes: int, operands: list[tuple[str, str]], write: Callable[..., str]
) -> str:
    """Writes something for the pieces of vectors, given by their element and name."""
    element = operands[0][0]
    if lanes == width:
        return write(*(name for _, name in operands))
    pieces = [text.split(kind, name, width, lanes) for kind, name in operands]
    return text.concatenate(element, [write(*each) for each in zip(*pieces, strict=True)], lanes)


def _flipped(emitter: Emitter, value: Lanes) -> str:
    """Bytes moved by 128, as a vector. What all lanes share is moved before it is one."""
    many = Many(emitter, [value])
    moved = many.text.emit(f"xor {many.types[0]} {many.names[0]}, {many.constant('i32', FLIP)}")
    return many.text.as_vector(many.result("i32", moved))


def _byte_dot(emitter: Emitter, many: Many, format_: Format, flipped: str) -> str:
    """By the instruction for unsigned and signed bytes."""
    text, width, target = many.text, emitter.width, emitter.text.target
    lanes = _piece(width, target.byte_dots)
    t, whole = f"<{lanes} x i32>", many.types[0]
    a, b, total = many.names
    flip = f"splat (i32 {FLIP})"

    def dot(start: str, unsigned: str, signed: str) -> str:
        operands = [("i32", start), ("i32", unsigned), ("i32", signed)]

        def one(*names: str) -> str:
            return text.call(t, target.byte_dots[lanes], [(t, name) for name in names])

        return _in_pieces(text, width, lanes, operands, one)

    if format_ is Format.S8U8:
        return dot(total, b, a)
    if format_ is Format.S8S8:
        sums, extra = dot(total, flipped, b), dot("zeroinitializer", flip, b)
    else:
        sums, extra = dot(total, a, flipped), dot("zeroinitializer", a, flip)
    return text.emit(f"sub {whole} {sums}, {extra}")


def _short_dot(emitter: Emitter, many: Many, format_: Format) -> str:
    """By the instruction that multiplies pairs of 16 bits and adds two products."""
    text, width, target = many.text, emitter.width, emitter.text.target
    lanes = _piece(width, target.short_dots)
    t, halves, whole = f"<{lanes} x i32>", f"<{2 * lanes} x i16>", many.types[0]
    bits, first_signed, second_signed = format_.value

    def multiply(left: str, right: str) -> str:
        def one(*names: str) -> str:
            pairs = [(halves, text.emit(f"bitcast {t} {name} to {halves}")) for name in names]
            return text.call(t, target.short_dots[lanes], pairs)

        return _in_pieces(text, width, lanes, [("i32", left), ("i32", right)], one)

    total = many.names[2]
    if bits == 16:
        return text.emit(f"add {whole} {total}, {multiply(many.names[0], many.names[1])}")
    lefts = _as_shorts(text, width, many.names[0], first_signed)
    rights = _as_shorts(text, width, many.names[1], second_signed)
    for left, right in zip(lefts, rights, strict=True):
        total = text.emit(f"add {whole} {total}, {multiply(left, right)}")
    return total


def _as_shorts(text: Text, width: int, name: str, signed: bool) -> tuple[str, str]:
    """The bytes at even and at odd places as numbers of 16 bits."""
    whole, halves = f"<{width} x i32>", f"<{2 * width} x i16>"
    both = text.emit(f"bitcast {whole} {name} to {halves}")
    kind, eight = "ashr" if signed else "lshr", "splat (i16 8)"
    moved = text.emit(f"shl {halves} {both}, {eight}")
    pair = [text.emit(f"{kind} {halves} {each}, {eight}") for each in (moved, both)]
    even, odd = (text.emit(f"bitcast {halves} {each} to {whole}") for each in pair)
    return even, odd


def _plain_dot(many: Many, format_: Format) -> str:
    """In numbers of 32 bits, for every machine."""
    text, t = many.text, many.types[0]
    bits, *signs = format_.value
    total = many.names[2]

    def number(name: str, place: int, signed: bool) -> str:
        up, down = many.constant("i32", 32 - bits * (place + 1)), many.constant("i32", 32 - bits)
        moved = text.emit(f"shl {t} {name}, {up}")
        return text.emit(f"{'ashr' if signed else 'lshr'} {t} {moved}, {down}")

    for place in range(32 // bits):
        left, right = (
            number(name, place, sign) for name, sign in zip(many.names, signs, strict=False)
        )
        product = text.emit(f"mul {t} {left}, {right}")
        total = text.emit(f"add {t} {total}, {product}")
    return total


# --- Pairs of bfloats -----------------------------------------------------------------------------


@handles("BFloatDotAdd")
def _bfloat_dot(emitter: Emitter, node: Node) -> None:
    """Rounded as the machine does it, and in any order."""
    text, width, target = emitter.text, emitter.width, emitter.text.target
    many = Many(emitter, [emitter.scalar(each) for each in node.operands])
    lanes = _piece(width, target.bfloat_dots) if many.vector else 0
    if lanes == 0:
        emitter.define(node, many.result("float", _plain_bfloat_dot(many)))
        return
    words, floats, halves = f"<{lanes} x i32>", f"<{lanes} x float>", f"<{2 * lanes} x bfloat>"

    def one(total: str, *pair: str) -> str:
        given = [(halves, text.emit(f"bitcast {words} {name} to {halves}")) for name in pair]
        return text.call(floats, target.bfloat_dots[lanes], [(floats, total), *given])

    a, b, total = many.names
    operands = [("float", total), ("i32", a), ("i32", b)]
    emitter.define(node, many.result("float", _in_pieces(text, width, lanes, operands, one)))


def _plain_bfloat_dot(many: Many) -> str:
    """Two fused multiplications and additions."""
    text, half = many.text, many.type_of("i16")
    total = Vec(text, many.types[2], many.names[2])
    for place in (0, 1):
        factors = []
        for name in many.names[:2]:
            moved = text.emit(f"lshr {many.types[0]} {name}, {many.constant('i32', 16 * place)}")
            lower = text.emit(f"trunc {many.types[0]} {moved} to {half}")
            factors.append(as_float(Vec(text, half, lower)))
        total = factors[0].fma(factors[1], total)
    return total.name
