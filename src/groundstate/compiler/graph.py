"""Facts about a kernel's control flow: dominators, loops, and which branches decide on a block."""

from __future__ import annotations

from groundstate.compiler.ir import Block, Kernel


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


class Graph:
    """Dominance, post-dominance, loops and control dependence of a kernel's blocks."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.dominator = _dominators(kernel.blocks)
        self.reducible = True
        self.loops = self._find_loops()
        self.loop_of = self._innermost_loops()
        self.deciders = self._control_dependence()

    def dominates(self, above: Block, below: Block) -> bool:
        """True if every way to `below` passes `above`."""
        current: Block | None = below
        while current is not None and current.index > above.index:
            current = self.dominator[current.index]
        return current is above

    def _find_loops(self) -> list[Loop]:
        by_header: dict[int, Loop] = {}
        for block in self.kernel.blocks:
            for successor in block.successors:
                if successor.index > block.index:
                    continue
                if not self.dominates(successor, block):
                    self.reducible = False
                    continue
                loop = by_header.setdefault(successor.index, Loop(successor, None))
                loop.latches.append(block)
                _collect(loop, block)
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
        blocks = self.kernel.blocks
        after = _post_dominators(blocks)
        deciders: list[list[Block]] = [[] for _ in blocks]
        for block in blocks:
            if len(block.successors) < 2:
                continue
            stop = after[block.index]
            for successor in block.successors:
                current = successor.index
                while current not in (stop, len(blocks)):
                    if block not in deciders[current]:
                        deciders[current].append(block)
                    current = after[current]
        return deciders


def _collect(loop: Loop, latch: Block) -> None:
    stack = [latch]
    while stack:
        block = stack.pop()
        if block not in loop.blocks:
            loop.blocks.add(block)
            stack.extend(block.predecessors)


def _dominators(blocks: list[Block]) -> list[Block | None]:
    """The immediate dominator of each block (Cooper, Harvey and Kennedy's iteration)."""
    above: list[int] = [-1] * len(blocks)
    above[0] = 0
    changed = True
    while changed:
        changed = False
        for block in blocks[1:]:
            known = [each.index for each in block.predecessors if above[each.index] >= 0]
            best = known[0]
            for other in known[1:]:
                best = _meet(above, best, other)
            if above[block.index] != best:
                above[block.index] = best
                changed = True
    return [None] + [blocks[index] for index in above[1:]]


def _meet(above: list[int], left: int, right: int) -> int:
    while left != right:
        while left > right:
            left = above[left]
        while right > left:
            right = above[right]
    return left


def _post_dominators(blocks: list[Block]) -> list[int]:
    """The immediate post-dominator of each block, by index; len(blocks) stands for the end."""
    end = len(blocks)
    order, ends = _backward_order(blocks)
    rank = {index: position for position, index in enumerate(order)}
    above: list[int] = [-1] * (end + 1)
    above[end] = end
    changed = True
    while changed:
        changed = False
        for index in order[1:]:
            ahead = [each.index for each in blocks[index].successors]
            ahead += [end] if index in ends else []
            known = [each for each in ahead if above[each] >= 0]
            best = known[0]
            for other in known[1:]:
                best = _meet_by_rank(above, rank, best, other)
            if above[index] != best:
                above[index] = best
                changed = True
    return above[:end]


def _backward_order(blocks: list[Block]) -> tuple[list[int], set[int]]:
    """Reverse postorder of the backward graph from the end, and the blocks that lead there.

    A loop that never ends has no way to the end; one of its blocks is given one."""
    end = len(blocks)
    behind: list[list[int]] = [[each.index for each in block.predecessors] for block in blocks]
    ends = [block.index for block in blocks if not block.successors]
    parts: list[list[int]] = []
    seen = {end}
    for start in [*ends, *(block.index for block in reversed(blocks))]:
        if start in seen:
            continue
        if start not in ends:
            ends.append(start)
        seen.add(start)
        part: list[int] = []
        _walk(start, behind, seen, part)
        parts.append(part)
    postorder = [index for part in parts for index in part]
    return [end, *reversed(postorder)], set(ends)


def _walk(start: int, behind: list[list[int]], seen: set[int], postorder: list[int]) -> None:
    stack = [(start, iter(behind[start]))]
    while stack:
        index, rest = stack[-1]
        for each in rest:
            if each not in seen:
                seen.add(each)
                stack.append((each, iter(behind[each])))
                break
        else:
            postorder.append(index)
            stack.pop()


def _meet_by_rank(above: list[int], rank: dict[int, int], left: int, right: int) -> int:
    while left != right:
        while rank[left] > rank[right]:
            left = above[left]
        while rank[right] > rank[left]:
            right = above[right]
    return left
