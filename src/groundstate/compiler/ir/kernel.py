"""The kernel as the middle of the compiler sees it: a graph of blocks with values in SSA form.

A node is one operation of one inlined copy of a SPIR-V instruction. `op` is the instruction's name
without "Op" (`IAdd`), or one of a few of our own: `Argument`, `Constant`, `Global`, `Copy`, `Phi`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from groundstate.compiler.ir.location import Location
from groundstate.compiler.spirv.constants import Constant
from groundstate.compiler.spirv.types import Int, Type


class Node:
    """One operation. What it takes are other nodes; what is not a node is in `literals`."""

    __slots__ = (
        "block",
        "decorations",
        "index",
        "literals",
        "location",
        "op",
        "operands",
        "position",
        "type",
        "where",
    )

    def __init__(
        self,
        op: str,
        type: Type,
        operands: list[Node] | None = None,
        literals: tuple[object, ...] = (),
        where: str = "",
        location: Location | None = None,
    ) -> None:
        self.op = op
        self.type = type
        self.operands = operands if operands is not None else []
        self.literals = literals
        self.decorations: dict[int, tuple[int, ...] | str] = {}
        self.block: Block | None = None
        self.index = -1
        self.where = where
        self.location = location
        """Where in the source it comes from, if that is known."""
        self.position = 0
        """Where in its module the instruction stands, in words; 0 if it stands in none."""

    def derive(
        self,
        op: str,
        type: Type,
        operands: list[Node] | None = None,
        literals: tuple[object, ...] = (),
    ) -> Node:
        """A new node for the same place in the source."""
        return Node(op, type, operands, literals, self.where, self.location)

    def __repr__(self) -> str:
        return f"%{self.index} = {self.op}"


def constant_int(node: Node) -> int | None:
    """The value of a constant integer, with its sign, or None."""
    if node.op != "Constant" or not isinstance(node.type, Int):
        return None
    value = getattr(node.literals[0], "value", None)
    if value is None:
        return 0
    half = 1 << (node.type.width - 1)
    return int(value) - 2 * half if value >= half else int(value)


def constant_node(type: Type, value: int) -> Node:
    """A constant number of a type."""
    return Node("Constant", type, literals=(Constant(type, value),))


class Block:
    """A straight run of nodes. The terminator is `branch` on `condition`, or a return."""

    __slots__ = (
        "cold",
        "condition",
        "index",
        "nodes",
        "phis",
        "predecessors",
        "successors",
        "switch",
        "where",
    )

    def __init__(self, where: str = "") -> None:
        self.index = -1
        self.phis: list[Node] = []
        self.nodes: list[Node] = []
        self.condition: Node | None = None
        self.switch: list[int] | None = None
        """For a switch: the values that lead to the successors from the second on."""
        self.successors: list[Block] = []
        """None: the kernel ends here. Two: taken if the condition is true, and otherwise."""
        self.predecessors: list[Block] = []
        self.where = where
        self.cold = False
        """Whether control hardly ever comes here: the slow version of a loop."""

    def __repr__(self) -> str:
        return f"block {self.index}"


class Kernel:
    """All blocks of a kernel, calls inlined, in reverse postorder from the entry."""

    def __init__(self, name: str, arguments: list[Node], entry: Block) -> None:
        self.name = name
        self.arguments = arguments
        self.blocks = _reverse_postorder(entry)
        self.cells = 0
        """How many cells for each sub-group its work-group operations need."""
        self.sites: list[dict[str, Any]] = []
        """Where checkers may report something (`site.py`)."""
        self.block_costs: list[list[int]] = []
        self.block_facts: dict[str, Any] = {}
        """Where in the source they do what profiles tell of; goes along with the costs."""
        """Of each block that counts for metrics (instrument/counting.py)."""
        self.keeps_loads = False
        """Whether loads that nobody needs stay, because a checker is still to be told of them."""
        self.observes_subgroups = False
        """Whether the program can tell how large its sub-groups are."""
        self.renumber()

    def reorder(self) -> None:
        """Puts blocks in order again after some were added, and numbers them."""
        self.blocks = _reverse_postorder(self.blocks[0])
        self.renumber()

    def renumber(self) -> None:
        """Numbers blocks and nodes, and finds the predecessors of each block."""
        count = 0
        reachable = set(map(id, self.blocks))
        for index, block in enumerate(self.blocks):
            block.index = index
            block.predecessors = []
        for block in self.blocks:
            for successor in block.successors:
                if successor.predecessors[-1:] != [block]:  # a switch may lead there twice
                    successor.predecessors.append(block)
        for block in self.blocks:
            for phi in block.phis:
                pairs = list(zip(phi.operands, phi.literals, strict=True))
                kept = [(value, source) for value, source in pairs if id(source) in reachable]
                phi.operands = [value for value, _ in kept]
                phi.literals = tuple(source for _, source in kept)
            for node in (*block.phis, *block.nodes):
                node.block, node.index = block, count
                count += 1

    def copy(self) -> Kernel:
        """Another kernel that is the same: changing one leaves the other alone."""
        blocks = {block: Block(block.where) for block in self.blocks}
        nodes = {node: Node(node.op, node.type, where=node.where) for node in self.nodes()}
        for node, copy in nodes.items():
            copy.operands = [nodes.get(each, each) for each in node.operands]
            copy.literals = node.literals
            copy.decorations, copy.position = node.decorations, node.position
            copy.location = node.location
        for block, twin in blocks.items():
            for phi in block.phis:
                nodes[phi].literals = tuple(blocks[each] for each in phi.literals)  # type: ignore[index]
            twin.phis = [nodes[each] for each in block.phis]
            twin.nodes = [nodes[each] for each in block.nodes]
            twin.successors = [blocks[each] for each in block.successors]
            condition = block.condition
            twin.condition = nodes.get(condition, condition) if condition is not None else None
            twin.switch, twin.cold = block.switch, block.cold
        copied = Kernel(self.name, self.arguments, blocks[self.blocks[0]])
        copied.cells, copied.observes_subgroups = self.cells, self.observes_subgroups
        copied.sites = self.sites
        copied.block_costs = self.block_costs
        copied.block_facts = self.block_facts
        return copied

    def users(self) -> dict[Node, list[Node]]:
        """Who takes each node as an operand, once for each time that it does; nobody: empty."""
        found: dict[Node, list[Node]] = defaultdict(list)
        for node in self.nodes():
            for operand in node.operands:
                found[operand].append(node)
        return found

    def replace(self, others: dict[Node, Node]) -> None:
        """Lets everybody use other nodes in the place of some."""
        for node in self.nodes():
            node.operands = [others.get(each, each) for each in node.operands]
        for block in self.blocks:
            if block.condition is not None:
                block.condition = others.get(block.condition, block.condition)

    def nodes(self) -> Iterator[Node]:
        """Every node, block after block."""
        for block in self.blocks:
            yield from block.phis
            yield from block.nodes


def _reverse_postorder(entry: Block) -> list[Block]:
    order: list[Block] = []
    seen = {id(entry)}
    stack = [(entry, iter(entry.successors))]
    while stack:
        block, rest = stack[-1]
        for successor in rest:
            if id(successor) not in seen:
                seen.add(id(successor))
                stack.append((successor, iter(successor.successors)))
                break
        else:
            order.append(block)
            stack.pop()
    return order[::-1]
