"""If-conversion: both sides of a short branch are computed where lanes disagree on it.

Lanes that part need masks, and a look at whether a side has any: that costs more than a few
operations that some of them do for nothing. `count += a < b || (a == b && i < j)` is such a
branch, and so is a limit that is applied now and then. In goes a branch with one side or two that
compute little, and nothing that anybody sees, and meet again; out comes one block, with choices in
the place of the phis behind it. Loops get simpler, too, and so other passes see more of them.
"""

from __future__ import annotations

from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.analysis.register_pressure import registers_of
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.ops import guards_of, operation
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.types import Bool, Float, Int, Type, Vector

SHORT_FUNCTIONS = frozenset(
    """fabs fmin fmax fclamp fma mad step sign s_abs u_abs s_min u_min s_max u_max s_clamp u_clamp
    select bitselect rotate s_mul24 u_mul24 s_mad24 u_mad24""".split()  # noqa: SIM905
)
"""Of OpenCL.std, those that take an instruction or a few."""
WORD_BYTES = 4
"""Of a number that is divided: vectors of wider ones take several times as long."""


def if_convert(kernel: Kernel, analyses: Analyses) -> bool:
    """Computes both sides of short branches on which lanes disagree."""
    if analyses.variant.width == 1:
        return False
    conversion = _Conversion(analyses.get(Divergence))
    for block in reversed(kernel.blocks):  # inner branches first
        if block in conversion.divergence.divergent_branches and block.switch is None:
            conversion.try_branch(block)
    if not conversion.changed:
        return False
    kernel.reorder()
    kernel.replace(conversion.resolved())
    return True


class _Conversion:
    """What has become of a kernel's branches so far."""

    def __init__(self, divergence: Divergence) -> None:
        self.divergence = divergence
        self.changed = False
        self._replaced: dict[Node, Node] = {}
        """Phis that are gone."""
        self._gone: set[Block] = set()

    def resolved(self) -> dict[Node, Node]:
        """What stands in the place of phis that are gone."""
        for phi in self._replaced:
            while self._replaced[phi] in self._replaced:
                self._replaced[phi] = self._replaced[self._replaced[phi]]
        return self._replaced

    def try_branch(self, block: Block) -> None:
        """Makes one block of a branch and its sides, if it is one that pays."""
        if block in self._gone or len(block.successors) != 2:
            return
        yes, no = block.successors
        join = _join(block, yes, no)
        if join is None or not self._stays_inside(block, join):
            return
        sides = [each for each in (yes, no) if each is not join]
        merged = [phi for phi in join.phis if self._differs(phi, block, yes, no, join)]
        nodes = [node for side in sides for node in side.nodes]
        if not all(map(_can_be_computed, nodes)):
            return
        if not all(_can_be_chosen(phi.type) for phi in merged):
            return
        if sum(map(self._cost, (*nodes, *merged))) <= self.divergence.target.most_converted:
            self._convert(block, sides, join)

    def _cost(self, node: Node) -> float:
        """The registers that an operation computes; a division counts for as many as it blocks."""
        target, slots = self.divergence.target, 1.0
        if operation(node).divides:
            slots = target.division_cycles
        return slots * registers_of(node, self.divergence)

    def _stays_inside(self, block: Block, join: Block) -> bool:
        """True if a branch and where its sides meet are parts of the same iteration."""
        loops = self.divergence.cfg.loop_of
        loop = loops.get(block)
        return loops.get(join) is loop and (loop is None or loop.header is not join)

    def _differs(self, phi: Node, block: Block, yes: Block, no: Block, join: Block) -> bool:
        values = [_value(phi, block if side is join else side) for side in (yes, no)]
        return values[0] is not values[1]

    def _convert(self, block: Block, sides: list[Block], join: Block) -> None:
        self.changed = True
        condition = block.condition
        assert condition is not None
        ways = [block if each is join else each for each in block.successors]
        for side in sides:
            block.nodes += side.nodes
            self._gone.add(side)
        for phi in join.phis:
            chosen = [_value(phi, way) for way in ways]
            value = chosen[0]
            if chosen[0] is not chosen[1]:
                value = phi.derive("Select", phi.type, [condition, *chosen])
                block.nodes.append(value)
            pairs = zip(phi.operands, phi.literals, strict=True)
            kept = [(each, source) for each, source in pairs if source not in ways]
            phi.operands = [*(each for each, _ in kept), value]
            phi.literals = (*(source for _, source in kept), block)
        block.condition, block.successors = None, [join]
        join.predecessors = [each for each in join.predecessors if each not in ways] + [block]
        if join.predecessors == [block]:
            self._absorb(block, join)

    def _absorb(self, block: Block, following: Block) -> None:
        """Makes one block of two that follow each other."""
        self._gone.add(following)
        for phi in following.phis:
            self._replaced[phi] = phi.operands[0]
        block.nodes += following.nodes
        block.condition, block.switch = following.condition, following.switch
        block.successors = following.successors
        for successor in set(following.successors):
            successor.predecessors = [
                block if each is following else each for each in successor.predecessors
            ]
            for phi in successor.phis:
                phi.literals = tuple(block if each is following else each for each in phi.literals)


def _join(block: Block, yes: Block, no: Block) -> Block | None:
    """Where the sides of a branch meet, if they are a block each, or none."""
    ends = [_end(block, side) for side in (yes, no)]
    if ends[0] is not None and ends[0] in (no, ends[1]):
        return ends[0]
    return yes if ends[1] is yes else None


def _end(block: Block, side: Block) -> Block | None:
    """Where a side goes on that only this branch leads to."""
    is_side = side.predecessors == [block] and len(side.successors) == 1
    return side.successors[0] if is_side and not side.phis and not side.cold else None


def _value(phi: Node, source: Block) -> Node:
    return next(
        value for value, each in zip(phi.operands, phi.literals, strict=True) if each is source
    )


def _can_be_computed(node: Node) -> bool:
    """True for an operation that nobody sees, and that takes not much longer than a branch."""
    row = operation(node)
    is_short = node.op != "ExtInst" or row.name in SHORT_FUNCTIONS
    if row.divides:
        is_short = node.op == "FDiv" and _element(node.type).size <= WORD_BYTES
    return row.is_pure and is_short and node.op != "Variable" and not guards_of(node)


def _can_be_chosen(type_: Type) -> bool:
    """True for numbers, and vectors of them."""
    return isinstance(_element(type_), Bool | Int | Float)


def _element(type_: Type) -> Type:
    return type_.element if isinstance(type_, Vector) else type_
