"""Promotes variables to values in SSA form (mem2reg).

A variable whose address is only loaded from and stored to as a whole needs no memory. Each load is
replaced by the value that was stored last; where ways with different values meet there is a phi.
What is loaded before anything was stored is undefined.
"""

from __future__ import annotations

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Block, Kernel, Node, deadline
from groundstate.compiler.ir.ops import is_volatile
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.limits import MAX_NODES
from groundstate.compiler.spirv.types import Array, Pointer, RuntimeArray, Struct, Type

UNWRITTEN = "unwritten"
"""Marks what a variable holds before anything is stored to it (instrument/uninitialised.py)."""


def promote_variables(kernel: Kernel, analyses: Analyses) -> bool:
    """Promotes variables that need no memory to values in SSA form."""
    uses = kernel.users()
    simple = [
        node for node in kernel.nodes() if node.op == "Variable" and _is_simple(node, uses[node])
    ]
    if not simple:
        return False
    joins = _Joins(analyses.get(CFG))
    replaced: dict[Node, Node] = {}
    removed: set[Node] = set()
    phis = 0
    for variable in simple:
        deadline.check()
        phis += _Promotion(joins, variable, uses[variable]).run(replaced)
        if phis > MAX_NODES:
            raise BuildError(
                f"in function '{kernel.name}': its {len(simple)} variables have more than "
                f"{MAX_NODES} values where ways meet"
            )
        removed.add(variable)
        removed.update(uses[variable])
    _apply(kernel, replaced, removed)
    return True


def _is_simple(variable: Node, users: list[Node]) -> bool:
    assert isinstance(variable.type, Pointer)
    if isinstance(variable.type.pointee, Array | RuntimeArray | Struct) or variable.operands:
        return False
    for user in users:
        if user.op == "Load" and user.type == variable.type.pointee and not is_volatile(user):
            continue
        if user.op == "Store" and user.operands[0] is variable and not is_volatile(user):
            value = user.operands[1]
            if value is not variable and value.type == variable.type.pointee:
                continue
        return False
    return True


class _Joins:
    """Where ways meet: for each block, the blocks at which its own influence ends."""

    def __init__(self, cfg: CFG) -> None:
        self.dominator = cfg.dominator
        self._frontier: dict[Block, list[Block]] = {}
        for join in cfg.kernel.blocks:
            if len(join.predecessors) < 2:
                continue
            for each in join.predecessors:
                self._note(join, each)

    def _note(self, join: Block, source: Block) -> None:
        current: Block | None = source
        while current is not None and current is not self.dominator[join.index]:
            joins = self._frontier.setdefault(current, [])
            if joins[-1:] != [join]:
                joins.append(join)
            current = self.dominator[current.index]

    def behind(self, blocks: set[Block], inside: set[Block]) -> list[Block]:
        """The blocks of `inside` at which values from several of `blocks` meet, in order."""
        found: set[Block] = set()
        waiting = list(blocks)
        while waiting:
            for join in self._frontier.get(waiting.pop(), ()):
                if join in inside and join not in found:
                    found.add(join)
                    waiting.append(join)
        return sorted(found, key=lambda each: each.index)


class _Promotion:
    """What happens to one variable."""

    def __init__(self, joins: _Joins, variable: Node, users: list[Node]) -> None:
        self.joins = joins
        assert isinstance(variable.type, Pointer)
        assert variable.type.pointee is not None
        self.type: Type = variable.type.pointee
        self.where = variable.where
        self.by_block: dict[Block, list[Node]] = {}
        for user in sorted(users, key=lambda each: each.index):
            assert user.block is not None
            self.by_block.setdefault(user.block, []).append(user)
        self.leaving: dict[Block, Node] = {}
        """The value at the end of a block, where it is known by now."""
        self.undefined = Node("Undef", self.type, literals=(UNWRITTEN,), where=self.where)

    def run(self, replaced: dict[Node, Node]) -> int:
        """Says what takes the place of each load. Returns how many phis that needs."""
        stored = {
            block: stores[-1].operands[1]
            for block, users in self.by_block.items()
            if (stores := [each for each in users if each.op == "Store"])
        }
        self.leaving.update(stored)
        phis: dict[Block, Node] = {}
        for block in self.joins.behind(set(stored), self._needed_at(set(stored))):
            phis[block] = Node("Phi", self.type, where=self.where)
            block.phis.append(phis[block])
            self.leaving.setdefault(block, phis[block])
        for block, users in self.by_block.items():
            now = phis.get(block)
            for user in users:
                if user.op == "Store":
                    now = user.operands[1]
                    continue
                if now is None:
                    now = self._entering(block)
                replaced[user] = now
        for block, phi in phis.items():
            phi.operands = [self._leaving(each) for each in block.predecessors]
            phi.literals = tuple(block.predecessors)
        return len(phis)

    def _needed_at(self, storing: set[Block]) -> set[Block]:
        """The blocks at whose start the variable's value is still needed."""
        waiting = [block for block, users in self.by_block.items() if users[0].op == "Load"]
        needed: set[Block] = set()
        while waiting:
            block = waiting.pop()
            if block in needed:
                continue
            needed.add(block)
            waiting += [each for each in block.predecessors if each not in storing]
        return needed

    def _entering(self, block: Block) -> Node:
        """The value at the start of a block that has no phi."""
        above = self.joins.dominator[block.index]
        return self.undefined if above is None else self._leaving(above)

    def _leaving(self, block: Block) -> Node:
        """The value at the end of a block: that of the next one above that has one."""
        path: list[Block] = []
        current: Block | None = block
        while current is not None and current not in self.leaving:
            path.append(current)
            current = self.joins.dominator[current.index]
        found = self.undefined if current is None else self.leaving[current]
        for each in path:
            self.leaving[each] = found
        return found


def _apply(kernel: Kernel, replaced: dict[Node, Node], removed: set[Node]) -> None:
    def final(node: Node) -> Node:
        while node in replaced:
            node = replaced[node]
        return node

    for block in kernel.blocks:
        for node in (*block.phis, *block.nodes):
            node.operands = [final(each) for each in node.operands]
        if block.condition is not None:
            block.condition = final(block.condition)
        block.nodes = [node for node in block.nodes if node not in removed]
    kernel.renumber()
