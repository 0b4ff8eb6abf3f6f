"""When the result of an operation is used, so that one that is computed in advance is no mistake.

Compilers compute what a branch may need before they branch (`x > 0 ? 1 / x : 0` becomes a division
and a select). What comes of it is undefined or infinite only for those who do not use it. So an
operation is judged where its result is used, and under the condition of the selects that it goes
through.
"""

from __future__ import annotations

from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.ops import Category, operation
from groundstate.compiler.spirv.types import Bool, Vector

MOST_DEPTH = 6
"""How many operations a result is followed through."""
MOST_WAYS = 6
"""How many ways of being used are told apart."""
MOST_BLOCKS = 8
FOLLOWED = (Category.ARITHMETIC, Category.CAST, Category.COMPOSITE)

Way = tuple[tuple[Node, bool], ...]
"""Conditions that are all met, each with whether it has to be true."""
ALWAYS: Way = ()


class Demand:
    """Who uses the values of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self._users = kernel.users()
        self._conditions = {
            block.condition: block for block in kernel.blocks if block.condition is not None
        }
        self._phis: dict[tuple[Node, Block], list[Block]] = {}
        for block in kernel.blocks:
            for phi in block.phis:
                for value, source in zip(phi.operands, phi.literals, strict=True):
                    assert isinstance(source, Block)
                    self._phis.setdefault((value, source), []).append(block)

    def uses(self, node: Node) -> list[tuple[Block, list[Way]]]:
        """The blocks where a result is used, and the ways; `ALWAYS` is the only one if it is
        always used there."""
        assert node.block is not None
        own = self._ways(node, node.block, MOST_DEPTH)
        if ALWAYS in own:
            return [(node.block, [ALWAYS])]
        places = [(node.block, own)] if own else []
        for block in self._blocks(node)[:MOST_BLOCKS]:
            ways = self._ways(node, block, MOST_DEPTH)
            if ways:
                places.append((block, [ALWAYS] if ALWAYS in ways else ways))
        return places

    def _blocks(self, node: Node) -> list[Block]:
        """The other blocks with users of a result."""
        found: dict[Block, None] = {}
        for user in self._users.get(node, ()):
            if user.op == "Phi":
                sources = zip(user.operands, user.literals, strict=True)
                found |= {at: None for each, at in sources if each is node}  # type: ignore[misc]
            elif user.block is not None:
                found[user.block] = None
        if node in self._conditions:
            found[self._conditions[node]] = None
        found.pop(node.block, None)  # type: ignore[arg-type]
        return list(found)

    def _ways(self, node: Node, block: Block, depth: int) -> list[Way]:
        """How a value is used in a block; none if it is not."""
        if depth == 0 or self._conditions.get(node) is block:
            return [ALWAYS]
        ways = self._through_phis(node, block)
        for user in self._users.get(node, ()):
            if user.op == "Phi" or user.block is not block:
                continue
            ways += self._through(node, user, block, depth)
            if ALWAYS in ways or len(ways) > MOST_WAYS:
                return [ALWAYS]
        return ways

    def _through(self, node: Node, user: Node, block: Block, depth: int) -> list[Way]:
        facts = operation(user)
        if not facts.is_pure or facts.category not in FOLLOWED:
            return [ALWAYS]
        after = self._ways(user, block, depth - 1) + [ALWAYS] * self._is_used_behind(user, block)
        if user.op != "Select" or user.operands[0] is node:
            return after
        condition, first, second = user.operands
        if first is second:
            return after
        return [(*way, (condition, first is node)) for way in after]

    def _is_used_behind(self, node: Node, block: Block) -> bool:
        """Whether blocks other than one use a value, of which nobody asks when."""
        return any(each is not block for each in [*self._blocks(node)])

    def _through_phis(self, node: Node, block: Block) -> list[Way]:
        targets = self._phis.get((node, block), [])
        if not targets:
            return []
        if block.condition is None or block.switch is not None or len(block.successors) != 2:
            return [ALWAYS]
        taken, other = block.successors
        if taken is other:
            return [ALWAYS]
        return [((block.condition, target is taken),) for target in targets]


def condition_of(node: Node, ways: list[Way], added: list[Node]) -> Node | None:
    """A truth value, or one for each component, that says whether one of some ways is taken; adds
    the nodes that it needs. None: always."""
    count = node.type.count if isinstance(node.type, Vector) else 1

    def make(op: str, operands: list[Node]) -> Node:
        type_ = Vector(Bool(), count) if count > 1 else Bool()
        added.append(node.derive(op, type_, operands))
        return added[-1]

    def widened(condition: Node, wanted: bool) -> Node | None:
        has = condition.type.count if isinstance(condition.type, Vector) else 1
        if has not in (1, count):
            return None
        if has < count:
            condition = make("CompositeConstruct", [condition] * count)
        return condition if wanted else make("LogicalNot", [condition])

    total: Node | None = None
    for way in ways:
        all_of: Node | None = None
        for condition, wanted in way:
            part = widened(condition, wanted)
            if part is not None:
                all_of = part if all_of is None else make("LogicalAnd", [all_of, part])
        if all_of is None:
            return None
        total = all_of if total is None else make("LogicalOr", [total, all_of])
    return total
