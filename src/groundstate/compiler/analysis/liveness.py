"""Which values are still needed at the start of each block."""

from __future__ import annotations

from collections.abc import Iterable

from groundstate.compiler.ir import Block, Kernel, Node, deadline
from groundstate.compiler.ir.ops import LEAVES
from groundstate.compiler.ir.passes import Analyses


class Liveness:
    """For each block, the nodes of other blocks that it or a later one uses.

    A set of nodes is kept as a number with a bit for each: large kernels have many large sets.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._nodes: list[Node] = []
        self._place: dict[Node, int] = {}
        uses = {block: self._number(_used_of_others(block)) for block in kernel.blocks}
        handed = self._handed_over(kernel)
        defines = {
            block: self._number(each for each in (*block.phis, *block.nodes) if each in self._place)
            for block in kernel.blocks
        }
        self._live = dict.fromkeys(kernel.blocks, 0)
        changed = True
        while changed:
            deadline.check()
            changed = False
            for block in reversed(kernel.blocks):
                after = handed.get(block, 0)
                for successor in block.successors:
                    after |= self._live[successor]
                now = uses[block] | (after & ~defines[block])
                if now != self._live[block]:
                    self._live[block] = now
                    changed = True

    @classmethod
    def compute(cls, analyses: Analyses) -> Liveness:
        return cls(analyses.kernel)

    def __getitem__(self, block: Block) -> set[Node]:
        """The nodes that are needed at the start of a block."""
        digits = bin(self._live[block])[:1:-1]
        return {self._nodes[place] for place, digit in enumerate(digits) if digit == "1"}

    def _number(self, nodes: Iterable[Node]) -> int:
        """The number that stands for some nodes; those that have no bit yet are given one."""
        places = []
        for node in nodes:
            place = self._place.setdefault(node, len(self._nodes))
            if place == len(self._nodes):
                self._nodes.append(node)
            places.append(place)
        digits = bytearray(len(self._nodes) // 8 + 1)
        for place in places:
            digits[place >> 3] |= 1 << (place & 7)
        return int.from_bytes(digits, "little")

    def _handed_over(self, kernel: Kernel) -> dict[Block, int]:
        """For each block, what it gives to the phis of those that follow it."""
        given: dict[Block, set[Node]] = {}
        for block in kernel.blocks:
            for source, values in incoming_values(block).items():
                nodes = given.setdefault(source, set())
                nodes.update(value for _, value in values if value.op not in LEAVES)
        return {block: self._number(nodes) for block, nodes in given.items()}


def _used_of_others(block: Block) -> set[Node]:
    defined = set(block.phis)
    used: set[Node] = set()
    for node in block.nodes:
        used.update(each for each in node.operands if each not in defined)
        defined.add(node)
    if block.condition is not None and block.condition not in defined:
        used.add(block.condition)
    return {each for each in used if each.op not in LEAVES}


def incoming_values(block: Block) -> dict[Block, list[tuple[Node, Node]]]:
    """The phis of a block with the values that they take, by where control comes from."""
    found: dict[Block, list[tuple[Node, Node]]] = {}
    for phi in block.phis:
        seen: set[Block] = set()
        for value, source in zip(phi.operands, phi.literals, strict=True):
            assert isinstance(source, Block)
            if source not in seen:
                seen.add(source)
                found.setdefault(source, []).append((phi, value))
    return found
