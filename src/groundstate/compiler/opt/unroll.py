"""Unrolling: a loop with a short trip count gets an unrolled version, for when it is that count.

Kernels take four elements at a time, and fewer at the end, by a loop of min(n, 4) iterations. Lanes
then read elements that lie four apart. Where the minimum is the constant, the trip count is known:
the iterations stand in a row, without an induction variable, and loads that lie next to each other
can become one (`merge_loads.py`). For loads at an element stride that the program was given, as in
BLAS, that is so if the stride is 1, which is another condition for the version.
"""

from __future__ import annotations

from groundstate.compiler.analysis.cfg import Loop
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.analysis.simple_loop import SimpleLoop, copy_of
from groundstate.compiler.ir import Block, Kernel, Node, constant_int, constant_node
from groundstate.compiler.ir.ops import SHUFFLES, has_side_effects
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.opt.simplify import known_value, simplified
from groundstate.compiler.opt.versioning import Guard, Version, add_version
from groundstate.compiler.spirv.instructions import opencl_rows
from groundstate.compiler.spirv.types import Bool, Int

AT_LEAST = {"s_min": "SGreaterThanEqual", "u_min": "UGreaterThanEqual"}


@light_dataclass()
class _Limit:
    """Where a loop ends: a number that is a constant if a condition has a certain value."""

    node: Node
    constant: Node
    condition: Node
    """Made anew."""
    wanted: bool


def unroll(kernel: Kernel, analyses: Analyses) -> bool:
    """Gives each short loop that reads memory at steps an unrolled copy."""
    divergence, changed = analyses.get(Divergence), False
    if divergence.width == 1:
        return False
    for loop in divergence.cfg.loops:
        limit = _limit_of(loop)
        simple = SimpleLoop.of(divergence, loop) if limit is not None else None
        if limit is None or simple is None or not _is_worth_it(simple):
            continue
        if _Unrolling(simple, limit).unroll():
            kernel.reorder()  # the next loop may begin where this one ends
            changed = True
    return changed


def _limit_of(loop: Loop) -> _Limit | None:
    """What a loop's induction variable is compared with, if that may be a constant."""
    condition = loop.header.condition
    if condition is None or condition.block not in loop.blocks:
        return None
    limits = [_limit(each) for each in condition.operands if each.block not in loop.blocks]
    return next((each for each in limits if each is not None), None)


def _limit(node: Node) -> _Limit | None:
    if not isinstance(node.type, Int):
        return None
    if node.op == "Select" and isinstance(node.operands[0].type, Bool):
        question, *choices = node.operands
        known = [constant_int(each) is not None for each in choices]
        if sum(known) == 1 and not has_side_effects(question):
            place = known.index(True)
            return _Limit(node, choices[place], copy_of(question, {}), place == 0)
    if node.op == "ExtInst":
        row = opencl_rows().get(int(str(node.literals[1])))
        compared = AT_LEAST.get(row.name) if row is not None else None
        for constant, other in (node.operands, node.operands[::-1]) if compared else ():
            if compared and constant_int(constant) is not None:
                question = node.derive(compared, Bool(), [other, constant])
                return _Limit(node, constant, question, True)
    return None


def _is_worth_it(loop: SimpleLoop) -> bool:
    """True if lanes read numbers that differ and do not lie next to each other, and take nothing
    from other lanes, which might be in the other loop."""
    stride = loop.divergence.stride
    reads_at_steps = any(
        node.op == "Load" and stride(node.operands[0]) not in (0, node.type.size)
        for node in loop.nodes
    )
    is_alone = not any(node.op in SHUFFLES for node in loop.nodes)
    return reads_at_steps and is_alone and loop.can_be_copied()


class _Unrolling:
    """A loop, its limit, and the element_strides that are 1 in its copy."""

    def __init__(self, loop: SimpleLoop, limit: _Limit) -> None:
        self.loop = loop
        self.target = loop.divergence.target
        self.limit = limit
        found = {self._element_stride(node) for node in loop.nodes} - {None}
        self.element_strides = sorted((each for each in found if each), key=lambda each: each.index)

    def _element_stride(self, node: Node) -> Node | None:
        """What a node multiplies an index by that differs between lanes."""
        if node.op != "IMul" or not isinstance(node.type, Int) or node.type.width != 64:
            return None
        stride = self.loop.divergence.stride
        for factor, index in (node.operands, node.operands[::-1]):
            is_given = factor not in self.loop.inside and factor.op != "Constant"
            if is_given and stride(factor) == 0 and stride(index):
                return factor
        return None

    def unroll(self) -> bool:
        """Puts a copy with all iterations beside the loop; false if it would be too long."""
        where = self.loop.header.where
        copy, after, slow = Block(where), Block(where), Block(where)
        values = self._write_iterations(copy)
        if values is None:
            return False
        copy.successors = [after]
        self._move_limit(slow)
        fast = Version(copy, copy, after, values)
        add_version(self.loop, Block(where), self._guards(), fast, slow)
        return True

    # --- The iterations ---------------------------------------------------------------------------

    def _write_iterations(self, copy: Block) -> dict[Node, Node] | None:
        """Fills a block with all iterations; what the loop's values are at its end, or None if that
        would be too much, or the end is not in sight."""
        loop = self.loop
        values = {phi: loop.first_value(phi) for phi in loop.header.phis}
        values[self.limit.node] = self.limit.constant
        for _ in range(self.target.most_unrolled_iterations + 1):
            for block in loop.blocks:
                for node in block.nodes:
                    values[node] = self._again(node, values, copy)
                if block is not loop.header:
                    continue
                goes_on = known_value(values[loop.condition])
                if goes_on is None or len(copy.nodes) > self.target.most_unrolled_operations:
                    return None
                if loop.header.successors[0 if goes_on.value else 1] is loop.exit:
                    return values
            following = {phi: loop.next_value(phi) for phi in loop.header.phis}
            values |= {phi: values.get(value, value) for phi, value in following.items()}
        return None

    def _again(self, node: Node, values: dict[Node, Node], copy: Block) -> Node:
        """A node of the loop in one of the iterations."""
        copied = copy_of(node, values)
        factor = self._element_stride(node)
        if factor is not None:
            return copied.operands[1 - node.operands.index(factor)]
        simple = simplified(copied)
        if simple is None:
            copy.nodes.append(copied)
        return simple or copied

    # --- Before the loop ------------------------------------------------------------------------

    def _guards(self) -> list[Guard]:
        """When the copy does what the loop does: element strides are 1, the limit is known."""
        guards = []
        for factor in self.element_strides:
            one = constant_node(factor.type, 1)
            is_one = self.limit.condition.derive("IEqual", Bool(), [factor, one])
            guards.append(Guard(is_one, [is_one]))
        return [*guards, Guard(self.limit.condition, [self.limit.condition], self.limit.wanted)]

    def _move_limit(self, there: Block) -> None:
        """Lets the limit be computed where only the loop needs it."""
        users = self.loop.kernel.users()
        readers = self.loop.inside
        limit = self.limit.node
        for node in (limit, limit.operands[0]) if limit.op == "Select" else (limit,):
            if node.block is None or not readers.issuperset(users[node]):
                return
            if has_side_effects(node) or node.op == "Load":
                return
            node.block.nodes.remove(node)
            there.nodes.insert(0, node)
            readers = {node}
