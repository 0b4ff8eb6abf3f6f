"""Numbers of 16 bits that are the upper half of a float.

Machines compute with them as floats, and few convert them in one step. So they are integers of 16
bits wherever they lie, and conversions are written in integers.
"""

from __future__ import annotations

from groundstate.compiler.math.vec import Vec, element
from groundstate.compiler.spirv.types import Float, Type, Vector

NEAREST_EVEN, TOWARD_ZERO, TOWARD_POSITIVE, TOWARD_NEGATIVE = range(4)
"""FPRoundingMode."""


def is_bfloat(type_: Type) -> bool:
    """True for such a number, and a vector of them."""
    part = type_.element if isinstance(type_, Vector) else type_
    return isinstance(part, Float) and part.is_bfloat16


def as_float(halves: Vec) -> Vec:
    """The floats that such numbers are the upper halves of."""
    return (halves.zero_extend(32) << 16).as_float()


def upper_half(x: Vec, mode: int = NEAREST_EVEN) -> Vec:
    """The upper halves of floats of any kind, rounded."""
    if element(x.t) == "double":
        x = x.round_to_odd()
    x = x.to_float("float")
    bits = x.bits()
    if mode == NEAREST_EVEN:
        rounded = bits + 0x7FFF + ((bits >> 16) & 1)
    elif mode == TOWARD_ZERO:
        rounded = bits
    else:
        away = bits >= 0 if mode == TOWARD_POSITIVE else bits < 0
        rounded = away.choose(bits + 0xFFFF, bits)
    kept = x.is_nan().choose(bits | 0x400000, rounded) >> 16
    return kept.to_int(16)
