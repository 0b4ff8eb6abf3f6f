"""Which work-items of a sub-group are together in a block that only some of them reach.

The hardware says which lanes run at once, but those may be fewer than took the same way. So those
that go along an edge are counted by a ballot in the block it leaves, and a block that all of them
come to again has the members of the one where they parted. Where neither is known, as behind
several `break`s, those that arrive at once are the members from there on.
"""

from __future__ import annotations

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.ops import SHUFFLES

SAME_FOR_ALL = ("SubgroupBlockReadINTEL", "SubgroupBlockWriteINTEL")


class Members:
    """Where the members of the blocks that need them come from."""

    def __init__(self, kernel: Kernel, cfg: CFG, diverged: set[Block]) -> None:
        self.cfg = cfg
        self.diverged = diverged
        self.homes: dict[Block, Block] = {}
        """The block whose members a block has too."""
        self.counted: set[Block] = set()
        """Blocks whose members are counted on the edges that lead there."""
        self.arrived: set[Block] = set()
        """Blocks whose members are those that arrive at once."""
        self._headers = {loop.header: loop for loop in cfg.loops}
        for block in kernel.blocks:
            if block in diverged and any(map(_needs_members, block.nodes)):
                self._need(block)

    def home(self, block: Block) -> Block:
        """The block that has the variable with the members of a block."""
        while block in self.homes:
            block = self.homes[block]
        return block

    def _need(self, block: Block) -> None:
        waiting = [block]
        while waiting:
            block = waiting.pop()
            is_known = block in self.homes or block in self.counted or block in self.arrived
            if block in self.diverged and not is_known:
                waiting += self._find(block)

    def _find(self, block: Block) -> list[Block]:
        """Decides on a block; returns those that it needs."""
        home = self._parting(block)
        if home is not None:
            self.homes[block] = home
            return [home]
        loop = self._headers.get(block)
        latches = loop.latches if loop is not None else []
        entries = [each for each in dict.fromkeys(block.predecessors) if each not in latches]
        if len(entries) == 1 and len(latches) <= 1:
            self.counted.add(block)
            return [*entries, *latches]
        self.arrived.add(block)
        return []

    def _parting(self, block: Block) -> Block | None:
        """The nearest block before that exactly the same work-items pass, as often."""
        above = self.cfg.dominator[block.index]
        loop = self.cfg.loop_of.get(block)
        if block in self._headers:
            return None
        while above is not None and self.cfg.post_dominates(block, above):
            if self.cfg.loop_of.get(above) is loop:
                return above
            above = self.cfg.dominator[above.index]
        return None


def _needs_members(node: Node) -> bool:
    if node.op in SAME_FOR_ALL:
        return False
    return node.op.startswith(("GroupNonUniform", "Subgroup")) or node.op in SHUFFLES
