"""Which arguments accesses lead to, and which of them use only the element at the work-item's own
number: `a[get_global_id(0)]`, or a part of that element; or, in rows whose length is an argument,
`a[get_global_id(1) * width + get_global_id(0)]`.

If a kernel uses an argument in no other way, no two work-items of a launch along one axis meet
there, or along two, if rows are long enough. Whether it is one, and whether another argument leads
to the same memory, is found out at each launch (native/check/group_checks.c).
"""

from __future__ import annotations

from dataclasses import dataclass

from groundstate.compiler.instrument.accesses import Access, accesses
from groundstate.compiler.instrument.provenance import Provenance
from groundstate.compiler.ir import Kernel, Node, constant_int
from groundstate.compiler.ir.ops import Affine, operation
from groundstate.compiler.spirv.types import Vector

MOST_ARGUMENTS = 63
OTHERS = 1 << MOST_ARGUMENTS
"""The bit of pointers that come from elsewhere."""


class OwnElements:
    """What is known of a kernel's accesses."""

    def __init__(self, kernel: Kernel) -> None:
        self._provenance = Provenance(kernel)
        found: dict[Node, set[_Element | None]] = {}
        for node in kernel.nodes():
            for access in accesses(node):
                for root in self._provenance.roots(access.pointer):
                    found.setdefault(root, set()).add(self._element(access))
        self._elements = found
        """Of each root: the elements that are used; None: others than the work-item's own."""

    def arguments(self, pointer: Node) -> int:
        """A bit for each argument that a pointer may come from."""
        bits = 0
        for root in self._provenance.roots(pointer):
            number = int(str(root.literals[0])) if root.op == "Argument" else MOST_ARGUMENTS
            bits |= 1 << min(number, MOST_ARGUMENTS)
        return bits

    def is_own(self, access: Access) -> bool:
        """True if whatever leads to the same argument leads to the same element."""
        element = self._only_element(access)
        return element is not None and element.row is None

    def row(self, access: Access) -> int | None:
        """The argument that says how long rows are, if that is so in rows."""
        element = self._only_element(access)
        return element.row if element is not None else None

    def _only_element(self, access: Access) -> _Element | None:
        root = self._provenance.root(access.pointer)
        elements = self._elements.get(root, set()) if root is not None else set()
        return next(iter(elements)) if len(elements) == 1 else None

    def _element(self, access: Access) -> _Element | None:
        root = self._provenance.root(access.pointer)
        if root is None or access.index or access.count or access.is_block:
            return None
        terms = self._provenance.terms(access.pointer, lambda each: each is not root)
        if terms is None or len(terms.steps) != 1:
            return None
        index, size = terms.steps[0]
        distance, row = _distance(index), None
        if distance is None:
            distance, row = 0, _row(index)
        if size <= 0 or (_distance(index) is None and row is None):
            return None
        first = terms.fixed + distance * size
        if first % size + access.size > size:
            return None
        return _Element(first // size, size, row)


def own_texel(coordinate: Node) -> int:
    """Along how many axes a coordinate is the work-item's own number; 0 if it is something else."""
    if not isinstance(coordinate.type, Vector):
        return int(_is_number(coordinate, 0))
    parts: dict[object, Node] = {}
    whole = coordinate
    while whole.op == "CompositeInsert" and len(whole.literals) == 1:
        parts.setdefault(whole.literals[0], whole.operands[0])
        whole = whole.operands[1]
    if whole.op == "CompositeConstruct" and len(whole.operands) == coordinate.type.count:
        parts = dict(enumerate(whole.operands)) | parts
    axes = range(coordinate.type.count)
    is_own = all(axis in parts and _is_number(parts[axis], axis) for axis in axes)
    return len(axes) if is_own else 0


@dataclass(frozen=True, slots=True)
class _Element:
    """The element that an access leads to."""

    distance: int
    """From that at the work-item's number."""
    size: int
    row: int | None
    """The argument that says how long rows are, if there are any."""


def _row(index: Node) -> int | None:
    """The argument that an index multiplies the number along the second axis by, if it is the sum
    of that and of the number along the first."""
    index = _unconverted(index)
    if index.op != "IAdd" or index.type.size < 4:
        return None
    for product, number in (index.operands, index.operands[::-1]):
        if product.op != "IMul" or not _is_number(number, 0):
            continue
        for length, row in (product.operands, product.operands[::-1]):
            source = _unconverted(length)
            if _is_number(row, 1) and source.op == "Argument" and source.type.size >= 4:
                return int(str(source.literals[0]))
    return None


def _is_number(index: Node, axis: int) -> bool:
    index = _unconverted(index)
    return index.op == "Builtin" and index.literals == ("GlobalInvocationId", axis)


def _unconverted(index: Node) -> Node:
    """What an index was before it got another size, of at least 32 bits."""
    while True:
        if index.op in ("UConvert", "SConvert") and index.type.size >= 4:
            index = index.operands[0]
        elif _is_sign_extension(index):
            index = index.operands[0].operands[0]
        else:
            return index


def _is_sign_extension(index: Node) -> bool:
    if index.op != "ShiftRightArithmetic" or constant_int(index.operands[1]) != 32:
        return False
    shifted = index.operands[0]
    return shifted.op == "ShiftLeftLogical" and constant_int(shifted.operands[1]) == 32


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
