"""Which arguments accesses lead to, and which of them use only the element at the work-item's own
number: `a[get_global_id(0)]`, or a part of that element.

If a kernel uses an argument in no other way, no two work-items of a launch along one axis meet
there. Whether it is one, and whether another argument leads to the same memory, is found out at
each launch (native/check/group_checks.c).
"""

from __future__ import annotations

from groundstate.compiler.instrument.accesses import Access, accesses
from groundstate.compiler.instrument.provenance import Provenance
from groundstate.compiler.ir import Kernel, Node, constant_int
from groundstate.compiler.ir.ops import Affine, operation

MOST_ARGUMENTS = 63
OTHERS = 1 << MOST_ARGUMENTS
"""The bit of pointers that come from elsewhere."""


class OwnElements:
    """What is known of a kernel's accesses."""

    def __init__(self, kernel: Kernel) -> None:
        self._provenance = Provenance(kernel)
        found: dict[Node, set[tuple[int, int] | None]] = {}
        for node in kernel.nodes():
            for access in accesses(node):
                for root in self._provenance.roots(access.pointer):
                    found.setdefault(root, set()).add(self._element(access))
        self._elements = found
        """Of each root: the elements that are used, by their distance from that at the work-item's
        number and their size; None: others."""

    def arguments(self, pointer: Node) -> int:
        """A bit for each argument that a pointer may come from."""
        bits = 0
        for root in self._provenance.roots(pointer):
            number = int(str(root.literals[0])) if root.op == "Argument" else MOST_ARGUMENTS
            bits |= 1 << min(number, MOST_ARGUMENTS)
        return bits

    def is_own(self, access: Access) -> bool:
        """True if whatever leads to the same argument leads to the same element."""
        root = self._provenance.root(access.pointer)
        elements = self._elements.get(root, set()) if root is not None else set()
        return len(elements) == 1 and None not in elements

    def _element(self, access: Access) -> tuple[int, int] | None:
        root = self._provenance.root(access.pointer)
        if root is None or access.index or access.count or access.is_block:
            return None
        terms = self._provenance.terms(access.pointer, lambda each: each is not root)
        if terms is None or len(terms.steps) != 1:
            return None
        index, size = terms.steps[0]
        distance = _distance(index)
        if distance is None or size <= 0:
            return None
        first = terms.fixed + distance * size
        if first % size + access.size > size:
            return None
        return first // size, size


def _distance(index: Node) -> int | None:
    """How far behind the work-item's number along the first axis an index is, if it is that, or the
    lower 32 bits of it."""
    distance = 0
    for _ in range(8):
        number = constant_int(index.operands[1]) if len(index.operands) == 2 else None
        if index.op == "Builtin":
            return distance if index.literals == ("GlobalInvocationId", 0) else None
        if index.op in ("UConvert", "SConvert"):
            if distance != 0 or index.type.size < 4:
                return None
        elif index.op == "ShiftRightArithmetic" and number == 32:
            shifted = index.operands[0]
            if shifted.op != "ShiftLeftLogical" or constant_int(shifted.operands[1]) != 32:
                return None
            index = shifted
        elif operation(index).affine is Affine.SUM and number is not None:
            distance += number
        else:
            return None
        index = index.operands[0]
    return None
