"""Inline assembly of Intel's GPUs that is a load, a store or a fence.

Libraries write such accesses by hand to say how they use the caches of a GPU. What is left of one
without these hints is an access by each work-item; it is volatile, as assembly is.
"""

from __future__ import annotations

import re

from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.spirv.types import Int, Pointer, Type, Vector, Void

NUMBERS = r"d(?P<bits>32|64)(?:x(?P<count>[248]))?"
ACCESS = r"lsc_{}\.ugm(?:\.\w+)* \(M1, \d+\) "
FENCE = re.compile(r"lsc_fence\.ugm(?:\.\w+)*")
KINDS = {
    "Load": re.compile(ACCESS.format("load") + rf"\$0:{NUMBERS} flat\[\$1\]:a64"),
    "Store": re.compile(ACCESS.format("store") + rf"flat\[\$0\]:a64 \$1:{NUMBERS}"),
}


@light_dataclass()
class Assembly:
    """What a piece of assembly does."""

    op: str
    """Load, Store or MemoryBarrier."""
    element: Type | None = None
    """What is loaded or stored; the address comes first."""

    def fits(self, result: Type, operands: list[Type | None]) -> bool:
        """Whether a call has such a result and such operands, as far as they are known yet."""
        if self.element is None:
            return isinstance(result, Void) and not operands
        if not operands or not isinstance(operands[0], Pointer):
            return False
        if self.op == "Load":
            return result == self.element and len(operands) == 1
        return isinstance(result, Void) and operands[1:] in ([self.element], [None])


def assembly_of(text: str) -> Assembly | None:
    """What a piece of assembly does, if it is one of those."""
    line = " ".join(text.split())
    if FENCE.fullmatch(line):
        return Assembly("MemoryBarrier")
    for op, pattern in KINDS.items():
        found = pattern.fullmatch(line)
        if found is not None:
            element: Type = Int(int(found["bits"]), False)
            count = found["count"]
            return Assembly(op, Vector(element, int(count)) if count else element)
    return None
