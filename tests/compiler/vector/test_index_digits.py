"""Sums of digits of a number: what they say is true of every number."""

from __future__ import annotations

import pytest

from groundstate.compiler.analysis.index_digits import (
    ITEM,
    MOST_ITEMS,
    Digit,
    Digits,
    IndexDigits,
    Part,
)
from groundstate.compiler.ir.parser import parse_kernel

SAMPLE = [*range(3000), *range(54321, MOST_ITEMS, 7654321), MOST_ITEMS - 1]


def value(digits: Digits, number: int) -> int:
    return digits.constant + sum(factor * of(term, number) for term, factor in digits.terms)


def of(term: Digit | Part, number: int) -> int:
    if isinstance(term, Digit):
        return number // term.place % (term.extent or MOST_ITEMS)
    inner = value(term.of, number)
    return inner // term.by if term.op == "UDiv" else inner % term.by


def one(place: int, extent: int, factor: int = 1) -> Digits:
    return Digits(((Digit(place, extent), factor),))


@pytest.mark.parametrize("divisors", [(300,), (128, 4), (16, 28), (12, 7, 5), (1000, 1)])
def test_quotients_and_rests_are_right(divisors: tuple[int, ...]) -> None:
    rest = high = ITEM
    for divisor in divisors:
        parts = high.divided(divisor)
        assert parts is not None
        high, rest = parts
        whole = high.times(divisor).plus(rest)
        for number in SAMPLE:
            assert value(whole, number) == value(high, number) * divisor + value(rest, number)
            assert 0 <= value(rest, number) < divisor


def test_parts_fit_together_again() -> None:
    group, local = one(128, 0), one(1, 128)
    assert group.times(128).plus(local) == ITEM
    low = group.times(128).low_bits(9)
    assert low == one(128, 4, 128)
    assert low.plus(local) == one(1, 512)


def test_what_is_subtracted_is_gone() -> None:
    assert ITEM.plus(one(1, 300).times(-1)) == one(300, 0, 300)
    assert ITEM.plus(one(384, 0, -384)) == one(1, 384)


@pytest.mark.parametrize(("digits", "divisor"), [(one(1, 100), 30), (one(1, 0, 3), 7)])
def test_digits_that_do_not_fit_have_quotients_and_rests(digits: Digits, divisor: int) -> None:
    parts = digits.times(1).plus(Digits((), 5)).divided(divisor)
    assert parts is not None
    for number in SAMPLE:
        expected = divmod(value(digits, number) + 5, divisor)
        assert tuple(value(each, number) for each in parts) == expected


def test_large_and_negative_numbers_are_not_divided() -> None:
    assert one(1, 0, 7).divided(3) is None
    assert one(1, 100, -1).divided(30) is None
    assert ITEM.divided(0) is None


FIRST = Digit(35, 32)


def numbered(number: int) -> int:
    """What a number is when that digit comes first."""
    block, inside = divmod(number, FIRST.place * FIRST.extent)
    high, low = divmod(inside, FIRST.place)
    return block * FIRST.place * FIRST.extent + low * FIRST.extent + high


def sums_of_channels() -> list[Digits]:
    twice = ITEM.times(2)
    quotient, rest = twice.divided(7) or (ITEM, ITEM)
    (_, row) = quotient.divided(10) or (ITEM, ITEM)
    return [ITEM, one(1, 35), one(1, 5), one(5, 7), one(35, 32, 9), one(35, 8), rest, row]


@pytest.mark.parametrize("digits", sums_of_channels())
def test_digit_comes_first(digits: Digits) -> None:
    moved = digits.with_first(FIRST)
    assert moved is not None
    for number in SAMPLE:
        assert value(moved, numbered(number)) == value(digits, number)


@pytest.mark.parametrize("digits", [one(1, 10), one(7, 4), one(70, 4), one(35, 48), one(560, 4)])
def test_digits_that_go_over_ends_have_no_other_order(digits: Digits) -> None:
    assert digits.with_first(FIRST) is None


KERNEL = """
kernel "k"
block 0:
  %0: u64 = Builtin ["WorkgroupId", 0]
  %1: u32 = UConvert %0
  %2: u64 = Builtin ["LocalInvocationId", 0]
  %3: u32 = UConvert %2
  %4: u32 = ShiftLeftLogical %1, u32:14
  %5: u32 = BitwiseAnd %4, u32:49152
  %6: u32 = ShiftLeftLogical %3, u32:7
  %7: u32 = IAdd %5, %6
  %8: u64 = SConvert %7
  %9: u32 = ShiftLeftLogical %1, u32:3
  %10: u32 = ShiftRightLogical %3, u32:4
  %11: u32 = IAdd %10, %9
  %12: u32 = UMod %11, u32:28
  %13: u32 = BitwiseAnd %6, u32:4294966272
  %14: u64 = UConvert %4
  %15: u64 = Builtin ["LocalInvocationId", 1]
  %16: u32 = IMul %1, %3
  %17: u32 = BitwiseAnd %3, u32:5
  return
"""


def test_indices_of_a_kernel_are_known() -> None:
    kernel = parse_kernel(KERNEL)
    digits = IndexDigits(kernel, 128)
    known = {node.index: digits.of(node) for node in kernel.nodes()}
    assert known[8] == one(1, 512, 128)
    assert known[11] == one(16, 0)
    assert known[12] == one(16, 28)
    assert known[13] == one(8, 16, 1024)
    assert known[15] == Digits(())
    assert [known[each] for each in (14, 16, 17)] == [None] * 3
