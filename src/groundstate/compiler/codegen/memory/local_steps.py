"""Masked accesses to local memory at fixed steps, as where each lane has a row of a matrix.

A gather or a scatter under a mask takes two to three times as long as loads and stores of single
numbers at addresses that are a constant apart. Nobody but the thread of a group sees the group's
local memory, and no two lanes mean the same number. So inactive lanes read along with the others,
and write back what they have read, if their addresses are inside, too. That is known of a variable
and an index that is small enough, and looked at where a program passes local memory.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.codegen.control.speculation import MOSTLY
from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.memory.gathers import gather, scatter
from groundstate.compiler.codegen.memory.local_ends import nears_guard
from groundstate.compiler.codegen.memory.strided import load_at_steps, store_at_steps
from groundstate.compiler.codegen.text import scalar_bytes
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Block, Node
from groundstate.compiler.ir.ops import CHAINS


def all_may_access(emitter: Emitter, pointer: Lanes, stored: str) -> bool:
    """Whether inactive lanes may, or most likely may, access what they have there as others do, and
    there are likely few of them."""
    access = emitter.local_access
    return (
        access is not None
        and pointer.stride is not None
        and abs(pointer.stride) >= scalar_bytes(stored)
        and (not nears_guard(emitter) or not _is_variable(access.operands[0]))
        and not _is_for_one_lane(emitter, access)
    )


def _is_for_one_lane(emitter: Emitter, access: Node) -> bool:
    """True behind a branch that one lane takes at most, such as `if (get_local_id(0) == k)`."""
    block, cfg = access.block, emitter.divergence.cfg
    return block is not None and any(
        branch.successors[0] is block
        and branch.condition is not None
        and _holds_for_one(emitter, branch, branch.condition)
        for branch in cfg.control_dependences[block.index]
    )


def _holds_for_one(emitter: Emitter, block: Block, claim: Node) -> bool:
    if claim.op == "LogicalAnd":
        return any(_holds_for_one(emitter, block, each) for each in claim.operands)
    strides = [emitter.divergence.stride_at(each, block) for each in claim.operands]
    return claim.op == "IEqual" and 0 in strides and any(strides)


def _is_variable(pointer: Node) -> bool:
    while pointer.op in CHAINS or pointer.op == "Bitcast":
        pointer = pointer.operands[0]
    return pointer.op == "Global"


def load_local(emitter: Emitter, pointer: Lanes, stored: str, align: int) -> str:
    """What active lanes have there, and what lies there in the others, or zero."""

    def read_all() -> str:
        return load_at_steps(emitter, pointer, stored, align)

    if not nears_guard(emitter):
        return read_all()
    addresses = emitter.text.as_vector(pointer)
    names: list[str] = []
    blocks = _if_inside(
        emitter,
        pointer,
        stored,
        lambda: names.append(read_all()),
        lambda: names.append(gather(emitter, stored, addresses, align)),
    )
    ways = ", ".join(f"[ {name}, %{block} ]" for name, block in zip(names, blocks, strict=True))
    return emitter.text.emit(f"phi {emitter.text.vector_type(stored)} {ways}")


def store_local(emitter: Emitter, pointer: Lanes, stored: str, name: str, align: int) -> None:
    """Writes the numbers of active lanes, and those of the others as they are."""
    text = emitter.text

    def write_all() -> None:
        old = load_at_steps(emitter, pointer, stored, align)
        new = text.select(emitter.mask, stored, name, old)
        store_at_steps(emitter, pointer, stored, new, align)

    if not nears_guard(emitter):
        write_all()
        return
    addresses = text.as_vector(pointer)
    _if_inside(
        emitter,
        pointer,
        stored,
        write_all,
        lambda: scatter(emitter, stored, name, addresses, align),
    )


def _if_inside(
    emitter: Emitter,
    pointer: Lanes,
    stored: str,
    all_: Callable[[], None],
    active: Callable[[], None],
) -> tuple[str, str]:
    """Writes one way for when all lanes are inside of local memory, and one for when some are not;
    the blocks of both."""
    text = emitter.text
    assert pointer.stride is not None
    distance = pointer.stride * (emitter.width - 1)
    low = text.emit(f"getelementptr i8, ptr {pointer.name}, i64 {min(0, distance)}")
    high = max(0, distance) + scalar_bytes(stored)
    end = text.emit(f"getelementptr i8, ptr {pointer.name}, i64 {high}")
    begins = text.emit(f"icmp uge ptr {low}, %local")
    ends = text.emit(f"icmp ule ptr {end}, %local.end")
    inside = text.emit(f"and i1 {begins}, {ends}")
    together, apart, after = text.label("together"), text.label("apart"), text.label("after")
    text.do(f"br i1 {inside}, label %{together}, label %{apart}, !prof {MOSTLY}")
    for label, write in ((together, all_), (apart, active)):
        text.start(label)
        write()
        text.do(f"br label %{after}")
    text.start(after)
    return together, apart
