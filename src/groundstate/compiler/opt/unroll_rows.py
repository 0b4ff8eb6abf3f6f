"""Row unrolling: a loop in which each work-item walks along a row of its own takes several steps.

A work-item that adds up a row of a matrix, hashes a word or compares two strings reads the next
element in each iteration, and lanes read far apart: each iteration gathers. Where there are enough
iterations left, a copy of the loop runs several of them one after the other. What a lane reads in
these lies next to each other and becomes one load (`merge_loads.py`), whose elements are turned in
registers or shifted out of a word. The loop itself does the rest: always at least one iteration, so
that it alone is left, with its own values.

The iterations and their order stay as they are, and so does every result. An index of 32 bits may
wrap, and then the next element is not the one behind: the copy runs only as far as none does.
"""

from __future__ import annotations

from typing import NamedTuple

from groundstate.compiler.analysis.affine import Step
from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.analysis.induction import Induction, LoopTest
from groundstate.compiler.analysis.simple_loop import (
    SimpleLoop,
    SingleExitLoop,
    copy_of,
    retarget,
)
from groundstate.compiler.ir import Block, Kernel, Node, constant_node
from groundstate.compiler.ir.addresses import chain_steps
from groundstate.compiler.ir.ops import (
    CHAINS,
    SAME_ADDRESS,
    SHUFFLES,
    has_side_effects,
    is_volatile,
)
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.opt.simplify import simplified
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Bool, Float, Int, Pointer

TOGETHER = 4
"""Iterations: as many numbers as are turned in registers, or fit into a word."""
ROW_STORAGES = frozenset((StorageClass.CrossWorkgroup, StorageClass.UniformConstant))
OWN_STORAGES = frozenset((StorageClass.Function, StorageClass.Workgroup))
"""Memory of a work-item, and of a group."""
READABLE = (1, 2, 4)
"""Bytes of an element of which four are read at once."""
STEPPING = CHAINS | SAME_ADDRESS
HIGHEST = {"UConvert": "ULessThan", "SConvert": "SLessThan"}
"""By which an index is compared with the highest that can be widened and go up."""


def unroll_rows(kernel: Kernel, analyses: Analyses) -> bool:
    """Lets lanes that walk along rows of their own take several steps at once."""
    if analyses.variant.width == 1:
        return False
    changed = False
    for header in [loop.header for loop in analyses.get(CFG).loops if not loop.header.cold]:
        unrolling = _unrolling(analyses.get(Divergence), header)
        if unrolling is not None:
            unrolling.unroll()
            kernel.reorder()
            analyses.invalidate()
            changed = True
    return changed


def _unrolling(divergence: Divergence, header: Block) -> _Unrolling | None:
    """What there is to do with a loop, if lanes walk along rows in it."""
    loop = divergence.cfg.loop_of[header]
    single = SimpleLoop.of(divergence, loop) or SingleExitLoop.left_at_its_end(divergence, loop)
    if single is None or not _can_be_unrolled(single):
        return None
    induction = Induction(single)
    always = single.blocks if isinstance(single, SimpleLoop) else [header]
    nodes = [node for block in always for node in block.nodes]
    rows = [row for node in nodes if (row := _row(single, induction, node))]
    if not rows or induction.test is None:
        return None
    return _Unrolling(single, induction, induction.test, rows)


def _can_be_unrolled(loop: SingleExitLoop) -> bool:
    """True if the loop does nothing but read, compute, and write to memory that is no row, and is
    short."""
    nodes = [node for block in loop.blocks for node in block.nodes]
    if any(
        (has_side_effects(node) and not _is_apart(node)) or node.op in SHUFFLES for node in nodes
    ):
        return False
    return len(nodes) * TOGETHER <= loop.divergence.target.most_unrolled_operations


def _is_apart(node: Node) -> bool:
    """True if a node only writes, and to memory in which there are no rows."""
    place = node.operands[0].type if node.op == "Store" and not is_volatile(node) else None
    return isinstance(place, Pointer) and place.storage in OWN_STORAGES


class _Row(NamedTuple):
    """A load of an element behind the one before."""

    load: Node
    widened: Node | None
    """What makes 64 bits of the index that goes up, if it has fewer."""


