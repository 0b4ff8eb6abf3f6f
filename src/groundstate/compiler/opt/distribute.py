"""Loop distribution (fission): a loop with more reductions than registers becomes several.

Kernels that multiply matrices on a GPU keep dozens of sums for each work-item. A CPU has registers
for a dozen, so that it would read and write most of the sums in every iteration. Here such a loop
becomes several in a row, and each does what its share of the sums needs; what they all need, such
as addresses and loads, is done by each of them again.

This takes a loop that does nothing but load and compute, that all lanes leave together, and whose
sums do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterable

from groundstate.compiler.analysis.register_pressure import registers_of
from groundstate.compiler.analysis.simple_loop import SimpleLoop, change_simple_loops, retarget
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.ops import CASTS, has_side_effects
from groundstate.compiler.ir.passes import Analyses


def distribute_loops(kernel: Kernel, analyses: Analyses) -> bool:
    """Runs each loop that has more sums than registers several times, for some of them each."""
    return change_simple_loops(
        kernel, analyses, lambda loop: Reductions(loop).distribute_if_worth_it()
    )


class Reductions:
    """The values that a loop sums up."""

    def __init__(self, loop: SimpleLoop) -> None:
        self.loop = loop
        self.target = loop.divergence.target
        self._shared = loop.needed([loop.condition])
        for phi in loop.header.phis:
            self._shared |= loop.needed([phi]) & set(loop.header.phis) - {phi}
        self._place = {node: number for number, node in enumerate(loop.nodes)}
        own = [phi for phi in loop.header.phis if phi not in self._shared]
        self.phis = sorted(own, key=self._order)
        self.registers = sum(map(self._size, self.phis))

    @property
    def are_too_many(self) -> bool:
        """True if there are more than registers, and the loop does nothing but sum up."""
        return self.registers > self.target.most_sums and all(
            not has_side_effects(node) for block in self.loop.blocks for node in block.nodes
        )

    def _order(self, phi: Node) -> tuple[list[tuple[int, str]], int]:
        """Sums that need the same of what lanes load come one after the other: it waits in
        registers, too."""
        following = self.loop.next_value(phi)
        return sorted(self._loaded_for(following)), self._place.get(following, 0)

    def _loaded_for(self, value: Node) -> set[tuple[int, str]]:
        """The loads that differ between lanes, and the components of them, that a value needs."""
        found: set[tuple[int, str]] = set()
        seen: set[Node] = set()
        waiting = [value]
        while waiting:
            node = waiting.pop()
            if node in seen or node not in self.loop.inside or node.op == "Phi":
                continue
            seen.add(node)
            source = node.operands[0] if node.op == "CompositeExtract" else node
            if self.loop.divergence.stride(node) == 0 or source not in self.loop.inside:
                continue
            if source.op == "Load":
                found.add((self._place[source], str(node.literals)))
            else:
                waiting += node.operands
        return found

    def _size(self, phi: Node) -> int:
        return registers_of(phi, self.loop.divergence)

    def distribute_if_worth_it(self) -> bool:
        """Splits the loop if what its parts do again is no more than one operation for each sum."""
        loop = self.loop
        work = sum(_work(loop.needed([loop.condition, *share])) for share in self._shares())
        if not self.are_too_many or work - _work(loop.inside) > self.registers:
            return False
        self._distribute()
        return True

    def _shares(self) -> list[list[Node]]:
        """The sums, as many at a time as have registers."""
        shares: list[list[Node]] = [[]]
        taken = 0
        for phi in self.phis:
            size = self._size(phi)
            if shares[-1] and taken + size > self.target.registers_for_sums:
                shares.append([])
                taken = 0
            shares[-1].append(phi)
            taken += size
        return shares

    def _distribute(self) -> None:
        """Puts a loop before this one for each share of the sums but the last."""
        loop = self.loop
        *moved, _ = self._shares()
        before, following = loop.entering, loop.header
        elsewhere: dict[Node, Node] = {}
        for share in moved:
            after = Block(loop.header.where)
            after.successors = [loop.header]
            wanted = loop.needed([loop.condition, *share])
            head, copies = loop.copy(wanted, before, after)
            retarget(before, head, following)
            before = after
            elsewhere.update({node: copies[node] for node in loop.needed(share) - self._shared})
        loop.enter_from(before)
        loop.replace_outside(elsewhere)


def _work(nodes: Iterable[Node]) -> int:
    """How many instructions some operations are, about."""
    return sum(1 for each in nodes if each.op != "Phi" and each.op not in CASTS)
