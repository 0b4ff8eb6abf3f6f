"""Control flow: blocks in a line, masks, loops, and the points where a sub-group waits at a
barrier.
"""

from __future__ import annotations

from collections.abc import Collection

from groundstate.compiler.analysis.cfg import CFG, Loop
from groundstate.compiler.analysis.divergence import VARYING
from groundstate.compiler.analysis.facts import has_barriers
from groundstate.compiler.analysis.liveness import Liveness, incoming_values
from groundstate.compiler.analysis.register_pressure import registers_of
from groundstate.compiler.codegen.control.all_lanes import AllLanesPath
from groundstate.compiler.codegen.control.loop_hints import loop_hint
from groundstate.compiler.codegen.control.refill import Refill
from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.function import components, schedule
from groundstate.compiler.codegen.memory.accesses import load_turned
from groundstate.compiler.codegen.memory.ordering import barrier_fence
from groundstate.compiler.codegen.text import scalar_bytes
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir import Block, Node, deadline
from groundstate.compiler.ir.ops import LEAVES
from groundstate.compiler.lower.barriers import is_group_barrier

STAY = 'call void asm sideeffect "", "~{memory}"()'
"""Loads stay behind it. LLVM would load for many steps ahead and spill what it has loaded."""
STAYING_ROWS = 4
"""More rows in lockstep leave no registers for that."""


class NeedsOneLane(Exception):  # noqa: N818 - a change of plan, not an error
    """The kernel cannot be written for several lanes: it is written for one instead."""


