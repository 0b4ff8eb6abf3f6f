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

from groundstate.compiler.emit.function import FREE
from groundstate.compiler.graph import Graph, Loop
from groundstate.compiler.ir import Block, Kernel, Node, constant_int
from groundstate.compiler.known_lanes import SHUFFLES, shuffled
from groundstate.compiler.lanes import REGISTERS, registers_of
from groundstate.compiler.spirv.types import Pointer
from groundstate.compiler.uniformity import CHAINS, Uniformity
from groundstate.compiler.variables import VOLATILE

SHARE = REGISTERS - 4
"""Registers for the sums of one loop; the others are for what is added to them."""
CASTS = frozenset(["UConvert", "SConvert", "Bitcast", "CopyObject"])
ARITHMETIC = frozenset(
    """IAdd ISub IMul SDiv UDiv SRem UMod SNegate FAdd FSub FMul FDiv FNegate VectorTimesScalar Dot
    BitwiseAnd BitwiseOr BitwiseXor Not ShiftLeftLogical ShiftRightLogical ShiftRightArithmetic
    FConvert ConvertSToF ConvertUToF ConvertFToS ConvertFToU Select LogicalAnd LogicalOr LogicalNot
    IEqual INotEqual SLessThan SLessThanEqual SGreaterThan SGreaterThanEqual ULessThan
    ULessThanEqual UGreaterThan UGreaterThanEqual FOrdLessThan FOrdGreaterThan Builtin
    VectorShuffle CompositeExtract CompositeInsert CompositeConstruct""".split()  # noqa: SIM905
)
COMPUTES = ARITHMETIC | CASTS | CHAINS | SHUFFLES.keys()


def split_loops(uniformity: Uniformity, natural: int) -> Uniformity:
    """The kernel with its overfull loops split; `natural` lanes fill a register."""
    for header in [loop.header for loop in uniformity.graph.loops]:
        sums = _Sums.of_loop(uniformity, header, natural)
        if sums is None or sums.registers <= REGISTERS:
            continue
        for change in (_load_when_needed, _load_of_one_lane, _Sums.split_if_worth_it):
            if sums is not None:
                change(sums)
            uniformity = _solved(uniformity)
            sums = _Sums.of_loop(uniformity, header, natural)
    return uniformity


def _solved(given: Uniformity) -> Uniformity:
    """The same for a kernel that was changed."""
    kernel = given.kernel
    kernel.reorder()
    return Uniformity(kernel, Graph(kernel), given.group_size, given.width, given.subgroup)


