"""Numbers of 16 bits that are the upper half of a float.

Machines compute with them as floats, and few convert them in one step, so both ways are written in
integers.
"""

from __future__ import annotations

from groundstate.compiler.math.vec import Vec, element, like


def as_float(x: Vec) -> Vec:
    """The floats that bfloats are the upper halves of."""
    t = like(x.t, "i16")
    bits = Vec(x.text, t, x.text.emit(f"bitcast {x.t} {x.name} to {t}"))
    return (bits.zero_extend(32) << 16).as_float()


def upper_half(x: Vec) -> Vec:
    """The bits of bfloats nearest to floats, ties to even, as integers of 16 bits."""
    bits = x.bits()
    rounded = bits + 0x7FFF + ((bits >> 16) & 1)
    kept = x.is_nan().choose(bits | 0x400000, rounded) >> 16
    return kept.to_int(16)


def resize(x: Vec, kind: str) -> Vec:
    """Floats of any kind as floats of any other, to nearest even."""
    if element(x.t) == kind:
        return x
    if element(x.t) == "bfloat":
        return as_float(x).to_float(kind)
    if kind != "bfloat":
        return x.to_float(kind)
    single = x.round_to_odd() if element(x.t) == "double" else x.to_float("float")
    half = upper_half(single)
    t = like(x.t, "bfloat")
    return Vec(x.text, t, x.text.emit(f"bitcast {half.t} {half.name} to {t}"))
