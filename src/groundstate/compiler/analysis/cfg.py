"""Facts about a kernel's control flow: dominators, loops, and which branches decide on a block."""

from __future__ import annotations

from groundstate.compiler.analysis.dominators import immediate_dominators
from groundstate.compiler.ir import Block, Kernel
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.limits import check_loops


class Loop:
    """A natural loop. Blocks of inner loops belong to it too."""

    def __init__(self, header: Block, parent: Loop | None) -> None:
        self.header = header
        self.parent = parent
        self.blocks: set[Block] = {header}
        self.latches: list[Block] = []

    def contains(self, block: Block) -> bool:
        return block in self.blocks

    def exits(self) -> list[tuple[Block, Block]]:
        """The edges that leave the loop."""
        return [
            (block, successor)
            for block in self.blocks
            for successor in block.successors
            if successor not in self.blocks
        ]


class CFG:
    """Dominance, post-dominance, loops and control dependence of a kernel's blocks."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.dominator = _dominators(kernel.blocks)
        self.reducible = True
        self.loops = self._find_loops()
        self.loop_of = self._innermost_loops()
        self._after = _post_dominators(kernel.blocks)
        self.control_dependences = self._control_dependence()

    @classmethod
    def compute(cls, analyses: Analyses) -> CFG:
        return cls(analyses.kernel)

    def dominates(self, above: Block, below: Block) -> bool:
        """True if every way to `below` passes `above`."""
        current: Block | None = below
        while current is not None and current.index > above.index:
            current = self.dominator[current.index]
        return current is above

    def post_dominates(self, below: Block, above: Block) -> bool:
        """True if every way from `above` to the end passes `below`."""
        current, end = above.index, len(self.kernel.blocks)
        while current not in (below.index, end):
            current = self._after[current]
        return current == below.index

    def _find_loops(self) -> list[Loop]:
        by_header: dict[int, Loop] = {}
        memberships = 0
        for block in self.kernel.blocks:
            for successor in block.successors:
                if successor.index > block.index:
                    continue
                if not self.dominates(successor, block):
                    self.reducible = False
                    continue
                loop = by_header.setdefault(successor.index, Loop(successor, None))
                loop.latches.append(block)
                memberships += _collect(loop, block)
                check_loops(self.kernel, memberships)
        loops = sorted(by_header.values(), key=lambda loop: len(loop.blocks))
        for position, loop in enumerate(loops):
            outer = [each for each in loops[position + 1 :] if loop.header in each.blocks]
            loop.parent = outer[0] if outer else None
        return loops

    def _innermost_loops(self) -> dict[Block, Loop]:
        innermost: dict[Block, Loop] = {}
        for loop in self.loops:  # small ones first
            for block in loop.blocks:
                innermost.setdefault(block, loop)
        return innermost

    def _control_dependence(self) -> list[list[Block]]:
        """For each block, the branches that decide whether it is reached."""
        blocks, after = self.kernel.blocks, self._after
        dependences: list[list[Block]] = [[] for _ in blocks]
        for block in blocks:
            if len(block.successors) < 2:
                continue
            stop = after[block.index]
            for successor in block.successors:
                current = successor.index
                while current not in (stop, len(blocks)):
                    if block not in dependences[current]:
                        dependences[current].append(block)
                    current = after[current]
        return dependences


def _collect(loop: Loop, latch: Block) -> int:
    """Adds the blocks between a loop's head and a latch, and returns how many were new."""
    before = len(loop.blocks)
    stack = [latch]
    while stack:
        block = stack.pop()
        if block not in loop.blocks:
            loop.blocks.add(block)
            stack.extend(block.predecessors)
    return len(loop.blocks) - before


def _dominators(blocks: list[Block]) -> list[Block | None]:
    """The immediate dominator of each block."""
    successors = [[each.index for each in block.successors] for block in blocks]
    above = immediate_dominators(successors, 0)
    return [None] + [blocks[index] for index in above[1:]]


def _post_dominators(blocks: list[Block]) -> list[int]:
    """The immediate post-dominator of each block, by index; len(blocks) stands for the end."""
    behind = [[each.index for each in block.predecessors] for block in blocks]
    return immediate_dominators([*behind, _ends(blocks, behind)], len(blocks))[:-1]


def _ends(blocks: list[Block], behind: list[list[int]]) -> list[int]:
    """The blocks that lead to the end.

    A loop that never ends has no way to the end; one of its blocks is given one."""
    ends = [block.index for block in blocks if not block.successors]
    seen: set[int] = set()
    for start in ends:
        _reach(start, behind, seen)
    for block in reversed(blocks):
        if block.index not in seen:
            ends.append(block.index)
            _reach(block.index, behind, seen)
    return ends


def _reach(start: int, behind: list[list[int]], seen: set[int]) -> None:
    """Adds everything from which there is a way to `start`."""
    stack = [start]
    while stack:
        index = stack.pop()
        if index not in seen:
            seen.add(index)
            stack += behind[index]
