"""Values that most likely go up by a fixed step from lane to lane, but for borders.

A 32-bit sum that is widened to an address goes up with the lanes, except where it passes 2^32. A
column that is clamped to an image goes up with the lanes, except at its borders; so does one that
starts over by a remainder or a choice. All lanes have the same row of an image, a quotient, except
where a row ends between them. An index times an element stride that the program was given goes up
with the lanes if the stride is 1, as it mostly is in affine algebra.

An id that is exclusive-ored with a number, as in sorting networks and Fourier transforms, names the
work-item with which one exchanges something. The lanes of a vector exchange with those of another
one, or with each other: their partners go up by one, but for their order.
"""

from __future__ import annotations

from collections.abc import Iterable

from groundstate.compiler.analysis.affine import widened
from groundstate.compiler.analysis.divergence import VARYING, Divergence
from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.ops import Affine, operation
from groundstate.compiler.spirv.instructions import opencl_rows
from groundstate.compiler.spirv.types import Bool, Int, Pointer

BOUNDS = {
    "s_min": ("sle",),
    "u_min": ("ule",),
    "s_max": ("sge",),
    "u_max": ("uge",),
    "s_clamp": ("sge", "sle"),
    "u_clamp": ("uge", "ule"),
}
"""Functions that give back a number if it compares with the other operands in such ways."""
REMAINDERS = frozenset(("UMod", "SRem", "SMod"))
MOST_CONDITIONS = 3
"""That are put together to one."""
ACCESSES = frozenset(("Load", "Store"))
LEAST_BITS = 32
"""Of a number that may be an id."""


def speculated_nodes(
    kernel: Kernel, divergence: Divergence, takes_products: bool = True
) -> dict[Node, int]:
    """Numbers and addresses that most likely go up by a fixed step from lane to lane, and the step.

    Only those that addresses of memory are computed from are worth a look. The element stride of
    a product may as well be the length of a row, so not all who ask take products."""
    strides: dict[Node, int] = {}
    if divergence.width == 1:
        return strides
    needed: set[Node] = set()
    nodes = [node for node in kernel.nodes() if node.op != "Phi" and node.block is not None]
    for node in nodes:
        if node.op in ACCESSES:
            needed.add(node)
        elif not takes_products and is_product(node):
            continue
        elif divergence.stride(node) is VARYING and isinstance(node.type, Int | Pointer):
            stride = _speculated_stride(node, divergence, strides)
            if stride is not None:
                strides[node] = stride
    for node in reversed(nodes):
        if node in needed:
            is_access = node.op in ACCESSES
            operands = node.operands[:1] if is_access else node.operands
            needed.update(each for each in operands if strides.get(each, 0) or not is_access)
    return {node: stride for node, stride in strides.items() if node in needed}


def exchanges(node: Node) -> bool:
    """True for a number that may name another work-item: one's own with some bits inverted."""
    return node.op == "BitwiseXor" and isinstance(node.type, Int) and node.type.width >= LEAST_BITS


def exchanged_nodes(speculated: Iterable[Node]) -> set[Node]:
    """Of speculated nodes, in their order, those that follow from such numbers."""
    found: set[Node] = set()
    for node in speculated:
        if exchanges(node) or not found.isdisjoint(node.operands):
            found.add(node)
    return found


def _speculated_stride(node: Node, divergence: Divergence, known: dict[Node, int]) -> int | None:
    """By how much a number goes up from lane to lane, if all goes well."""
    block = node.block
    assert block is not None
    strides = [
        VARYING if divergence.escapes(each, block) else known.get(each, divergence.stride(each))
        for each in node.operands
    ]
    number = widened(node)
    if number is not None:
        return strides[node.operands.index(number)]
    if is_product(node):
        return next(filter(None, strides), None) if 0 in strides else None
    if exchanges(node):
        return 1 if 1 in strides and 0 in strides else None
    if operation(node).affine is Affine.SAME:
        return strides[0] if isinstance(node.operands[0].type, Int | Pointer) else None
    if operation(node).affine is Affine.SELECT:
        chosen = _only_step(strides[1:])
        return chosen if _compares_indices(node.operands[0], divergence, known) else None
    limits = bounds(node)
    if len(limits) == 1:
        return _only_step(strides) if 0 in strides else None
    is_quotient = operation(node).affine is Affine.QUOTIENT and operation(node).divides
    if limits or node.op in REMAINDERS or is_quotient:
        agrees = strides[0] is not VARYING and strides[1:] == [0] * len(strides[1:])
        return (0 if is_quotient else strides[0]) if agrees else None
    speculates = any(each in known for each in node.operands)
    return divergence.stride_of(node, strides) if speculates else None


def _only_step(strides: list[int | None]) -> int | None:
    """The step of those that move, if there is but one; 0 if none moves."""
    moving = {each for each in strides if each != 0}
    return moving.pop() if len(moving) == 1 else None if moving else 0


def _compares_indices(
    condition: Node, divergence: Divergence, known: dict[Node, int], depth: int = MOST_CONDITIONS
) -> bool:
    """True if lanes most likely agree on a condition: it is about numbers that go up with them."""
    if all(isinstance(each.type, Bool) for each in condition.operands):
        operands = condition.operands if depth and condition.op != "Phi" else ()
        return bool(operands) and all(
            _compares_indices(each, divergence, known, depth - 1) for each in operands
        )
    return all(
        isinstance(each.type, Int) and (each in known or divergence.stride(each) is not VARYING)
        for each in condition.operands
    )


def bounds(node: Node) -> tuple[str, ...]:
    """How an operand compares with the others if it is the result; nothing for most nodes."""
    if node.op != "ExtInst" or not isinstance(node.type, Int):
        return ()
    row = opencl_rows().get(int(str(node.literals[1])))
    return BOUNDS.get(row.name, ()) if row is not None else ()


def is_product(node: Node) -> bool:
    """True for the product of two numbers that may be an index."""
    return node.op == "IMul" and isinstance(node.type, Int) and node.type.width == 64
