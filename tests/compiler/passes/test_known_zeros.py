"""Bits of integers that are known to be 0."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.analysis.known_zeros import KnownZeros
from groundstate.compiler.ir.parser import parse_kernel

ITEMS, GROUPS = 48, 5

EXPRESSIONS = {
    "masked": "%2: u32 = BitwiseAnd %0, u32:21",
    "shifted": "%2: u32 = ShiftLeftLogical %0, u32:3",
    "shifted right": "%2: u32 = ShiftRightLogical %0, u32:2",
    "shifted with its sign": "%2: u32 = ShiftRightArithmetic %1, u32:2",
    "sum": "%3: u32 = ShiftLeftLogical %1, u32:8\n  %2: u32 = IAdd %0, %3",
    "sum that wraps": "%3: u32 = Not %0\n  %2: u32 = IAdd %3, u32:4294967290",
    "product": "%3: u32 = ShiftLeftLogical %0, u32:1\n  %2: u32 = IMul %3, u32:12",
    "joined": "%3: u32 = ShiftLeftLogical %0, u32:1\n  %2: u32 = BitwiseOr %3, u32:64",
    "exclusive": "%3: u32 = ShiftLeftLogical %0, u32:1\n  %2: u32 = BitwiseXor %3, u32:66",
    "cut": "%3: u16 = UConvert %0\n  %2: u32 = UConvert %3",
    "with a sign": "%3: u16 = UConvert %1\n  %4: u32 = SConvert %3\n  %2: u32 = IAdd %4, %4",
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_no_value_has_a_bit_that_is_known_to_be_zero(name: str) -> None:
    kernel = parse_kernel(f"""
kernel "k"
argument 0: global u32*
argument 1: u32
block 0:
  %5: u64 = Builtin ["LocalInvocationId", 0]
  %0: u32 = UConvert %5
  %1: u32 = BitwiseOr argument 1, u32:0
  {EXPRESSIONS[name]}
  Store argument 0, %2 [2, 4]
  return
""")
    stored = next(node for node in kernel.nodes() if node.op == "Store").operands[1]
    zeros = KnownZeros((ITEMS, 1, 1)).of(stored)
    assert zeros >> 32 == (1 << 32) - 1
    numbers = [0, 1, 5, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
    possible = 0
    with np.errstate(over="ignore"):
        for item in np.arange(ITEMS, dtype=np.uint32):
            for number in np.array(numbers, np.uint32):
                possible |= int(_value(name, item, number))
    assert possible & zeros == 0
    nothing_is_known = ("sum that wraps", "shifted with its sign", "with a sign")
    assert (zeros & 0xFFFFFFFF != 0) == (name not in nothing_is_known)


def _value(name: str, item: np.uint32, number: np.uint32) -> np.uint32:
    """What an expression of the table is for an item of the group and an argument."""
    three = np.uint32(3)
    doubled = item << np.uint32(1)
    results = {
        "masked": item & np.uint32(21),
        "shifted": item << three,
        "shifted right": item >> np.uint32(2),
        "shifted with its sign": (number.view(np.int32) >> np.int32(2)).view(np.uint32),
        "sum": item + (number << np.uint32(8)),
        "sum that wraps": ~item + np.uint32(4294967290),
        "product": doubled * np.uint32(12),
        "joined": doubled | np.uint32(64),
        "exclusive": doubled ^ np.uint32(66),
        "cut": item & np.uint32(0xFFFF),
        "with a sign": np.uint32(2) * _with_sign(number),
    }
    return results[name]


def _with_sign(number: np.uint32) -> np.uint32:
    low = int(number) & 0xFFFF
    return np.uint32((low - (low >> 15 << 16)) & 0xFFFFFFFF)
