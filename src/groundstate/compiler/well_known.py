"""Functions that compilers call by name, and that no module defines: the device knows them.

They stay behind where a compiler has no instruction of SPIR-V for something: intrinsics of LLVM
(`llvm.usub.sat.i32`), casts to an address space, conversions of SYCL's bfloat16. A call to one
becomes a single node.
"""

from __future__ import annotations

import re
from functools import cache

from groundstate.compiler.record import record
from groundstate.compiler.spirv.types import Float, Int, Type

STORAGE_CASTS = {"__to_local": 4, "__to_global": 5, "__to_private": 7}
"""With the storage class that a pointer is cast to."""

BEHIND_POINTERS: dict[str, tuple[str, Type]] = {
    "__devicelib_ConvertBF16ToFINTEL": ("ConvertBF16ToFINTEL", Int(16, False)),
    "__devicelib_ConvertFToBF16INTEL": ("ConvertFToBF16INTEL", Float(32)),
}
"""Functions that take the address of their operand, with their instruction and its operand."""

ELEMENTWISE = frozenset(
    f"llvm.{name}"
    for name in (
        *("uadd.sat", "sadd.sat", "usub.sat", "ssub.sat", "ushl.sat", "sshl.sat"),
        *("umin", "umax", "smin", "smax", "fshl", "fshr", "ctpop", "bswap", "bitreverse"),
        *("fabs", "copysign", "sqrt", "fma", "fmuladd", "canonicalize"),
        *("floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven"),
        *("minnum", "maxnum", "minimum", "maximum"),
    )
)
"""Intrinsics that do the same with each lane of vectors, and mean the same to every LLVM."""

FLAGGED = frozenset(("llvm.abs", "llvm.ctlz", "llvm.cttz"))
"""Intrinsics whose last operand allows them to be undefined, which they need not be."""

CLASSIFY = "llvm.is.fpclass"
"""Its last operand is the set of classes that are asked for."""

OVERLOADED = re.compile(r"(llvm\.[a-z.]+)\.(?:v\d+)?(?:i|f|bf)\d+")


@record()
class WellKnown:
    """The node that a call becomes."""

    op: str
    literals: tuple[object, ...] = ()
    behind_pointer: Type | None = None
    """The operand, if the argument points to it."""


@cache
def well_known(name: str) -> WellKnown | None:
    """What a function does that the device knows by its name."""
    if name in STORAGE_CASTS:
        return WellKnown("GenericCastToPtrExplicit", (STORAGE_CASTS[name],))
    if name in BEHIND_POINTERS:
        op, operand = BEHIND_POINTERS[name]
        return WellKnown(op, behind_pointer=operand)
    found = OVERLOADED.fullmatch(name)
    if found is not None and (found[1] in ELEMENTWISE or found[1] in FLAGGED):
        return WellKnown(found[1])
    return WellKnown(CLASSIFY) if found is not None and found[1] == CLASSIFY else None
