"""The rules that every kernel keeps between passes.

A pass that breaks one has a bug, and the verifier says which rule, at which node. Tests run it
after every pass; so does `groundstate compile --verify`.
"""

from __future__ import annotations

from collections.abc import Iterator

from groundstate.compiler.analysis.dominators import immediate_dominators
from groundstate.compiler.ir.kernel import Block, Kernel, Node
from groundstate.compiler.ir.ops import LEAVES, OPERATIONS, Effect, operation
from groundstate.compiler.ir.type_check import TypeCheck
from groundstate.compiler.spirv.types import Bool, Int, Void


class VerifierError(AssertionError):
    """A kernel breaks a rule: a pass has a bug."""


def verify(kernel: Kernel, after: str = "") -> None:
    """Raises VerifierError if a kernel breaks a rule; `after` names the pass that ran last."""
    problems = list(_Verifier(kernel).problems())
    if problems:
        start = f"after {after}, " if after else ""
        raise VerifierError(f"{start}kernel {kernel.name!r}: " + "\n  ".join(problems))


class _Verifier:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.blocks = {block: index for index, block in enumerate(kernel.blocks)}
        self.types = TypeCheck()
        self.places: dict[Node, tuple[int, int]] = {}
        """Of each node: its block, and how many come before it there; phis come first."""

    def problems(self) -> Iterator[str]:
        found = list(self._structure())
        yield from found
        if found:
            return  # the rest relies on it
        self.dominator = immediate_dominators(
            [[self.blocks[each] for each in block.successors] for block in self.kernel.blocks], 0
        )
        unreachable = [each for each in self.kernel.blocks if self.dominator[each.index] < 0]
        if unreachable:
            yield from (f"{block}: no way leads there from block 0" for block in unreachable)
            return
        for index, block in enumerate(self.kernel.blocks):
            for phi in block.phis:
                yield from _prefixed(phi, self._phi(phi, block))
            for place, node in enumerate(block.nodes):
                yield from _prefixed(node, self._node(node, (index, place)))
            yield from self._condition(block, index)

    # --- Blocks ---------------------------------------------------------------------------------

    def _structure(self) -> Iterator[str]:
        """Blocks know each other, and each node stands in one of them."""
        predecessors: dict[Block, list[Block]] = {block: [] for block in self.blocks}
        for block in self.kernel.blocks:
            yield from self._ends(block)
            for successor in dict.fromkeys(block.successors):
                if successor in predecessors:
                    predecessors[successor].append(block)
        for index, block in enumerate(self.kernel.blocks):
            if block.index != index:
                yield f"{block} is number {index}: Kernel.renumber was not called"
            if set(block.predecessors) != set(predecessors[block]):
                yield f"{block}: its predecessors are not those blocks that lead to it"
            yield from self._place_nodes(block, index)

    def _ends(self, block: Block) -> Iterator[str]:
        for successor in block.successors:
            if successor not in self.blocks:
                yield f"{block} leads to a block that is not in the kernel"
        count = len(block.successors)
        if block.switch is not None:
            if count != len(block.switch) + 1:
                yield f"{block}: a switch with {len(block.switch)} cases has {count} successors"
        elif count > 2:
            yield f"{block}: a branch has {count} successors"
        if count > 1 and block.condition is None:
            yield f"{block} leads to several blocks, and nothing decides which"
        if count < 2 and block.condition is not None:
            yield f"{block} has a condition, and leads to {count} blocks"

    def _place_nodes(self, block: Block, index: int) -> Iterator[str]:
        for node in block.phis:
            if node.op != "Phi":
                yield f"{block}: {node.op} stands among the phis"
        for place, node in [*((-1, each) for each in block.phis), *enumerate(block.nodes)]:
            if node in self.places:
                yield f"{block}: {node} stands in the kernel twice"
            if node.block is not block:
                yield f"{block}: {node} says that it stands in {node.block}"
            if place >= 0 and (node.op == "Phi" or node.op in LEAVES):
                yield f"{block}: {node} must not stand among the operations of a block"
            self.places[node] = index, place

    def _condition(self, block: Block, index: int) -> Iterator[str]:
        condition = block.condition
        if condition is None:
            return
        if not isinstance(condition.type, Bool if block.switch is None else Int):
            yield f"{block}: it branches on a {condition.type}"
        yield from _prefixed(block, self._defined(condition, (index, len(block.nodes))))

    # --- Nodes ----------------------------------------------------------------------------------

    def _phi(self, phi: Node, block: Block) -> Iterator[str]:
        if len(phi.operands) != len(phi.literals):
            yield f"it has {len(phi.operands)} values from {len(phi.literals)} blocks"
            return
        if set(phi.literals) != set(block.predecessors):
            yield "its sources are not the predecessors of its block"
            return
        if len(set(zip(phi.operands, phi.literals, strict=True))) > len(set(phi.literals)):
            yield "it has two values from one block"  # the same one twice is from a switch
            return
        for value, source in zip(phi.operands, phi.literals, strict=True):
            assert isinstance(source, Block)
            if not self.types.same(value.type, phi.type):
                yield f"it is a {phi.type}, and {value} from {source} is a {value.type}"
            yield from self._defined(value, (source.index, len(source.nodes)))

    def _node(self, node: Node, place: tuple[int, int]) -> Iterator[str]:
        if node.op not in OPERATIONS:
            yield "there is no such operation"
            return
        for operand in node.operands:
            yield from self._defined(operand, place)
        reason = self.types.reason_against(node)
        if reason:
            yield reason
        else:
            yield from _effects(node)

    def _defined(self, value: Node, use: tuple[int, int]) -> Iterator[str]:
        """A value must be there wherever it is used: its definition dominates the use."""
        if value.op in LEAVES:
            if value.op == "Argument" and not self._is_argument(value):
                yield f"it uses argument {value.literals[0]}, which the kernel does not have"
            return
        place = self.places.get(value)
        if place is None:
            yield f"it uses {value}, which is not in the kernel"
            return
        if place[0] == use[0]:
            if place[1] >= use[1]:
                yield f"it uses {value}, which comes only later"
            return
        current = use[0]
        while current != place[0] and current != 0:
            current = self.dominator[current]
        if current != place[0]:
            yield f"it uses {value} of block {place[0]}, which not every way to here passes"

    def _is_argument(self, value: Node) -> bool:
        number = int(str(value.literals[0]))
        return number < len(self.kernel.arguments)


def _prefixed(where: object, problems: Iterator[str]) -> Iterator[str]:
    return (f"{where}: {each}" for each in problems)


def _effects(node: Node) -> Iterator[str]:
    """What computes nothing and does nothing has no place."""
    if isinstance(node.type, Void) and operation(node).effect is Effect.NONE:
        yield "it has neither a result nor an effect"