class ControlFlow:
    """Writes the blocks of a kernel."""

    def __init__(self, emitter: Emitter, cfg: CFG, entry_mask: str | None, done: str) -> None:
        self.emitter = emitter
        self.text = emitter.text
        self.cfg = cfg
        self.entry_mask = entry_mask
        self.done = done
        self.divergence = emitter.divergence
        self.order = schedule(emitter.kernel, cfg)
        self.place_of = {block: place for place, block in enumerate(self.order)}
        self.logic = emitter.masks
        self.masks: dict[Block, str] = {}
        self.flags: dict[Block, str] = {}
        self.resume_points: list[str] = []
        self.barrier_blocks: list[Block] = []
        """What ends with a barrier: one block for each resume point."""
        self.saved: dict[str, tuple[int, int]] = {}
        """Where each slot was saved last: offset and size."""
        self.cells: list[tuple[int, int]] = []
        """All places for what is saved."""
        self.context_bytes = 0
        self.context_base = ""
        self._may_be_empty = (
            entry_mask is not None
            or emitter.divergence.refilled is not None
            or has_barriers(emitter.kernel)
        )
        """True if control may come to a divergent block for no lane at all."""
        self._mask = ""
        """The mask of the block that is being written, if it is divergent."""
        self._all_lanes = AllLanesPath(emitter, cfg)
        self.refilled = emitter.divergence.refilled
        if not self.logic.is_wide or entry_mask is not None or self.refilled is not None:
            self._all_lanes.blocks.clear()
        self._all_lanes_active = False
        """True while a divergent block is written for when all lanes are there."""
        self._after = self._what_follows()
        self._live = Liveness(emitter.kernel)
        self._shared_phis = set(emitter.exit_values.values())
        self._ways: dict[Block, tuple[set[Block], Block | None]] = {}
        self._phis: dict[Block, dict[Block, list[tuple[Node, Node]]]] = {}

    # --- The line of blocks ---------------------------------------------------------------------

    def is_divergent(self, block: Block) -> bool:
        """True if only some lanes may be in the block."""
        return block in self.divergence.divergent_blocks

    def _what_follows(self) -> dict[Block | Loop, str]:
        """The label to go to behind each block and each loop."""
        follows: dict[Block | Loop, str] = {}
        for position, block in enumerate(self.order):
            following = self.order[position + 1] if position + 1 < len(self.order) else None
            here: Block | Loop = block
            loop = self.cfg.loop_of.get(block)
            while loop is not None and (following is None or not loop.contains(following)):
                follows[here] = f"l{loop.header.index}"
                here = loop
                loop = loop.parent
            follows[here] = self.done if following is None else f"c{following.index}"
        return follows

    def write(self) -> None:
        """Writes all blocks; control arrives at the first and leaves at `done`."""
        if self.refilled is None:
            self._enter(self.order[0])
        else:
            self.text.do(f"br label %{self.done}")
        for block in self.order:
            deadline.check()
            self._write_check(block)
            self._write_body(block)
            if block in self._all_lanes.blocks:
                self._write_all_lanes(block)
            loop: Loop | None = self.cfg.loop_of.get(block)
            while loop is not None and self._ends_loop(block, loop):
                self._write_loop_end(loop)
                loop = loop.parent

    def _ends_loop(self, block: Block, loop: Loop) -> bool:
        last = max(loop.blocks, key=self.place_of.__getitem__)
        return last is block

    def prepare(self) -> None:
        """Room for masks, all empty at first, also when a sub-group goes on behind a barrier."""
        for block in self.order:
            if self.is_divergent(block):
                self.masks[block] = self.emitter.new_slot(self.logic.type, "m")
                self._store_mask(block, self.logic.empty)
            else:
                self.flags[block] = self.emitter.new_slot("i1", "f")
                self.text.do(f"store i1 false, ptr {self.flags[block]}")

    def _write_check(self, block: Block) -> None:
        self.text.start(f"c{block.index}")
        pending = self._is_pending(block)
        self.text.do(f"br i1 {pending}, label %b{block.index}, label %{self._after[block]}")

    def _write_loop_end(self, loop: Loop) -> None:
        """Goes round again if a lane wants to."""
        header = loop.header
        self.text.start(f"l{header.index}")
        refill = self.emitter.context.refill
        if refill is not None and loop is self.refilled:
            pending = refill.goes_on(self._load_mask(header))
        else:
            pending = self._is_pending(header)
        self.text.do(f"br i1 {pending}, label %b{header.index}, label %{self._after[loop]}")

    def write_refill(self, refill: Refill, end: str) -> None:
        """The end of the line if lanes that are done take the next work-items."""
        assert self.refilled is not None
        first, header = self.order[0], self.refilled.header
        taken = refill.write(self._load_mask(header), f"b{header.index}", end)
        self._store_mask(first, taken)
        self.text.do(f"br label %b{first.index}")

    def _is_pending(self, block: Block) -> str:
        """True if a lane waits to enter a block."""
        if self.is_divergent(block):
            return self.logic.any(self._load_mask(block))
        return self.text.emit(f"load i1, ptr {self.flags[block]}")

    def _load_mask(self, block: Block) -> str:
        return self.text.emit(f"load {self.logic.type}, ptr {self.masks[block]}")

    def _store_mask(self, block: Block, mask: str) -> None:
        self.text.do(f"store {self.logic.type} {mask}, ptr {self.masks[block]}")

    def _write_body(self, block: Block) -> None:
        text = self.text
        text.start(f"b{block.index}")
        if not self.is_divergent(block):
            text.do(f"store i1 false, ptr {self.flags[block]}")
            self._write_nodes(block, self.entry_mask)
            return
        mask = self._mask = self._load_mask(block)
        self._store_mask(block, self.logic.empty)
        has_vector_accesses = self._has_vector_accesses(block)
        if self._all_lanes.may_begin(block, has_vector_accesses):
            self._enter_all_lanes(block, mask)
        elif has_vector_accesses and not self._all_lanes.was_asked_before(block):
            full, part = text.label("full"), text.label("part")
            text.do(f"br i1 {self.logic.all(mask)}, label %{full}, label %{part}")
            text.start(full)
            self._mask = self.logic.full
            self._write_nodes(block, None)
            text.start(part)
            self._mask = mask
        self._write_nodes(block, self.logic.bits(mask))

    def _enter_all_lanes(self, block: Block, mask: str) -> None:
        """Branches to the copy without masks if all lanes are active."""
        text = self.text
        all_lanes, divergent = text.label("all_lanes"), text.label("divergent")
        text.do(f"br i1 {self.logic.all(mask)}, label %{all_lanes}, label %{divergent}")
        text.start(all_lanes)
        self.emitter.block, self.emitter.here, self.emitter.mask = block, {}, None
        self._all_lanes.enter(block)
        text.do(f"br label %all{block.index}")
        text.start(divergent)

    def _write_all_lanes(self, block: Block) -> None:
        """Writes a divergent block once more, for when all lanes are there."""
        self.text.start(f"all{block.index}")
        self._mask = self.logic.full
        self._all_lanes_active = True
        self._write_nodes(block, None)
        self._all_lanes_active = False

    def _write_nodes(self, block: Block, mask: str | None) -> None:
        emitter = self.emitter
        emitter.block, emitter.mask = block, mask
        emitter.inhabited = mask if self.is_divergent(block) and not self._may_be_empty else None
        emitter.forget()
        for phi in block.phis:
            emitter.keep_for_leavers(phi)
        for node in block.nodes:
            if is_group_barrier(node):
                self._suspend(block, node)
                continue
            if node in emitter.same_in_rows:
                self._write_shared(block, node)
                continue
            if node in emitter.turned_loads and load_turned(emitter, node):
                continue
            for _ in emitter.each_row():
                emitter.write(node)
        self._write_end(block)

    def _write_shared(self, block: Block, node: Node) -> None:
        """Writes a node once for all rows in lockstep."""
        emitter = self.emitter
        is_vector = self.divergence.stride_at(node.operands[0], block) if node.operands else 0
        if node.op == "Load" and is_vector != 0 and emitter.rows > STAYING_ROWS:
            self.text.do(STAY)
        emitter.write(node)
        if node in emitter.here:
            emitter.share(node)

    def _has_vector_accesses(self, block: Block) -> bool:
        """True if a block reads or writes memory in a way that is much faster for all lanes."""
        if not self.logic.is_wide:
            return False  # one lane, or mask registers: a masked access costs no more
        for node in block.nodes:
            if node.op == "Store" and self.divergence.stride_at(node.operands[0], block) != 0:
                return True
            if node.op == "Load" and self.divergence.stride_at(node.operands[0], block) != 0:
                parts = components(node.type) or [node.type]
                if min(part.size for part in parts) < 4 or self._reads_at_steps(node, block):
                    return True
        return False

    def _reads_at_steps(self, load: Node, block: Block) -> bool:
        """True if lanes read one number each at addresses that most likely go up by a fixed step,
        but are not next to each other: if all lanes are there, none needs an address of its own."""
        pointer = load.operands[0]
        if pointer in self.emitter.speculated:
            return True
        step = self.divergence.stride_at(pointer, block)
        return bool(step) and step != load.type.size and components(load.type) is None

    # --- Ends of blocks -------------------------------------------------------------------------

    def _write_end(self, block: Block) -> None:
        if not block.successors:
            follows = self.done if self._has_all_lanes(block) else self._after[block]
            self.text.do(f"br label %{follows}")
        elif block in self.divergence.divergent_branches:
            if self._all_lanes.is_asked_behind(block) and self._has_all_lanes(block):
                self._go_together(block)
            self._hand_on(block)
        else:
            self._branch(block)

    def _has_all_lanes(self, block: Block) -> bool:
        """True if all lanes are in the block where it is being written."""
        return self._all_lanes_active or not self.is_divergent(block)

    def _branch(self, block: Block) -> None:
        """All lanes of the block go the same way: an ordinary branch, to an edge for each way."""
        text = self.text
        leave = self._go if self._has_all_lanes(block) else self._pass_on
        if len(block.successors) == 1:
            leave(block, block.successors[0])
            return
        labels = [text.label("e") for _ in block.successors]
        assert block.condition is not None
        condition = self.emitter.scalar(block.condition)
        if block.switch is None:
            text.do(f"br i1 {condition.name}, label %{labels[0]}, label %{labels[1]}")
        else:
            cases = " ".join(
                f"{condition.type} {self._signed(value, condition.type)}, label %{label}"
                for value, label in zip(block.switch, labels[1:], strict=True)
            )
            text.do(f"switch {condition.type} {condition.name}, label %{labels[0]} [{cases}]")
        known = self.emitter.known()
        for label, successor in zip(labels, block.successors, strict=True):
            text.start(label)
            self.emitter.forget(known)
            leave(block, successor)

    @staticmethod
    def _signed(value: int, type_: str) -> int:
        width = int(type_[1:])
        value &= (1 << width) - 1
        return value - (1 << width) if value >> (width - 1) else value

    def _go(self, block: Block, successor: Block) -> None:
        """Goes to a block with all lanes."""
        self._copy_phis(block, successor, None)
        if successor in self._all_lanes.blocks:
            self._all_lanes.enter(successor, block)
        self._enter(successor, self._hint(block, successor))

    def _hint(self, block: Block, header: Block) -> str:
        """What LLVM is told of a loop of one work-item on the way round it."""
        loop = self.cfg.loop_of.get(header)
        is_back = loop is not None and loop.header is header and loop.contains(block)
        if self.text.width > 1 or loop is None or not is_back:
            return ""
        return loop_hint(loop, self.divergence)

    def _go_together(self, block: Block) -> None:
        """Leaves a block to where all lanes want to go, or continues if they disagree."""
        text = self.text
        assert block.condition is not None
        always, never = self._all_lanes.agreement(block)
        here = dict(self.emitter.here)
        for holds, successor in zip((always, never), block.successors, strict=True):
            way, otherwise = text.label("way"), text.label("otherwise")
            text.do(f"br i1 {holds}, label %{way}, label %{otherwise}")
            text.start(way)
            self._go(block, successor)
            text.start(otherwise)
            self.emitter.here = dict(here)

    def _enter(self, block: Block, hint: str = "") -> None:
        if block in self._all_lanes.blocks:
            self.text.do(f"br label %all{block.index}")
            return
        if self.is_divergent(block):
            self._store_mask(block, self._full_mask())
        self.text.do(f"br label %b{block.index}{hint}")

    def _full_mask(self) -> str:
        """All lanes that exist."""
        if self.entry_mask is not None:
            return self.logic.of_bits(self.entry_mask)
        return self.logic.full

    def _pass_on(self, block: Block, successor: Block) -> None:
        """Gives all lanes of a divergent block to the mask of one other."""
        self._copy_phis(block, successor, self.emitter.mask)
        self._add_lanes(block, successor, self._mask)
        follows = self._after[block]
        next_in_line = follows in (f"c{successor.index}", f"l{successor.index}")
        if self.refilled is not None and successor is self.refilled.header:
            next_in_line = False  # others may wait there, and enough may have left
        self.text.do(f"br label %{f'b{successor.index}' if next_in_line else follows}")

    def _hand_on(self, block: Block) -> None:
        """Gives each lane to the mask of the block that it goes to.

        Lanes that leave a loop come first, because what they take with them may be overwritten by
        those that go round again. In most iterations there are none; but a branch that skips a few
        blends costs more than they do, because nothing predicts when a lane leaves."""
        mask = self._mask if self.is_divergent(block) else self._full_mask()
        edges: dict[Block, str] = {}
        for successor, edge in zip(block.successors, self._edge_masks(block, mask), strict=True):
            known = edges.get(successor)
            edges[successor] = self.logic.either(known, edge) if known else edge
        leaving = [each for each in edges.items() if self._leaves_loop(block, each[0])]
        for successor, edge in leaving:
            if self._blends(block, successor) <= self.emitter.context.target.most_blends:
                self._let_leave(block, successor, edge)
                continue
            here = dict(self.emitter.here)
            inside, after = self.text.label("leave"), self.text.label("stay")
            self.text.do(f"br i1 {self.logic.any(edge)}, label %{inside}, label %{after}")
            self.text.start(inside)
            self._let_leave(block, successor, edge)
            self.text.do(f"br label %{after}")
            self.text.start(after)
            self.emitter.here = here
        for successor, edge in edges.items():
            if not self._leaves_loop(block, successor):
                self._hand_to(block, successor, edge)
        self.text.do(f"br label %{self._after[block]}")

    def _blends(self, block: Block, successor: Block) -> int:
        """What it costs to give lanes what they take with them to a block: a blend for each
        register, and a broadcast where all lanes have the same."""
        cost, target = 0, self.emitter.context.target
        for phi, value in self._incoming(successor).get(block, ()):
            if phi not in self.emitter.exit_values:
                is_varying = self.divergence.stride_at(value, block) is VARYING
                each = 1 if is_varying or value.op in LEAVES else target.broadcast_blends
                cost += registers_of(phi, self.divergence) * each
        return cost

    def _let_leave(self, block: Block, successor: Block, edge: str) -> None:
        """Hands lanes to a block behind the loop. Some values are where they need to be as soon as
        the others go round again."""
        self._copy_phis(block, successor, self.logic.bits(edge), self.emitter.exit_values)
        self._add_lanes(block, successor, edge)

    def _leaves_loop(self, block: Block, successor: Block) -> bool:
        loop = self.cfg.loop_of.get(block)
        return loop is not None and not loop.contains(successor)

    def _hand_to(self, block: Block, successor: Block, edge: str) -> None:
        self._copy_phis(block, successor, self.logic.bits(edge))
        self._add_lanes(block, successor, edge)

    def _edge_masks(self, block: Block, mask: str) -> list[str]:
        assert block.condition is not None
        condition = self.emitter.scalar(block.condition)
        if block.switch is None:
            chosen = [self._decision(block, self.text.as_vector(condition))]
        else:
            chosen = [self._equal(condition, value) for value in block.switch]
        taken = [self.logic.where(mask, each) for each in chosen]
        rest = mask
        for each in chosen:
            rest = self.logic.where_not(rest, each)
        return [*taken, rest] if block.switch is None else [rest, *taken]

    def _decision(self, block: Block, bits: str) -> str:
        """The truth values by which lanes part at the end of a block. In a loop they are not to
        be computed under the mask, for which they would have to wait."""
        loop = self.cfg.loop_of.get(block)
        return self.logic.unmasked(bits) if loop in self.divergence.divergent_loops else bits

    def _equal(self, condition: Lanes, value: int) -> str:
        text = self.text
        wide = text.vector_type(condition.type)
        number = text.splat(condition.type, str(self._signed(value, condition.type)))
        return text.emit(f"icmp eq {wide} {text.as_vector(condition)}, {number}")

    def _add_lanes(self, source: Block, block: Block, edge: str) -> None:
        if self.is_divergent(block):
            if not self._comes_first(source, block):
                edge = self.logic.either(self._load_mask(block), edge)
            self._store_mask(block, edge)
        else:  # all lanes come here in the end, or this block would be divergent
            self.text.do(f"store i1 true, ptr {self.flags[block]}")

    def _comes_first(self, source: Block, target: Block) -> bool:
        """True if no lane can be waiting at `target` when control comes from `source`.

        Lanes leave a loop in several iterations. Ways into a loop and ways round it are looked at
        by themselves; where several lead round, a later one may still need what the first would
        overwrite."""
        if self._leaves_loop(source, target):
            return False
        if self._enters_refilled(source, target):
            return False
        if target not in self._ways:
            self._ways[target] = self._ways_into(target)
        back, first = self._ways[target]
        return len(back) == 1 if source in back else source is first

    def _enters_refilled(self, source: Block, target: Block) -> bool:
        """True on the way to the head of a loop where others may wait that have been there."""
        loop = self.refilled
        return loop is not None and target is loop.header and not loop.contains(source)

    def _ways_into(self, target: Block) -> tuple[set[Block], Block | None]:
        """The ways round a loop to its head, and the first of the other ways to a block."""
        loop = self.cfg.loop_of.get(target)
        back: set[Block] = set()
        if loop is not None and loop.header is target:
            back = {each for each in target.predecessors if loop.contains(each)}
        others = [each for each in target.predecessors if each not in back]
        return back, min(others, key=self.place_of.__getitem__, default=None)

    def _incoming(self, target: Block) -> dict[Block, list[tuple[Node, Node]]]:
        """The phis of a block with their values, by where control comes from."""
        if target not in self._phis:
            self._phis[target] = incoming_values(target)
        return self._phis[target]

    def _copy_phis(
        self,
        source: Block,
        target: Block,
        edge: str | None,
        left_out: Collection[Node] = (),
    ) -> None:
        """Gives the phis of a block their values for control that comes from `source`."""
        emitter = self.emitter
        taken_along = self._incoming(target).get(source, ())
        rows = [
            [
                (phi, emitter.get(value))
                for phi, value in taken_along
                if phi not in left_out and (emitter.is_first_row or phi not in emitter.same_in_rows)
            ]
            for _ in emitter.each_row()
        ]
        for incoming, _ in zip(rows, emitter.each_row(), strict=True):
            self._copy_phis_of_row(source, target, edge, incoming)

    def _copy_phis_of_row(
        self, source: Block, target: Block, edge: str | None, incoming: list[tuple[Node, Value]]
    ) -> None:
        emitter = self.emitter
        first = self._comes_first(source, target)
        taken: str | None = None
        for phi, given in incoming:
            vector = self.divergence.stride(phi) is None and self.text.width > 1
            if edge is not None and self._is_kept_by_leavers(phi, source):
                emitter.store(emitter.slot(phi), given, emitter.mask)
                continue
            is_shared = self.refilled is not None and phi in emitter.exit_values
            if edge is None or (first and phi not in emitter.escaping and not is_shared):
                emitter.store(emitter.slot(phi), given)
                continue
            if not vector and taken is None:
                taken = self.text.any(edge)
            emitter.store(emitter.slot(phi), given, edge if vector else taken)

    def _is_kept_by_leavers(self, phi: Node, source: Block) -> bool:
        """True for a phi whose slot is also that of lanes which leave where others go round."""
        if phi not in self._shared_phis:
            return False
        loop = self.cfg.loop_of.get(source)
        return loop is not None and source in loop.latches and phi.block is loop.header

    # --- Barriers -------------------------------------------------------------------------------

    def _suspend(self, block: Block, barrier: Node) -> None:
        """Saves what is needed behind the barrier, returns, and goes on from there when called
        again."""
        if self.is_divergent(block):
            raise NeedsOneLane
        text = self.text
        kept = self._kept_slots(self._live[block.successors[0]])
        places = self._places_for(kept)
        for slot, place in zip(kept, places, strict=True):
            self._move(slot, place, save=True)
        number = len(self.resume_points) + 1
        label = f"r{number}"
        self.resume_points.append(label)
        self.barrier_blocks.append(block)
        self._write_fence(barrier)
        text.do(f"ret i32 {number}")
        text.start(label)
        for slot, place in zip(kept, places, strict=True):
            self._move(slot, place, save=False)
        self.emitter.here = {}

    def _write_fence(self, barrier: Node) -> None:
        """The fence for other groups, if the barrier has one, from the last sub-group for all."""
        fence = barrier_fence(barrier) if barrier.op == "ControlBarrier" else ""
        if not fence:
            return
        text = self.text
        last, after = text.label("last"), text.label("fenced")
        is_last = text.emit(f"icmp eq i64 %sub, {self.emitter.context.subgroups - 1}")
        text.do(f"br i1 {is_last}, label %{last}, label %{after}")
        text.start(last)
        text.do(fence)
        text.do(f"br label %{after}")
        text.start(after)

    def _kept_slots(self, live: set[Node]) -> list[Lanes]:
        emitter = self.emitter
        slots: list[Lanes] = []
        for node in sorted(live - emitter.rematerialised, key=lambda each: each.index):
            slots += _flat(emitter.slot(node))
            if node in emitter.escaping and self.divergence.stride(node) is not None:
                slots += _flat(emitter.lane_slot(node))
        return slots

    def _places_for(self, kept: list[Lanes]) -> list[int]:
        """Where slots are saved at a barrier: where they were at the one before, or in the place of
        one of that size that is no longer needed."""
        used: set[tuple[int, int]] = set()
        for slot in kept:
            cell = self.saved.get(slot.name)
            if cell in used:
                del self.saved[slot.name]
            elif cell is not None:
                used.add(cell)
        for slot in kept:
            if slot.name not in self.saved:
                self.saved[slot.name] = self._free_cell(self._size_of(slot), used)
                used.add(self.saved[slot.name])
        return [self.saved[slot.name][0] for slot in kept]

    def _size_of(self, slot: Lanes) -> int:
        size = 8 if slot.stride is not None else scalar_bytes(slot.type) * self.text.width
        return -(-size // 8) * 8

    def _free_cell(self, size: int, used: set[tuple[int, int]]) -> tuple[int, int]:
        for cell in self.cells:
            if cell[1] == size and cell not in used:
                return cell
        self.cells.append((self.context_bytes, size))
        self.context_bytes += size
        return self.cells[-1]

    def _move(self, slot: Lanes, offset: int, save: bool) -> None:
        text = self.text
        wide = self.emitter.slot_type(slot.type, slot.stride)
        place = text.emit(f"getelementptr i8, ptr {self.context_base}, i64 {offset}")
        source, target = (slot.name, place) if save else (place, slot.name)
        value = text.emit(f"load {wide}, ptr {source}, align 8")
        text.do(f"store {wide} {value}, ptr {target}, align 8")


def _flat(slot: Value) -> list[Lanes]:
    if isinstance(slot, list):
        return [each for part in slot for each in _flat(part)]
    return [slot]