class _Sums:
    """A loop that can be split: its head, its end, and the values that it sums up."""

    def __init__(self, uniformity: Uniformity, loop: Loop, entering: Block, natural: int) -> None:
        self.uniformity = uniformity
        self.kernel = uniformity.kernel
        self.natural = natural
        self.header = loop.header
        self.latch = loop.latches[0]
        self.entering = entering
        self.blocks = sorted(loop.blocks, key=lambda each: each.index)
        self.nodes = [each for block in self.blocks for each in (*block.phis, *block.nodes)]
        self.inside = set(self.nodes)
        assert self.header.condition is not None
        self._shared = self._needed([self.header.condition])
        for phi in self.header.phis:
            self._shared |= self._needed([phi]) & set(self.header.phis) - {phi}
        place = {node: number for number, node in enumerate(self.nodes)}
        own = [phi for phi in self.header.phis if phi not in self._shared]
        self.sums = sorted(own, key=lambda phi: place.get(self.next_value(phi), 0))

    @classmethod
    def of_loop(cls, uniformity: Uniformity, header: Block, natural: int) -> _Sums | None:
        """The loop with a header, if it can be split."""
        loop = next((each for each in uniformity.graph.loops if each.header is header), None)
        if loop is None or not _is_straight(loop):
            return None
        outside = [each for each in header.predecessors if not loop.contains(each)]
        if (
            len(outside) != 1
            or loop in uniformity.divergent_loops
            or loop.blocks & uniformity.partial
        ):
            return None
        inside = [node for block in loop.blocks for node in block.nodes]
        if not all(map(_only_computes, inside)):
            return None
        return cls(uniformity, loop, outside[0], natural)

    @property
    def registers(self) -> int:
        """How many registers all sums take up."""
        return sum(map(self._size, self.sums))

    def _size(self, phi: Node) -> int:
        return registers_of(phi, self.uniformity, self.natural)

    def first_value(self, phi: Node) -> Node:
        return phi.operands[phi.literals.index(self.entering)]

    def next_value(self, phi: Node) -> Node:
        return phi.operands[phi.literals.index(self.latch)]

    def _needed(self, roots: Iterable[Node]) -> set[Node]:
        """What is needed of the loop to have some of its values."""
        found: set[Node] = set()
        waiting = list(roots)
        while waiting:
            node = waiting.pop()
            if node in self.inside and node not in found:
                found.add(node)
                waiting += node.operands
        return found

    def split_if_worth_it(self) -> None:
        """Splits the loop if what its parts do again is no more than one operation for each sum."""
        assert self.header.condition is not None
        condition = self.header.condition
        work = sum(_work(self._needed([condition, *share])) for share in self._shares())
        if self.registers > REGISTERS and work - _work(self.inside) <= self.registers:
            self._split()

    def _shares(self) -> list[list[Node]]:
        """The sums, as many at a time as have registers."""
        shares: list[list[Node]] = [[]]
        taken = 0
        for phi in self.sums:
            size = self._size(phi)
            if shares[-1] and taken + size > SHARE:
                shares.append([])
                taken = 0
            shares[-1].append(phi)
            taken += size
        return shares

    def _split(self) -> None:
        """Puts a loop before this one for each share of the sums but the last."""
        *moved, _ = self._shares()
        before = self.entering
        elsewhere: dict[Node, Node] = {}
        assert self.header.condition is not None
        for share in moved:
            copies, before = self._copy(self._needed([self.header.condition, *share]), before)
            elsewhere.update({node: copies[node] for node in self._needed(share) - self._shared})
        self._enter_from(before)
        self._use_elsewhere(elsewhere)
        self.kernel.reorder()
        _remove_unused(self.kernel, self.blocks)

    def _copy(self, wanted: set[Node], before: Block) -> tuple[dict[Node, Node], Block]:
        """A loop of some of the nodes behind a block; the copies, and the block behind it."""
        blocks = {block: Block(block.where) for block in self.blocks}
        after = Block(self.header.where)
        after.successors = [self.header]
        copies: dict[Node, Node] = {}
        for block, copy in blocks.items():
            for node in block.phis:
                if node in wanted:
                    copies[node] = Node("Phi", node.type, where=node.where)
                    copy.phis.append(copies[node])
            for node in block.nodes:
                if node in wanted:
                    operands = [copies.get(each, each) for each in node.operands]
                    copies[node] = Node(node.op, node.type, operands, node.literals, node.where)
                    copies[node].decorations = node.decorations
                    copy.nodes.append(copies[node])
            copy.successors = [
                blocks.get(each, each if block is not self.header else after)
                for each in block.successors
            ]
        for phi in self.header.phis:
            if phi in wanted:
                following = self.next_value(phi)
                copies[phi].operands = [self.first_value(phi), copies.get(following, following)]
                copies[phi].literals = (before, blocks[self.latch])
        condition = self.header.condition
        assert condition is not None
        blocks[self.header].condition = copies.get(condition, condition)
        blocks[self.header].switch = self.header.switch
        before.successors = [
            blocks[self.header] if each is self.header else each for each in before.successors
        ]
        return copies, after

    def _enter_from(self, before: Block) -> None:
        """Lets control come to the loop from another block."""
        for phi in self.header.phis:
            phi.literals = tuple(before if each is self.entering else each for each in phi.literals)

    def _use_elsewhere(self, copies: dict[Node, Node]) -> None:
        """Lets what follows the loop use sums of other loops."""
        for block in self.kernel.blocks:
            for node in (*block.phis, *block.nodes):
                if node not in self.inside:
                    node.operands = [copies.get(each, each) for each in node.operands]
            if block.condition is not None and block is not self.header:
                block.condition = copies.get(block.condition, block.condition)