def _row(loop: SingleExitLoop, induction: Induction, node: Node) -> _Row | None:
    """A load that goes along a row which other lanes do not share, and which does not lie beside
    that of the next lane."""
    if node.op != "Load" or not isinstance(node.type, Int | Float):
        return None
    pointer, size = node.operands[0], node.type.size
    if pointer.op not in CHAINS or size not in READABLE or node.block is None:
        return None
    assert isinstance(pointer.type, Pointer)
    if pointer.type.storage not in ROW_STORAGES:
        return None
    stride = loop.divergence.stride_at(pointer, node.block)
    if stride is not None and abs(stride) <= TOGETHER * size:
        return None
    moved, widened = 0, None
    while pointer.op in STEPPING and pointer in loop.inside:
        for index, (bytes_, _) in zip(pointer.operands[1:], _steps(pointer), strict=True):
            step = _step(induction, index)
            if step is None or step.factor is not None or (step.amount and moved):
                return None
            moved += step.amount * (bytes_ or 0)
            if step.amount and induction.step(index) is None:
                widened = index
        pointer = pointer.operands[0]
    return _Row(node, widened) if moved == size and pointer not in loop.inside else None


def _steps(pointer: Node) -> list[tuple[int | None, int]]:
    """The bytes that the indices of a pointer step over; a cast has none."""
    return chain_steps(pointer) if pointer.op in CHAINS else []


def _step(induction: Induction, index: Node) -> Step | None:
    """By how much an index goes up in each iteration as long as it does not wrap."""
    assert isinstance(index.type, Int)
    if index.op in HIGHEST and index in induction.loop.inside:
        narrow = index.operands[0]
        assert isinstance(narrow.type, Int)
        if (narrow.type.width, index.type.width) == (32, 64):
            return induction.step(narrow)
    found = induction.step(index)
    return found if found is None or not found.amount or index.type.width == 64 else None


