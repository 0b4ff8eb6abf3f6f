"""Where addresses begin: what accesses that lie a constant distance apart have in common."""

from __future__ import annotations

from groundstate.compiler.analysis.affine import constant_added
from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.addresses import chain_steps
from groundstate.compiler.ir.ops import CHAINS, SAME_ADDRESS
from groundstate.compiler.spirv.types import Int, Pointer

MOST_STEPS = 8
"""Of an address that are looked through to find out where it begins."""
Place = tuple[Node, tuple[tuple[Node, int], ...]]
"""Where an address begins: a pointer, and the indices that are not constant with their steps."""


def place_of(pointer: Node) -> tuple[Place, int]:
    """Where an address begins, and how many bytes it lies behind that."""
    offset = 0
    indices: list[tuple[Node, int]] = []
    for _ in range(MOST_STEPS):
        if pointer.op in CHAINS:
            for index, (size, fixed) in zip(
                pointer.operands[1:], chain_steps(pointer), strict=True
            ):
                rest, added = _without_constant(index)
                offset += fixed if size is None else added * size
                if size is not None and rest is not None:
                    indices.append((rest, size))
        elif pointer.op not in SAME_ADDRESS or not isinstance(pointer.operands[0].type, Pointer):
            break
        pointer = pointer.operands[0]
    return (pointer, tuple(indices)), offset


def _without_constant(index: Node) -> tuple[Node | None, int]:
    """An index as another one, if there is any, and a constant that is added to it."""
    number = constant_int(index)
    if number is not None:
        return None, number
    is_whole = isinstance(index.type, Int) and index.type.width == 64
    return (constant_added(index) if is_whole else None) or (index, 0)
