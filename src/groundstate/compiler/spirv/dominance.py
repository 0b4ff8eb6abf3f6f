"""Checks that values are computed before they are used: definitions dominate uses.

Within a block that is the order of the instructions; between blocks, every path from the start of
the function to the use passes the definition. A phi uses a value at the end of the block that it
comes from. Only then do values form no cycle, except through phis, and whoever follows operands
comes to an end. Blocks may stand in any order (published modules break SPIR-V's), and those that no
path leads to are not looked at, for nobody compiles them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from groundstate.compiler.analysis.dominators import immediate_dominators
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.module import Function
from groundstate.compiler.spirv.opcodes import Op

BEFORE_ALL = -1
"""The place of parameters within the first block."""


def check_dominance(
    function: Function,
    successors: Mapping[int, Iterable[int]],
    used_ids: Mapping[int, Sequence[int]],
) -> None:
    """Raises InvalidModule for a value that is used where it may not have been computed.

    `successors` has the labels that a block leads to, `used_ids` the values that the instruction
    at a Python identity takes.
    """
    numbers = {block.label: number for number, block in enumerate(function.blocks)}
    places = {each.result: (0, BEFORE_ALL) for each in function.parameters}
    for number, block in enumerate(function.blocks):
        for at, instruction in enumerate(block.instructions):
            if instruction.result:
                places[instruction.result] = number, at
    elsewhere: dict[tuple[int, int], int] = {}
    """Pairs of blocks, of the definition and of the use, with a value for which that is so."""
    for number, block in enumerate(function.blocks):
        for at, instruction in enumerate(block.instructions):
            if instruction.opcode == Op.Phi:
                operands = instruction.operands
                for value, label in zip(operands[0::2], operands[1::2], strict=True):
                    if value in places and places[value][0] != numbers[label]:
                        elsewhere[places[value][0], numbers[label]] = value
                continue
            for value in used_ids.get(id(instruction), ()):
                if value not in places:
                    continue
                where, place = places[value]
                if where != number:
                    elsewhere[where, number] = value
                elif place >= at:
                    raise InvalidModule(f"%{value} is used before it is computed")
    _check_pairs(
        function, [[numbers[to] for to in successors[each]] for each in numbers], elsewhere
    )


def _check_pairs(
    function: Function, successors: list[list[int]], pairs: Mapping[tuple[int, int], int]
) -> None:
    if not pairs:
        return
    above = immediate_dominators(successors, 0)
    first, last = _intervals(above)
    for (definition, use), value in pairs.items():
        if above[use] < 0:
            continue
        inside = above[definition] >= 0 and first[definition] <= first[use] <= last[definition]
        if not inside:
            at = function.blocks[use].label
            raise InvalidModule(f"%{value} is used in block %{at}, where it may not be computed")


def _intervals(above: Sequence[int]) -> tuple[list[int], list[int]]:
    """When a walk over a tree, given by parents, enters each node and the last one below it."""
    below: list[list[int]] = [[] for _ in above]
    for node, parent in enumerate(above):
        if parent >= 0 and parent != node:
            below[parent].append(node)
    first, last = [0] * len(above), [0] * len(above)
    clock, stack = 0, [(0, False)]
    while stack:
        node, left = stack.pop()
        if left:
            last[node] = clock - 1
            continue
        first[node] = clock
        clock += 1
        stack.append((node, True))
        stack.extend((child, False) for child in below[node])
    return first, last
