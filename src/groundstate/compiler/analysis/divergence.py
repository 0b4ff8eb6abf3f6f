"""Which values differ between the lanes of a sub-group, and how.

Each value has a lane stride: 0 if all lanes have the same (uniform), k if lane i has the first
lane's value plus i * k (affine; integers and pointers), `VARYING` otherwise. Strides start
optimistic and only get worse until nothing changes. A branch is divergent if its condition is not
uniform. A block is divergent if a divergent branch decides whether it is reached, so that only some
lanes may be there.
"""

from __future__ import annotations

from groundstate.compiler.analysis.affine import Lanes
from groundstate.compiler.analysis.cfg import CFG, Loop
from groundstate.compiler.analysis.interleaving import interleaved_addresses
from groundstate.compiler.analysis.lane_blocks import stride_within_block
from groundstate.compiler.analysis.lane_values import picked_lanes
from groundstate.compiler.analysis.refill import refilled_loop
from groundstate.compiler.analysis.shared_variables import writers_of_variables
from groundstate.compiler.ir import Block, Kernel, Node, deadline
from groundstate.compiler.ir.addresses import chain_steps
from groundstate.compiler.ir.ops import LEAVES, SHUFFLES, LaneRule, is_reduction, operation
from groundstate.compiler.ir.passes import Analyses, Variant
from groundstate.compiler.spirv.types import Pointer, Type
from groundstate.compiler.target import Target

VARYING = None
Stride = int | None

_UNKNOWN = "not reached yet"

LONGEST_STRIDE = 1 << 60
"""Bytes, or numbers: more would wrap."""
OF_WORK_ITEMS = frozenset(
    (
        *("LocalInvocationId", "GlobalInvocationId", "WorkgroupId"),
        *("LocalInvocationIndex", "GlobalLinearId"),
    )
)
"""The built-in variables that work-items of several groups have each for itself."""
MAX_SOLVES = 5
"""How often all is solved at most, to find variables that are the same for all lanes."""


