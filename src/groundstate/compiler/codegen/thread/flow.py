"""Control flow of a thread: a block is a block, and a branch a branch.

Values that cross blocks go through slots, which LLVM turns back into registers; so any graph can be
written, reducible or not.
"""

from __future__ import annotations

from groundstate.compiler.analysis.liveness import incoming_values
from groundstate.compiler.codegen.thread import lanes
from groundstate.compiler.codegen.thread.emitter import ThreadEmitter
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Block, deadline


def write_blocks(emitter: ThreadEmitter) -> None:
    """Writes all blocks of the kernel; control arrives at the first."""
    text = emitter.text
    text.do("br label %b0")
    for block in emitter.kernel.blocks:
        deadline.check()
        text.start(f"b{block.index}")
        emitter.block, emitter.mask = block, None
        emitter.forget()
        _note_arrived(emitter, block)
        for node in block.nodes:
            emitter.write(node)
        _write_end(emitter, block)


def _write_end(emitter: ThreadEmitter, block: Block) -> None:
    text = emitter.text
    if not block.successors:
        text.do("ret void")
        return
    if len(block.successors) == 1:
        _go(emitter, block, block.successors[0], _leaving(emitter, block, None))
        return
    assert block.condition is not None
    condition = emitter.scalar(block.condition)
    leaving = _leaving(emitter, block, condition)
    labels = [text.label("e") for _ in block.successors]
    if block.switch is None:
        text.do(f"br i1 {condition.name}, label %{labels[0]}, label %{labels[1]}")
    else:
        cases = " ".join(
            f"{condition.type} {_signed(value, condition.type)}, label %{label}"
            for value, label in zip(block.switch, labels[1:], strict=True)
        )
        text.do(f"switch {condition.type} {condition.name}, label %{labels[0]} [{cases}]")
    known = emitter.known()
    for label, successor in zip(labels, block.successors, strict=True):
        text.start(label)
        emitter.forget(known)
        _go(emitter, block, successor, leaving)


def _note_arrived(emitter: ThreadEmitter, block: Block) -> None:
    """Notes who runs at once in a block, if those count as its members."""
    members = emitter.context.members
    if members is not None and block in members.arrived:
        found = lanes.active(emitter)
        emitter.text.do(f"store i32 {found}, ptr {lanes.room(emitter, block)}")


def _leaving(emitter: ThreadEmitter, block: Block, condition: Lanes | None) -> dict[Block, str]:
    """Who goes on to each of the blocks behind one, where those count as its members."""
    members = emitter.context.members
    wanted = [] if members is None else [s for s in block.successors if s in members.counted]
    if not wanted:
        return {}
    here = lanes.members_in(emitter, block)
    if condition is None:
        return dict.fromkeys(wanted, here)
    return {
        each: lanes.ballot(emitter, here, _goes_to(emitter, block, condition, each))
        for each in dict.fromkeys(wanted)
    }


def _goes_to(emitter: ThreadEmitter, block: Block, condition: Lanes, successor: Block) -> str:
    """Whether a work-item goes on to a block: a truth value."""
    text = emitter.text
    first, *others = block.successors
    if block.switch is None:
        if first is successor:
            return "true" if others[0] is successor else condition.name
        return text.emit(f"xor i1 {condition.name}, true")
    is_first = first is successor
    found = "false"
    for value, other in zip(block.switch, others, strict=True):
        if (other is successor) != is_first:
            number = _signed(value, condition.type)
            same = text.emit(f"icmp eq {condition.type} {condition.name}, {number}")
            found = text.emit(f"or i1 {found}, {same}")
    return text.emit(f"xor i1 {found}, true") if is_first else found


def _go(emitter: ThreadEmitter, block: Block, successor: Block, leaving: dict[Block, str]) -> None:
    """Goes on in a block, whose phis get their values first, all at once."""
    if successor in leaving:
        emitter.text.do(f"store i32 {leaving[successor]}, ptr {lanes.room(emitter, successor)}")
    pairs = incoming_values(successor).get(block, ())
    given = [(phi, emitter.get(value)) for phi, value in pairs]
    for phi, value in given:
        emitter.store(emitter.slot(phi), value)
    emitter.text.do(f"br label %b{successor.index}")


def _signed(value: int, type_: str) -> int:
    width = int(type_[1:])
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value
