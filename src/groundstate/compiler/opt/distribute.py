"""Loops that keep more sums than there are registers are run several times, for some of them each.

Kernels that multiply matrices on a GPU keep dozens of sums for each work-item. A CPU has registers
for a dozen, so that it would read and write most of the sums in every round. Here such a loop
becomes several in a row, and each does what its share of the sums needs; what they all need, such
as addresses and loads, is done by each of them again.

This takes a loop that does nothing but load and compute, that all lanes leave together, and whose
sums do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterable

from groundstate.compiler.analysis.lane_values import SHUFFLES, shuffled
from groundstate.compiler.analysis.simple_loop import SimpleLoop, lead
from groundstate.compiler.ir import Block, Kernel, Node, constant_int
from groundstate.compiler.ir.ops import CASTS, CHAINS, LEAVES, has_side_effects
from groundstate.compiler.lanes import REGISTERS, registers_of

SHARE = REGISTERS - 4
"""Registers for the sums of one loop; the others are for what is added to them."""


class Sums:
    """The values that a loop sums up; `natural` lanes fill a register."""

    def __init__(self, loop: SimpleLoop, natural: int) -> None:
        self.loop = loop
        self.natural = natural
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
        return self.registers > REGISTERS and all(
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
        return registers_of(phi, self.loop.divergence, self.natural)

    def split_if_worth_it(self) -> None:
        """Splits the loop if what its parts do again is no more than one operation for each sum."""
        loop = self.loop
        work = sum(_work(loop.needed([loop.condition, *share])) for share in self._shares())
        if self.are_too_many and work - _work(loop.inside) <= self.registers:
            self._split()

    def _shares(self) -> list[list[Node]]:
        """The sums, as many at a time as have registers."""
        shares: list[list[Node]] = [[]]
        taken = 0
        for phi in self.phis:
            size = self._size(phi)
            if shares[-1] and taken + size > SHARE:
                shares.append([])
                taken = 0
            shares[-1].append(phi)
            taken += size
        return shares

    def _split(self) -> None:
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
            lead(before, head, following)
            before = after
            elsewhere.update({node: copies[node] for node in loop.needed(share) - self._shared})
        loop.enter_from(before)
        loop.use_elsewhere(elsewhere)
        loop.kernel.reorder()
        _remove_unused(loop.kernel, loop.blocks)


def _work(nodes: Iterable[Node]) -> int:
    """How many instructions some operations are, about."""
    return sum(1 for each in nodes if each.op != "Phi" and each.op not in CASTS)


# --- Loads ahead of time --------------------------------------------------------------------------


def load_when_needed(loop: SimpleLoop) -> None:
    """What a loop loads for its next round is loaded at the start of that round.

    It would wait in registers, of which there are none to spare."""
    header, entering = loop.header, loop.entering
    for phi in list(header.phis):
        first, following = loop.first_value(phi), loop.next_value(phi)
        if not _is_same_load(first, following) or first.block is not entering:
            continue
        place = entering.nodes.index(first)
        if any(map(has_side_effects, entering.nodes[place:])):
            continue  # something may be written before the loop
        nodes: list[Node] = []
        address = _either(loop, first.operands[0], following.operands[0], nodes)
        load = Node("Load", phi.type, [address], following.literals, phi.where)
        header.phis.remove(phi)
        header.nodes[:0] = [*nodes, load]
        loop.kernel.replace({phi: load})
    _remove_unused(loop.kernel, [entering, *loop.blocks])


def _is_same_load(first: Node, following: Node) -> bool:
    return first.op == following.op == "Load" and first.literals == following.literals


def _either(loop: SimpleLoop, first: Node, following: Node, nodes: list[Node]) -> Node:
    """One value in the first round and another one in those that follow."""
    if first is following or _is_same_constant(first, following):
        return first
    if (
        first.op == following.op
        and first.type == following.type
        and first.op in CASTS | CHAINS
        and first.literals == following.literals
        and len(first.operands) == len(following.operands)
    ):
        pairs = zip(first.operands, following.operands, strict=True)
        operands = [_either(loop, one, other, nodes) for one, other in pairs]
        nodes.append(Node(first.op, first.type, operands, first.literals, first.where))
        return nodes[-1]
    phi = Node("Phi", first.type, [first, following], (loop.entering, loop.latch), first.where)
    loop.header.phis.append(phi)
    return phi


def _is_same_constant(one: Node, other: Node) -> bool:
    value = constant_int(one)
    return value is not None and one.type == other.type and value == constant_int(other)


def load_of_one_lane(loop: SimpleLoop) -> None:
    """What all lanes take from one of them is loaded from that one's address."""
    divergence = loop.divergence
    for block in loop.blocks:
        for node in list(block.nodes):
            if node.op not in SHUFFLES or divergence.stride(node) != 0:
                continue
            value, _ = shuffled(node)
            if not _comes_from_load(loop, value):
                continue
            nodes: list[Node] = []
            taken = _of_lane(loop, value, node, nodes)
            place = block.nodes.index(node)
            block.nodes[place:place] = nodes
            loop.kernel.replace({node: taken})
    _leave_out_return_trips(loop)
    _remove_unused(loop.kernel, loop.blocks)


def _leave_out_return_trips(loop: SimpleLoop) -> None:
    """What became another type only to pass through a shuffle stays as it is."""
    for node in [node for block in loop.blocks for node in block.nodes if node.op == "Bitcast"]:
        source = node.operands[0]
        if source.op == "Bitcast" and source.operands[0].type == node.type:
            loop.kernel.replace({node: source.operands[0]})


def _comes_from_load(loop: SimpleLoop, node: Node) -> bool:
    """True for what a loop loads itself: nothing is written between that and its uses."""
    while node.op in CASTS:
        node = node.operands[0]
    return node.op == "Load" and node in loop.inside


def _of_lane(loop: SimpleLoop, value: Node, shuffle: Node, nodes: list[Node]) -> Node:
    """What a shuffle makes of a value: computed again for that lane if it is an address."""
    if value.op in LEAVES or loop.divergence.stride(value) == 0:
        return value
    operands: list[Node]
    if value.op in CASTS | CHAINS or (value.op == "Load" and value in loop.inside):
        operands = [_of_lane(loop, each, shuffle, nodes) for each in value.operands]
        nodes.append(Node(value.op, value.type, operands, value.literals, value.where))
    else:
        operands = [*shuffle.operands[:-2], value, shuffle.operands[-1]]
        nodes.append(Node(shuffle.op, value.type, operands, shuffle.literals, shuffle.where))
    return nodes[-1]


# --- The graph ------------------------------------------------------------------------------------


def _remove_unused(kernel: Kernel, blocks: list[Block]) -> None:
    """Takes out of some blocks what only computes and has no use in the end."""
    inside = {id(node) for block in blocks for node in (*block.phis, *block.nodes)}
    waiting = [block.condition for block in kernel.blocks if block.condition is not None]
    waiting += [node for node in kernel.nodes() if id(node) not in inside or has_side_effects(node)]
    used: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node not in used:
            used.add(node)
            waiting += node.operands
    for block in blocks:
        block.phis = [each for each in block.phis if each in used]
        block.nodes = [each for each in block.nodes if each in used]
