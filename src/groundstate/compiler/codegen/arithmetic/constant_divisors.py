"""Division of 64-bit numbers by a constant, in vectors: a multiplication by its reciprocal.

LLVM does so for words. For numbers of 64 bits there is no instruction that gives the upper half of
a product, so it takes each out of its vector and puts the quotient back. Four products of words and
a few sums are that half, for all lanes at once.

The quotient of x by d is the upper half of x * m, shifted by s, where m is 2 to the power of 64 + s
over d, rounded up. That is exact for all x of n bits if m * d is larger than that power by no more
than 2 to the power of 64 + s - n. Where m would have 65 bits, and d no factor 2 to take out before,
its highest bit is added by hand.

A rest gets a mask that changes nothing, but tells LLVM how large it is at most: what is computed
from it may then take fewer products of words.
"""

from __future__ import annotations

from typing import NamedTuple

from groundstate.compiler.codegen.values import Lanes, LaneText

BITS = 64
WORD_BITS = 32
LOW_WORD = (1 << WORD_BITS) - 1
UNSIGNED, SIGNED = ("UDiv", "UMod"), ("SDiv", "SRem")


class Reciprocal(NamedTuple):
    """What a division by a constant becomes."""

    before: int
    """How far the dividend is shifted first."""
    factor: int
    """Its lower 64 bits."""
    has_65_bits: bool
    after: int
    """How far the upper half of the product is shifted."""


def divides_by_constant(text: LaneText, op: str, operands: list[Lanes]) -> bool:
    """True for a division of numbers of 64 bits by one that LLVM would do lane by lane."""
    if op not in UNSIGNED + SIGNED or operands[0].type != "i64" or operands[1].stride != 0:
        return False
    divisor = _constant(operands[1])
    if divisor is None or not text.target.multiplies_words:
        return False
    size = _size(divisor, op)
    return size & (size - 1) != 0


def divide_by_constant(text: LaneText, op: str, operands: list[Lanes]) -> str:
    """The vector of quotients, or of rests."""
    wide = text.vector_type("i64")
    given = text.emit(f"freeze {wide} {text.as_vector(operands[0])}")
    divisor = _constant(operands[1])
    assert divisor is not None
    by = reciprocal(_size(divisor, op))
    if op in SIGNED:
        negative = text.emit(f"ashr {wide} {given}, {text.splat('i64', str(BITS - 1))}")
        size = text.call(wide, f"llvm.abs.v{text.width}i64", [(wide, given), ("i1", "false")])
        quotient = _quotient(text, size, by)
        if divisor < 0:
            negative = text.emit(f"xor {wide} {negative}, {text.splat('i64', '-1')}")
        changed = text.emit(f"xor {wide} {quotient}, {negative}")
        quotient = text.emit(f"sub {wide} {changed}, {negative}")
    else:
        quotient = _quotient(text, given, by)
    if op in ("UDiv", "SDiv"):
        return quotient
    whole = text.emit(f"mul {wide} {quotient}, {text.splat('i64', operands[1].name)}")
    rest = text.emit(f"sub {wide} {given}, {whole}")
    if op in SIGNED:
        return rest
    most = (1 << (_size(divisor, op) - 1).bit_length()) - 1
    return text.emit(f"and {wide} {rest}, {text.splat('i64', str(most))}")


def _constant(operand: Lanes) -> int | None:
    """A divisor with its sign, if it is a constant."""
    if not operand.name.removeprefix("-").isdecimal():
        return None
    half = 1 << (BITS - 1)
    return (int(operand.name) + half) % (2 * half) - half


def _size(divisor: int, op: str) -> int:
    """A divisor without its sign."""
    return abs(divisor) if op in SIGNED else divisor % (1 << BITS)


def reciprocal(divisor: int) -> Reciprocal:
    """The factor for a divisor that is no power of two."""
    zeros = (divisor & -divisor).bit_length() - 1
    for before in sorted({0, zeros}):
        for after in range(BITS):
            power, part = 1 << (BITS + after), divisor >> before
            factor = -(-power // part)
            if factor >> BITS:
                break
            if factor * part - power <= 1 << (after + before):
                return Reciprocal(before, factor, False, after)
    after = divisor.bit_length()
    factor = -(-(1 << (BITS + after)) // divisor)
    return Reciprocal(0, factor % (1 << BITS), True, after)


def _quotient(text: LaneText, number: str, by: Reciprocal) -> str:
    """The quotient of numbers without a sign."""
    if by.before:
        number = _shifted(text, number, by.before)
    high = _upper_half(text, number, by.factor)
    if not by.has_65_bits:
        return _shifted(text, high, by.after)
    wide = text.vector_type("i64")  # number + high may not fit: half of their difference is added
    rest = text.emit(f"sub {wide} {number}, {high}")
    sum_ = text.emit(f"add {wide} {_shifted(text, rest, 1)}, {high}")
    return _shifted(text, sum_, by.after - 1)


def _upper_half(text: LaneText, number: str, factor: int) -> str:
    """The upper 64 bits of a product of 64-bit numbers, by products of words."""
    wide, mask = text.vector_type("i64"), text.splat("i64", str(LOW_WORD))
    words = text.emit(f"and {wide} {number}, {mask}"), _shifted(text, number, WORD_BITS)
    low, high = (text.splat("i64", str(each)) for each in (factor & LOW_WORD, factor >> WORD_BITS))

    def product(word: str, part: str) -> str:
        return text.emit(f"mul {wide} {word}, {part}")

    carried = _shifted(text, product(words[0], low), WORD_BITS)
    middle = text.emit(f"add {wide} {product(words[1], low)}, {carried}")
    lower = text.emit(f"and {wide} {middle}, {mask}")
    other = text.emit(f"add {wide} {product(words[0], high)}, {lower}")
    upper = text.emit(f"add {wide} {product(words[1], high)}, {_shifted(text, middle, WORD_BITS)}")
    return text.emit(f"add {wide} {upper}, {_shifted(text, other, WORD_BITS)}")


def _shifted(text: LaneText, number: str, amount: int) -> str:
    if amount == 0:
        return number
    return text.emit(f"lshr {text.vector_type('i64')} {number}, {text.splat('i64', str(amount))}")