def _work(nodes: Iterable[Node]) -> int:
    """How many instructions some operations are, about."""
    return sum(1 for each in nodes if each.op != "Phi" and each.op not in CASTS)


def _is_straight(loop: Loop) -> bool:
    """True if a loop is left at its head, and is one way from there back to it."""
    leaves = [each for each in loop.header.successors if not loop.contains(each)]
    body = loop.blocks - {loop.header}
    return (
        len(loop.header.successors) == 2
        and len(leaves) == 1
        and len(loop.latches) == 1
        and all(len(each.successors) == 1 and not each.phis for each in body)
    )


def _only_computes(node: Node) -> bool:
    """True if an operation has no effect but its result, which is the same when done again."""
    if node.op == "Load":
        return not any(isinstance(each, int) and each & VOLATILE for each in node.literals[:1])
    if node.op == "ExtInst":
        return not any(isinstance(each.type, Pointer) for each in node.operands)
    return node.op in COMPUTES


# --- Loads ahead of time --------------------------------------------------------------------------


def _load_when_needed(loop: _Sums) -> None:
    """What a loop loads for its next round is loaded at the start of that round.

    It would wait in registers, of which there are none to spare."""
    header, entering = loop.header, loop.entering
    for phi in list(header.phis):
        first, following = loop.first_value(phi), loop.next_value(phi)
        if not _is_same_load(first, following) or first.block is not entering:
            continue
        place = entering.nodes.index(first)
        if not all(map(_only_computes, entering.nodes[place:])):
            continue  # something may be written before the loop
        nodes: list[Node] = []
        address = _either(loop, first.operands[0], following.operands[0], nodes)
        load = Node("Load", phi.type, [address], following.literals, phi.where)
        header.phis.remove(phi)
        header.nodes[:0] = [*nodes, load]
        _replace(loop.kernel, phi, load)
    _remove_unused(loop.kernel, [entering, *loop.blocks])


def _is_same_load(first: Node, following: Node) -> bool:
    return first.op == following.op == "Load" and first.literals == following.literals


def _either(loop: _Sums, first: Node, following: Node, nodes: list[Node]) -> Node:
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


def _load_of_one_lane(loop: _Sums) -> None:
    """What all lanes take from one of them is loaded from that one's address."""
    uniformity = loop.uniformity
    for block in loop.blocks:
        for node in list(block.nodes):
            if node.op not in SHUFFLES or uniformity.shape(node) != 0:
                continue
            value, _ = shuffled(node)
            if not _comes_from_load(loop, value):
                continue
            nodes: list[Node] = []
            taken = _of_lane(loop, value, node, nodes)
            place = block.nodes.index(node)
            block.nodes[place:place] = nodes
            _replace(loop.kernel, node, taken)
    _remove_unused(loop.kernel, loop.blocks)


def _comes_from_load(loop: _Sums, node: Node) -> bool:
    """True for what a loop loads itself: nothing is written between that and its uses."""
    while node.op in CASTS:
        node = node.operands[0]
    return node.op == "Load" and node in loop.inside


def _of_lane(loop: _Sums, value: Node, shuffle: Node, nodes: list[Node]) -> Node:
    """What a shuffle makes of a value: computed again for that lane if it is an address."""
    if value.op in FREE or loop.uniformity.shape(value) == 0:
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


def _replace(kernel: Kernel, old: Node, new: Node) -> None:
    for node in kernel.nodes():
        node.operands = [new if each is old else each for each in node.operands]
    for block in kernel.blocks:
        if block.condition is old:
            block.condition = new


def _remove_unused(kernel: Kernel, blocks: list[Block]) -> None:
    """Takes out of some blocks what only computes and has no use in the end."""
    inside = {id(node) for block in blocks for node in (*block.phis, *block.nodes)}
    waiting = [block.condition for block in kernel.blocks if block.condition is not None]
    waiting += [
        node
        for node in kernel.nodes()
        if id(node) not in inside or not (node.op == "Phi" or _only_computes(node))
    ]
    used: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node not in used:
            used.add(node)
            waiting += node.operands
    for block in blocks:
        block.phis = [each for each in block.phis if each in used]
        block.nodes = [each for each in block.nodes if each in used]
