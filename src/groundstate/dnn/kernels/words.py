"""Numbers of 8 and 16 bits packed in words, whose products a device adds up in one instruction.

The numbers of a word follow each other along an axis of the sum: four bytes, two integers of 16
bits, or two bfloats. The left operand is read a word at a time where it lies, if the numbers of
that axis are neighbours there; the right one lies in panels whose columns are words.

Instructions for bytes take one operand unsigned and one signed. Signed bytes on the left are moved
by 128 when they are copied; what that adds to a sum is 128 times the sum of the right operand's
column, which the product subtracts. A zero point of the left operand is subtracted in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from groundstate.dnn.attributes import Quantization
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.layout import parse
from groundstate.dnn.types import DataType

BYTES = frozenset({DataType.s8, DataType.u8})
TYPE = "typedef uint gs_word __attribute__((aligned(1)));\n"
"""A tensor of bytes may begin anywhere."""


ROUNDED = """\
static inline ushort gs_rounded_bf16(float x) {
    uint bits = as_uint(x), not_a_number = 0u - (uint)(x != x);
    uint rounded = bits + ((0x7fffu + ((bits >> 16) & 1u)) & ~not_a_number);
    return (ushort)((rounded | (not_a_number & 0x400000u)) >> 16);
}
#define gs_to_bf16 gs_rounded_bf16
"""
"""The conversion of the prelude without a branch, which takes as long as a short sum."""


@dataclass(frozen=True)
class Word:
    """What words hold, and how two of them are multiplied."""

    kind: str
    """What a device that has an instruction for it says (`Tile.dots`)."""
    count: int
    total: str
    """The type of sums."""
    left: str
    """The type of the left operand's numbers."""
    right: str
    dot: str
    """The sum after the products of `left` and `right` were added to `total`."""
    declaration: str = ""
    moved: int = 0
    """What is added to the left operand's numbers, so that they are unsigned."""
    is_compensated: bool = False
    """True if zero points of the left operand are subtracted from sums, and not before."""
    ones: str = "0x01010101u"
    """A word of ones."""
    tiles: str = ""
    """What a device with tile registers calls it; empty if they do not multiply it."""

    def packs(self, weights: Descriptor) -> bool:
        """True if weights lie in words as they are, without being converted."""
        return self.kind != "s16" and 0 not in weights.dims

    def packed(self, tensor: Descriptor, tag: str) -> Descriptor:
        """A tensor in a layout whose name has `{n}` where the numbers of a word are."""
        return tensor.in_layout(parse(tag.replace("{n}", str(self.count))))


UNSIGNED_LEFT = Word(
    "u8s8",
    4,
    "int",
    "uchar",
    "char",
    "{total} + dot_4x8packed_su_int({right}, {left})",
    is_compensated=True,
    tiles="u8s8",
)
MOVED_LEFT = replace(UNSIGNED_LEFT, moved=128, tiles="")
SIGNED = replace(
    UNSIGNED_LEFT,
    left="char",
    dot="{total} + dot_4x8packed_ss_int({left}, {right})",
    tiles="s8s8",
)
"""Tile registers need no unsigned operand."""
UNSIGNED_RIGHT = replace(
    UNSIGNED_LEFT,
    left="char",
    right="uchar",
    dot="{total} + dot_4x8packed_su_int({left}, {right})",
    tiles="s8u8",
)
SHORTS = Word(
    "s16",
    2,
    "int",
    "short",
    "short",
    "__groundstate_dot_s16({left}, {right}, {total})",
    "int __groundstate_dot_s16(uint, uint, int) __attribute__((const));\n",
)
BFLOATS = Word(
    "bf16",
    2,
    "float",
    "ushort",
    "ushort",
    "__groundstate_dot_bf16({left}, {right}, {total})",
    "float __groundstate_dot_bf16(uint, uint, float) __attribute__((const));\n" + ROUNDED,
    tiles="bf16",
)
TYPES = {"uchar": DataType.u8, "char": DataType.s8, "ushort": DataType.bf16}
"""Of a tensor whose numbers are used as they are."""

OF_BYTES = {
    (DataType.u8, DataType.s8): UNSIGNED_LEFT,
    (DataType.s8, DataType.s8): MOVED_LEFT,
    (DataType.s8, DataType.u8): UNSIGNED_RIGHT,
}


def chosen(
    dots: frozenset[str],
    left: Descriptor,
    right: Descriptor,
    zero_points: Mapping[str, Quantization | None] | None = None,
) -> Word | None:
    """The words for a product, if the device has an instruction for them.

    `zero_points` are those of the operands, by "left" and "right".
    """
    types = left.data_type, right.data_type
    shifts = zero_points or {}
    one, two = shifts.get("left"), shifts.get("right")
    if types == (DataType.bf16, DataType.bf16):
        return BFLOATS if "bf16" in dots else None
    if not BYTES.issuperset(types):
        return None
    word = OF_BYTES.get(types)
    if word is MOVED_LEFT and "tiles" in dots:
        word = SIGNED
    if word and word.kind in dots and two is None and (one is None or one.mask == 0):
        return word
    small = all(each is None or each.data_type in BYTES for each in (one, two))
    return SHORTS if "s16" in dots and small else None


def is_usable(word: Word, tensor: Descriptor, axis: int) -> bool:
    """True if a product can read the words of a tensor where they lie, along a dimension."""
    count = word.count
    if not tensor.is_plain or TYPES.get(word.left) != tensor.data_type or word.moved:
        return False
    others = (tensor.strides[dim] for dim in range(tensor.ndims) if dim != axis)
    whole = tensor.strides[axis] == 1 and tensor.dims[axis] % count == 0
    return whole and tensor.offset % count == 0 and all(step % count == 0 for step in others)


def in_words(word: Word, steps: Mapping[str, int], axis: str) -> dict[str, int]:
    """Steps in words; along the axis that they lie along, from one word to the next."""
    return {name: 1 if name == axis else step // word.count for name, step in steps.items()}