class _Unrolling:
    """A loop, by what it goes on, and its loads that go along rows."""

    def __init__(
        self, loop: SingleExitLoop, induction: Induction, test: LoopTest, rows: list[_Row]
    ) -> None:
        self.loop, self.induction, self.test, self.rows = loop, induction, test, rows
        step = induction.step(test.number)
        assert step is not None
        self.step = step.amount
        self.where = loop.header.where

    def unroll(self) -> None:
        """Puts a loop of several iterations at once before a loop."""
        loop, where = self.loop, self.where
        before, body, rest = Block(where), Block(where), Block(where)
        firsts = {phi: loop.first_value(phi) for phi in loop.header.phis}
        before.condition = self._has_enough(before, firsts)
        before.successors = [body, rest]
        now = {phi: Node("Phi", phi.type, where=phi.where) for phi in loop.header.phis}
        body.phis = list(now.values())
        last, after = self._write_iterations(body, now)
        last.condition = self._has_enough(last, after)
        last.successors = [body, rest]
        retarget(loop.entering, before, loop.header)
        loop.enter_from(rest)
        rest.successors = [loop.header]
        for phi in loop.header.phis:
            now[phi].operands, now[phi].literals = [firsts[phi], after[phi]], (before, last)
            values, sources = list(now[phi].operands), (before, last)
            rest.phis.append(Node("Phi", phi.type, values, sources, phi.where))
            entering = phi.literals.index(rest)
            phi.operands[entering] = rest.phis[-1]

    # --- The iterations ---------------------------------------------------------------------------

    def _write_iterations(
        self, body: Block, values: dict[Node, Node]
    ) -> tuple[Block, dict[Node, Node]]:
        """Fills blocks from one on with some iterations: the last of them, and what the phis are
        behind it."""
        loop, values = self.loop, dict(values)
        firsts = dict(values)
        read = self._read_rows(body, firsts)
        following = {phi: loop.next_value(phi) for phi in loop.header.phis}
        counted = {value: phi for phi, value in following.items() if self._counts(phi)}
        block = body
        for iteration in range(TOGETHER):
            known = read[iteration]
            known |= {
                node: self._ahead(body, firsts[phi], phi, iteration + 1)
                for node, phi in counted.items()
            }
            block = self._write_iteration(block, values, known)
            values |= {phi: values.get(value, value) for phi, value in following.items()}
        return block, {phi: values[phi] for phi in loop.header.phis}

    def _counts(self, phi: Node) -> bool:
        step = self.induction.step(phi) if isinstance(phi.type, Int) else None
        return step is not None and step.factor is None

    def _ahead(self, block: Block, first: Node, phi: Node, iterations: int) -> Node:
        """What a number that is counted up will be some iterations ahead: from the first one on,
        so that addresses can be compared."""
        step = self.induction.step(phi)
        assert step is not None
        if iterations == 0:
            return first
        amount = constant_node(phi.type, iterations * step.amount)
        return self._put(block, phi.derive("IAdd", phi.type, [first, amount]))

    def _read_rows(self, body: Block, firsts: dict[Node, Node]) -> list[dict[Node, Node]]:
        """Loads what lies in the rows, for all iterations: what each finds."""
        found: list[dict[Node, Node]] = [{} for _ in range(TOGETHER)]
        for load, widened in self.rows:
            wide = self._copied(widened, dict(firsts), body) if widened is not None else None
            for iteration in range(TOGETHER):
                values = {
                    phi: self._ahead(body, firsts[phi], phi, iteration)
                    for phi in firsts
                    if self._counts(phi)
                }
                if widened is not None and wide is not None:
                    amount = constant_node(wide.type, iteration)
                    moved = wide.derive("IAdd", wide.type, [wide, amount])
                    values[widened] = self._put(body, moved) if iteration else wide
                found[iteration][load] = self._copied(load, values, body)
        return found

    def _write_iteration(
        self, first: Block, values: dict[Node, Node], known: dict[Node, Node]
    ) -> Block:
        """Writes an iteration from a block on, which becomes its head; the block behind it."""
        loop = self.loop
        copies = {
            block: first if block is loop.header else Block(self.where) for block in loop.blocks
        }
        for block, copy in copies.items():
            for phi in block.phis if block is not loop.header else ():
                operands = [values.get(each, each) for each in phi.operands]
                sources = tuple(copies[each] for each in phi.literals if isinstance(each, Block))
                values[phi] = Node("Phi", phi.type, operands, sources, phi.where)
                copy.phis.append(values[phi])
            for node in block.nodes:
                values[node] = known.get(node) or self._put(copy, copy_of(node, values))
            if block is loop.exiting:
                goes_on = [each for each in block.successors if each is not loop.exit]
                copy.successors = [copies[each] for each in goes_on if each is not loop.header]
            else:
                copy.condition = values.get(block.condition) if block.condition else None
                copy.condition = copy.condition or block.condition
                copy.successors = [
                    copies[each] for each in block.successors if each is not loop.header
                ]
        last = copies[loop.latch]
        if len(loop.blocks) == 1:
            return last
        behind = Block(self.where)
        last.successors = [behind]
        return behind

    # --- When it ends -----------------------------------------------------------------------------

    def _has_enough(self, block: Block, phis: dict[Node, Node]) -> Node:
        """Adds to a block whether the loop would not end in as many iterations as are taken at
        once, from such values of its phis on, and no index wraps in them."""
        number, bound = self._copied(self.test.number, dict(phis), block), self.test.bound
        type_, derive = number.type, self.test.number.derive
        ends = [bound, number] if self.step > 0 else [number, bound]
        left = self._put(block, derive("ISub", type_, ends))
        enough = constant_node(type_, (TOGETHER - 1) * abs(self.step))
        conditions = [self._put(block, derive("UGreaterThan", Bool(), [left, enough]))]
        if self.test.op != "INotEqual":
            conditions.append(self._put(block, derive(self.test.op, Bool(), [number, bound])))
        conditions += [
            self._stays_low(block, dict(phis), each)
            for each in dict.fromkeys(row.widened for row in self.rows)
            if each is not None
        ]
        whole = conditions[0]
        for each in conditions[1:]:
            whole = self._put(block, derive("LogicalAnd", Bool(), [whole, each]))
        if len(conditions) > 1 and self._is_left_together():
            whole = self._put(block, derive("SubgroupAllKHR", Bool(), [whole]))
        return whole

    def _is_left_together(self) -> bool:
        """True if lanes do not part in the loop, and so should not because of what may wrap."""
        divergence = self.loop.divergence
        together = not divergence.divergent_blocks.intersection(self.loop.blocks)
        is_uniform = divergence.cfg.loop_of[self.loop.header] not in divergence.divergent_loops
        return together and is_uniform and divergence.subgroup == divergence.width

    def _stays_low(self, block: Block, phis: dict[Node, Node], widened: Node) -> Node:
        """Adds to a block whether an index does not wrap in the iterations taken at once."""
        index = self._copied(widened.operands[0], phis, block)
        limit = (1 << 31 if widened.op == "SConvert" else 1 << 32) - TOGETHER + 1
        compared = [index, constant_node(index.type, limit)]
        return self._put(block, widened.derive(HIGHEST[widened.op], Bool(), compared))

    def _copied(self, node: Node, values: dict[Node, Node], block: Block) -> Node:
        """Adds to a block what a node of the loop is for other values of the phis."""
        if node in values or node not in self.loop.inside:
            return values.get(node, node)
        for each in node.operands:
            values[each] = self._copied(each, values, block)
        values[node] = self._put(block, copy_of(node, values))
        return values[node]

    @staticmethod
    def _put(block: Block, node: Node) -> Node:
        simple = simplified(node)
        if simple is None:
            block.nodes.append(node)
        return simple or node