class Divergence:
    """The strides of a kernel's values for a group size and a number of lanes."""

    def __init__(self, kernel: Kernel, cfg: CFG, variant: Variant, target: Target) -> None:
        self.kernel = kernel
        self.cfg = cfg
        self.variant = variant
        self.target = target
        self.group_size = group_size = variant.group_size
        self.width = width = variant.width
        self.subgroup = variant.subgroup
        self.axes = walked_axes(group_size, variant.axis)
        self.axis = self.axes[0]
        self.rows_are_whole = group_size[self.axis] % width == 0
        self.shared = writers_of_variables(kernel) if width > 1 else {}
        """Variables of which all lanes use one copy, and what writes to them."""
        self.interleaved: dict[Node, int] = {}
        self.strides: dict[Node, Stride | str] = {}
        self.divergent_branches: set[Block] = set()
        self.divergent_blocks: set[Block] = set()
        self.divergent_loops: set[Loop] = set()
        self.refilled = refilled_loop(cfg) if variant.refills else None
        """The loop whose lanes take the next work-items when they are done, if that is so."""
        self._lanes = _Lanes(self)
        self._regions = {block: self._join_region(block) for block in kernel.blocks if block.phis}
        if width > 1:
            self._solve_for_variables()

    @classmethod
    def compute(cls, analyses: Analyses) -> Divergence:
        return cls(analyses.kernel, analyses.get(CFG), analyses.variant, analyses.target)

    def stride(self, node: Node) -> Stride:
        """The stride of a value where it is defined."""
        if self.width == 1:
            return 0
        found = self.strides.get(node, 0)
        return 0 if isinstance(found, str) else found

    def stride_at(self, node: Node, block: Block) -> Stride:
        """The stride of a value where it is used: lanes may have left a loop at different times."""
        return VARYING if self.escapes(node, block) else self.stride(node)

    def escapes(self, node: Node, block: Block) -> bool:
        """True if the value is used after a loop that lanes left in different iterations."""
        if node.block is None:
            return False
        loop = self.cfg.loop_of.get(node.block)
        while loop is not None and not loop.contains(block):
            if loop in self.divergent_loops:
                return True
            loop = loop.parent
        return False

    # --- Solving --------------------------------------------------------------------------------

    def _solve_for_variables(self) -> None:
        """Solves as if every variable that can be shared were, and once more without those that
        turn out to differ between lanes, until all that are left hold the same for all. What
        takes too long to find out is not worth it."""
        for solves_left in reversed(range(MAX_SOLVES)):
            if solves_left == 0:
                self.shared = {}
            self.interleaved = interleaved_addresses(self.kernel, self.target, self.shared)
            self.divergent_branches, self.divergent_blocks = set(), set()
            self.divergent_loops = set()
            self._solve()
            different = [
                variable
                for variable, writers in self.shared.items()
                if not all(map(self._is_the_same_for_all, writers))
            ]
            if not different:
                return
            for variable in different:
                del self.shared[variable]

    def _is_the_same_for_all(self, writer: Node) -> bool:
        block = writer.block
        assert block is not None
        return block not in self.divergent_blocks and all(
            self._known_at(each, block) in (0, _UNKNOWN) for each in writer.operands
        )

    def _solve(self) -> None:
        for node in self.kernel.nodes():
            self.strides[node] = _UNKNOWN
        changed = True
        while changed:
            deadline.check()
            changed = self._update_values()
            changed |= self._update_control()

    def _update_values(self) -> bool:
        changed = False
        for block in self.kernel.blocks:
            for node in (*block.phis, *block.nodes):
                before = self.strides[node]
                if before is VARYING:
                    continue
                now = self._phi(node, block) if node.op == "Phi" else self._transfer(node, block)
                if now != before and before != _UNKNOWN:
                    now = VARYING  # a second change of mind: give up
                if now != before:
                    self.strides[node] = now
                    changed = True
        return changed

    def _update_control(self) -> bool:
        divergent = {
            block
            for block in self.kernel.blocks
            if block.condition is not None and self._known_at(block.condition, block) != 0
        }
        blocks = self._divergent_blocks(divergent)
        loops = {loop for loop in self.cfg.loops if self._leaves_in_parts(loop, divergent)}
        if self.refilled is not None:  # lanes come and go at any time
            blocks.update(self.kernel.blocks)
            loops.add(self.refilled)
        changed = (divergent, blocks, loops) != (
            self.divergent_branches,
            self.divergent_blocks,
            self.divergent_loops,
        )
        self.divergent_branches, self.divergent_blocks = divergent, blocks
        self.divergent_loops = loops
        return changed

    def _divergent_blocks(self, divergent: set[Block]) -> set[Block]:
        blocks: set[Block] = set()
        growing = True
        while growing:
            deadline.check()
            growing = False
            for block in self.kernel.blocks:
                if block in blocks:
                    continue
                branches = self.cfg.control_dependences[block.index]
                if any(each in divergent or each in blocks for each in branches):
                    blocks.add(block)
                    growing = True
        return blocks

    def _leaves_in_parts(self, loop: Loop, divergent: set[Block]) -> bool:
        """True if some lanes may leave the loop while others go on."""
        for source, _ in loop.exits():
            if source in divergent:
                return True
            seen: set[Block] = set()
            waiting = [source]
            while waiting:
                for each in self.cfg.control_dependences[waiting.pop().index]:
                    if each not in seen and loop.contains(each):
                        seen.add(each)
                        waiting.append(each)
            if seen & divergent:
                return True
        return False

    # --- Joins ----------------------------------------------------------------------------------

    def _join_region(self, block: Block) -> set[Block]:
        """The blocks between the last common block of all ways to a join, and the join."""
        top = self.cfg.dominator[block.index]
        loop = self.cfg.loop_of.get(block)
        is_header = loop is not None and loop.header is block
        region: set[Block] = set()
        waiting = [
            each for each in block.predecessors if not (is_header and loop and loop.contains(each))
        ]
        while waiting:
            each = waiting.pop()
            if each in region:
                continue
            region.add(each)
            if each is not top:
                waiting.extend(each.predecessors)
        return region

    def _phi(self, phi: Node, block: Block) -> Stride | str:
        loop = self.cfg.loop_of.get(block)
        is_header = loop is not None and loop.header is block
        if self.refilled is not None and block is self.refilled.header:
            return VARYING
        inner: list[tuple[Node, object]] = []
        outer: list[tuple[Node, object]] = []
        for value, source in zip(phi.operands, phi.literals, strict=True):
            assert isinstance(source, Block)
            from_latch = is_header and loop is not None and loop.contains(source)
            (inner if from_latch else outer).append((value, source))
        if self._mixes(outer, self._regions[block]):
            return VARYING
        if is_header and loop is not None and self._mixes(inner, loop.blocks):
            return VARYING
        if self._arrives_in_parts(outer, block):
            return VARYING
        known = {
            stride
            for value, source in (*inner, *outer)
            if isinstance(source, Block) and (stride := self._known_at(value, source)) != _UNKNOWN
        }
        if not known:
            return _UNKNOWN
        return known.pop() if len(known) == 1 else VARYING

    def _mixes(self, incoming: list[tuple[Node, object]], region: set[Block]) -> bool:
        """True if lanes may come with different values because they came different ways."""
        if len({id(value) for value, _ in incoming}) < 2 or region.isdisjoint(
            self.divergent_branches
        ):
            return False
        return not self._ways(incoming, region).isdisjoint(self.divergent_branches)

    def _ways(self, incoming: list[tuple[Node, object]], region: set[Block]) -> set[Block]:
        """The blocks of a region that decide by which way a lane comes. Lanes that part and meet
        again before have come the same way."""
        waiting = [source for _, source in incoming if isinstance(source, Block)]
        found = {each for each in waiting if len(each.successors) > 1}
        while waiting:
            for each in self.cfg.control_dependences[waiting.pop().index]:
                if each in region and each not in found:
                    found.add(each)
                    waiting.append(each)
        return found

    def _arrives_in_parts(self, incoming: list[tuple[Node, object]], block: Block) -> bool:
        """True if lanes come out of a loop in different iterations, with values of that loop."""
        for value, source in incoming:
            assert isinstance(source, Block)
            loop = self.cfg.loop_of.get(source)
            while loop is not None and not loop.contains(block):
                inside = value.block is not None and loop.contains(value.block)
                if loop in self.divergent_loops and (inside or len(incoming) > 1):
                    return True
                loop = loop.parent
        return False

    # --- One node -------------------------------------------------------------------------------

    def _known_at(self, node: Node, block: Block) -> Stride | str:
        if node.op in LEAVES:
            return 0
        return VARYING if self.escapes(node, block) else self.strides[node]

    def _transfer(self, node: Node, block: Block) -> Stride | str:
        rule = operation(node).divergence
        if rule is LaneRule.UNIFORM:
            return 0
        if rule is LaneRule.VARYING:
            return VARYING
        if node.op == "Builtin":
            return self._builtin(node)
        if node.op == "Variable":
            return self._variable(node)
        inputs = [self._known_at(each, block) for each in node.operands]
        if _UNKNOWN in inputs:
            return _UNKNOWN
        strides: list[Stride] = [each for each in inputs if not isinstance(each, str)]
        if rule is LaneRule.SPECIAL:
            return self._special(node, block, strides)
        return self.stride_of(node, strides)

    def _variable(self, node: Node) -> Stride:
        if node in self.shared:
            return 0
        assert isinstance(node.type, Pointer)
        return self.interleaved.get(node) or lane_stride(node.type.pointee)

    def _special(self, node: Node, block: Block, strides: list[Stride]) -> Stride:
        if node.op == "AtomicLoad":
            return 0 if all(stride == 0 for stride in strides) else VARYING
        if node.op in SHUFFLES:
            return 0 if self._has_one_source(node, block) else VARYING
        return 0 if is_reduction(node) else VARYING

    def _has_one_source(self, shuffle: Node, block: Block) -> bool:
        """True if all lanes are there and take the value of the same one."""
        if block in self.divergent_blocks or not self.rows_are_whole:
            return False
        picks = picked_lanes(shuffle, self.subgroup, self.width)
        return picks is not None and len(set(picks)) == 1

    def stride_of(self, node: Node, strides: list[Stride]) -> Stride:
        """The stride of an operation's result, by those of its operands."""
        if all(stride == 0 for stride in strides):
            return 0
        if VARYING in strides:
            return VARYING
        known = [stride for stride in strides if stride is not None]
        found = self._lanes.step(node, known)
        if found is None and known[0] == 1 and self.rows_are_whole:
            found = stride_within_block(node, self.width)
        return found if found is not None and abs(found) < LONGEST_STRIDE else VARYING

    def steps(self, chain: Node) -> list[tuple[int | None, int]]:
        """The steps of an access chain in this kernel's memory, where copies of an array may be
        interleaved."""
        factor = self.width if chain.operands[0] in self.interleaved else 1
        return [(size and size * factor, offset * factor) for size, offset in chain_steps(chain)]

    def _builtin(self, node: Node) -> Stride:
        name = str(node.literals[0])
        component = node.literals[1] if len(node.literals) > 1 else None
        if self.refilled is not None and name in OF_WORK_ITEMS:
            return VARYING
        if name in ("LocalInvocationId", "GlobalInvocationId"):
            if component is None:
                return VARYING
            if self.rows_are_whole:
                return 1 if component == self.axis else 0
            return VARYING
        if name in ("LocalInvocationIndex", "SubgroupLocalInvocationId", "GlobalLinearId"):
            in_line = self.rows_are_whole and self.axis == 0
            return 1 if name != "GlobalLinearId" or in_line else VARYING
        return VARYING if name.startswith("Subgroup") and name.endswith("Mask") else 0


class _Lanes(Lanes):
    """The lanes of a kernel variant, in whose memory copies of an array may be interleaved."""

    def __init__(self, divergence: Divergence) -> None:
        self.divergence = divergence

    def sizes(self, chain: Node) -> list[tuple[int | None, int]]:
        return self.divergence.steps(chain)


def walked_axes(group_size: tuple[int, int, int], first: int | None = None) -> tuple[int, ...]:
    """The axes in the order in which sub-groups walk through a group, those without extent last.
    Lanes lie along the first."""
    return tuple(sorted(range(3), key=lambda axis: (axis != first, group_size[axis] == 1, axis)))


def lane_stride(pointee: Type | None) -> int:
    """How far apart the lanes' copies of a private variable lie."""
    assert pointee is not None
    return max(1, -(-pointee.size // pointee.align) * pointee.align)
