"""Blocks in which lanes may be missing, written a second time for when none is.

Most checks of a bound hold for all lanes, and most loops are left by all in the same iteration, or
in the last one only. So blocks that have a mask are also written without one. Control is there
while all lanes are active: a branch on which they disagree gives each its place in a mask, and the
blocks with masks go on.
"""

from __future__ import annotations

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.codegen.control.extremes import (
    compare,
    extremes,
    goes_one_way,
    last_lane,
)
from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Block, Node
from groundstate.compiler.ir.ops import operation
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.spirv.types import Int
from groundstate.compiler.target import Target

ENDS = ("low", "high")


def _chosen(divergent: set[Block], cfg: CFG, target: Target) -> set[Block]:
    """The blocks that are written twice: all that have a mask, or those in loops, or none."""
    in_loops = {block for block in divergent if block in cfg.loop_of}
    for blocks, most in (
        (set(divergent), target.most_duplicated_operations),
        (in_loops, target.most_duplicated_in_loops),
    ):
        if sum(len(block.nodes) for block in blocks) <= most:
            return blocks
    return set()


class AllLanesPath:
    """Which blocks are written twice, and what is asked about branches in the second copy."""

    def __init__(self, emitter: Emitter, cfg: CFG) -> None:
        self.emitter = emitter
        self.text = emitter.text
        self.cfg = cfg
        self.divergence = emitter.divergence
        self.blocks = _chosen(self.divergence.divergent_blocks, cfg, emitter.context.target)
        self._extremes: dict[tuple[Node, str], str] = {}
        """Where the lowest and highest numbers of all lanes wait that a loop compares with."""

    def may_begin(self, block: Block, has_vector_accesses: bool) -> bool:
        """True for a block with a mask where it is asked whether lanes have found together again.

        That is where it saves most, and where it gives no loop of the second copy a second entry:
        at the head of a loop that is not part of another, and outside of loops."""
        if block not in self.blocks:
            return False
        if block not in self.cfg.loop_of:
            return has_vector_accesses and not self.was_asked_before(block)
        return self._outermost_head(block) is block

    def was_asked_before(self, block: Block) -> bool:
        """True if lanes that come to a block with a mask have been asked if all are there, or will
        be when their loop begins its next iteration."""
        if block not in self.blocks:
            return False
        came_from_all = self.divergence.divergent_blocks.isdisjoint(block.predecessors)
        return came_from_all or self._outermost_head(block) is not None

    def _outermost_head(self, block: Block) -> Block | None:
        """The head of the loop that a block is in, if that is written twice and its parent not."""
        loop = self.cfg.loop_of.get(block)
        if loop is None or loop.header not in self.blocks:
            return None
        is_inner = loop.parent is not None and loop.parent.header in self.blocks
        return None if is_inner else loop.header

    def is_asked_behind(self, block: Block) -> bool:
        """True if it is worth asking, at the end of a block, whether lanes agree where to go."""
        return block.switch is None and not self.blocks.isdisjoint((block, *block.successors))

    def enter(self, header: Block, source: Block | None = None) -> None:
        """Finds out, on the way into a loop, what its branches will be decided by."""
        loop = self.cfg.loop_of.get(header)
        if loop is None or loop.header is not header or (source and loop.contains(source)):
            return
        for block in sorted(loop.blocks & self.blocks, key=lambda each: each.index):
            known = self._known_before(block)
            if known is None or self.cfg.loop_of[block] is not loop:
                continue
            if not self.emitter.is_at_hand(known):
                continue
            assert block.condition is not None
            sign, type_ = block.condition.op[0], scalar_type(known.type)
            for which, found in zip(ENDS, extremes(self.emitter, known, sign), strict=True):
                self.text.do(f"store {type_} {found}, ptr {self._place(known, sign + which)}")

    def agreement(self, block: Block) -> tuple[str, str]:
        """Two truth values for the end of a block: that its condition holds in all lanes, and
        that it holds in none.

        Both may be false although lanes agree, if that is rare and to know it would cost more."""
        text, condition = self.text, block.condition
        assert condition is not None
        found = self._found(block, condition)
        if found is not None:
            return found
        bits = text.as_vector(self.emitter.scalar(condition))
        number = text.emit(f"bitcast {text.vector_type('i1')} {bits} to i{text.width}")
        always = text.emit(f"icmp eq i{text.width} {number}, -1")
        return always, text.emit(f"icmp eq i{text.width} {number}, 0")

    def _found(self, block: Block, claim: Node) -> tuple[str, str] | None:
        """That a claim holds in all lanes and that it holds in none, if that takes few steps."""
        text = self.text
        if self.divergence.stride_at(claim, block) == 0:
            if not self.emitter.is_at_hand(claim):
                return None
            holds = self.emitter.scalar(claim).name
            return holds, text.emit(f"xor i1 {holds}, true")
        if not all(map(self.emitter.is_at_hand, claim.operands)):
            return None
        if claim.op in ("LogicalAnd", "LogicalOr"):
            return self._found_of_two(block, claim)
        if claim.op in ("IEqual", "INotEqual"):
            differ = self._all_differ(block, claim.operands)
            if differ is None:
                return None
            return ("false", differ) if claim.op == "IEqual" else (differ, "false")
        if operation(claim).is_ordering:
            opposite = operation(claim).negated
            always = self._always(block, claim.op, claim.operands)
            never = self._always(block, opposite, claim.operands)
            if always is not None and never is not None:
                return always, never
        return None

    def _found_of_two(self, block: Block, claim: Node) -> tuple[str, str] | None:
        one, other = (self._found(block, each) for each in claim.operands)
        if one is None or other is None:
            return None
        (always, never), (also, neither) = one, other
        both, either = ("and", "or") if claim.op == "LogicalAnd" else ("or", "and")
        return (
            self.text.emit(f"{both} i1 {always}, {also}"),
            self.text.emit(f"{either} i1 {never}, {neither}"),
        )

    def _all_differ(self, block: Block, operands: list[Node]) -> str | None:
        """A truth value that says that no lane has a certain number, where lanes go up by a fixed
        step: that it lies before the first lane or behind the last. So it is known of all
        sub-groups but one that the group's first work-item is not in them."""
        strides = [self.divergence.stride_at(each, block) for each in operands]
        if strides.count(0) != 1 or None in strides or not isinstance(operands[0].type, Int):
            return None
        number, moving = sorted(
            map(self.emitter.scalar, operands), key=lambda each: each.stride != 0
        )
        if moving.stride is None or not goes_one_way(self.emitter, moving):
            return None
        ends = (number.name, moving.name) if moving.stride > 0 else (moving.name, number.name)
        distance = self.text.emit(f"sub {moving.type} {ends[0]}, {ends[1]}")
        across = abs(moving.stride) * (self.text.width - 1)
        return self.text.emit(f"icmp ugt {moving.type} {distance}, {across}")

    def _always(self, block: Block, op: str, operands: list[Node]) -> str | None:
        """A truth value that says that a comparison holds in all lanes, if that takes few steps.

        It is enough to look at the lanes in which it is the least likely: the first and the last
        of what goes up by a fixed step, if it does not wrap in between, or that with the lowest or
        highest of the numbers that were known before the loop began."""
        strides = [self.divergence.stride_at(each, block) for each in operands]
        if strides.count(0) != 1:
            return None
        moving = 1 - strides.index(0)
        step = strides[moving]
        if step is None:
            return self._always_beyond(block, op, operands)
        values = [self.emitter.scalar(each) for each in operands]
        if not goes_one_way(self.emitter, values[moving]):
            return None
        first, last = values[moving], last_lane(self.emitter, values[moving])
        claims = [compare(self.emitter, op, *values)]
        values[moving] = last
        claims.append(compare(self.emitter, op, *values))
        in_order = op[0] + ("GreaterThanEqual" if step > 0 else "LessThanEqual")
        claims.append(compare(self.emitter, in_order, last, first))
        both = self.text.emit(f"and i1 {claims[0]}, {claims[1]}")
        return self.text.emit(f"and i1 {both}, {claims[2]}")

    def _always_beyond(self, block: Block, op: str, operands: list[Node]) -> str | None:
        known = self._known_before(block)
        if known is None:
            return None
        moving = operands.index(known)
        is_low = ("Greater" in op) == (moving == 0)
        place = self._place(known, op[0] + ENDS[0 if is_low else 1])
        values = [self.emitter.scalar(each) for each in operands]
        type_ = values[moving].type
        values[moving] = Lanes(type_, self.text.emit(f"load {type_}, ptr {place}"))
        return compare(self.emitter, op, *values)

    def _known_before(self, block: Block) -> Node | None:
        """The number of each lane, known before a loop of the second copy begins, that a block in
        it compares at its end with something that is the same for all."""
        condition, loop = block.condition, self.cfg.loop_of.get(block)
        if condition is None or not operation(condition).is_ordering:
            return None
        if loop is None or not self.blocks.issuperset((block, loop.header)):
            return None
        strides = [self.divergence.stride_at(each, block) for each in condition.operands]
        if None not in strides or 0 not in strides:
            return None
        known = condition.operands[strides.index(None)]
        return known if known.block is not None and not loop.contains(known.block) else None

    def _place(self, known: Node, which: str) -> str:
        if (known, which) not in self._extremes:
            slot = self.emitter.new_slot(scalar_type(known.type), "x")
            self._extremes[known, which] = slot
        return self._extremes[known, which]
