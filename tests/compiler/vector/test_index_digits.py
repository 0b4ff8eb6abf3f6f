"""Sums of digits of a number: what they say is true of every number."""

from __future__ import annotations

import pytest

from groundstate.compiler.analysis.index_digits import (
    ITEM,
    MOST_ITEMS,
    Digit,
    Digits,
    IndexDigits,
)
from groundstate.compiler.ir.parser import parse_kernel

SAMPLE = [*range(3000), *range(54321, MOST_ITEMS, 7654321), MOST_ITEMS - 1]


def value(digits: Digits, number: int) -> int:
    terms = (
        factor * (number // each.place % (each.extent or MOST_ITEMS))
        for each, factor in digits.terms
    )
    return digits.constant + sum(terms)


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


def test_digits_that_do_not_fit_are_not_divided() -> None:
    assert one(1, 100).divided(30) is None
    assert one(1, 0, 3).divided(7) is None
    assert ITEM.divided(0) is None
    assert ITEM.times(2).divided(4) is None, "it may wrap"
    assert ITEM.plus(Digits((), -1)).divided(4) is None, "it may be negative"


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
