"""Where addresses begin: what accesses that lie a constant distance apart have in common."""

from __future__ import annotations

from groundstate.compiler.analysis.affine import constant_added
from groundstate.compiler.analysis.intervals import Intervals
from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.addresses import chain_steps
from groundstate.compiler.ir.ops import CHAINS, SAME_ADDRESS
from groundstate.compiler.spirv.types import Int, Pointer

MOST_STEPS = 8
"""Of an address that are looked through to find out where it begins."""
Place = tuple[Node, tuple[tuple[Node, int], ...]]
"""Where an address begins: a pointer, and the indices that are not constant with their steps."""


CONVERSIONS = frozenset(("SConvert", "UConvert"))


def place_of(pointer: Node, intervals: Intervals | None = None) -> tuple[Place, int]:
    """Where an address begins, and how many bytes it lies behind that.

    With intervals, sums of fewer than 64 bits are taken apart, too, where they do not wrap."""
    offset = 0
    indices: list[tuple[Node, int]] = []
    for _ in range(MOST_STEPS):
        if pointer.op in CHAINS:
            for index, (size, fixed) in zip(
                pointer.operands[1:], chain_steps(pointer), strict=True
            ):
                parts, added = _without_constant(index, intervals)
                offset += fixed if size is None else added * size
                if size is not None:
                    indices += [(part, size) for part in parts]
        elif pointer.op not in SAME_ADDRESS or not isinstance(pointer.operands[0].type, Pointer):
            break
        pointer = pointer.operands[0]
    return (pointer, tuple(indices)), offset


def _without_constant(index: Node, intervals: Intervals | None) -> tuple[list[Node], int]:
    """An index as others, if there are any, and a constant that is added to them."""
    number = constant_int(index)
    if number is not None:
        return [], number
    if intervals is not None and index.op in CONVERSIONS and intervals.of(index) is not None:
        parts, number = _summands(index, intervals)
        return sorted(parts, key=id), number
    is_whole = isinstance(index.type, Int) and index.type.width == 64
    rest, added = (constant_added(index) if is_whole else None) or (index, 0)
    return [rest], added


def _summands(number: Node, intervals: Intervals) -> tuple[list[Node], int]:
    """What a number is the sum of, and the constant among that, where no part of it wraps."""
    constant = constant_int(number)
    if constant is not None:
        return [], constant
    if intervals.of(number) is None or number.op not in CONVERSIONS | {"IAdd"}:
        return [number], 0
    parts = [_summands(each, intervals) for each in number.operands]
    return [part for found, _ in parts for part in found], sum(added for _, added in parts)
