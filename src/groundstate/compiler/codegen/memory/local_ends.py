"""Masked stores at the end of local memory.

Behind a group's local memory begins a page that nobody may write to. Where an inactive lane of a
masked store lies there, the CPU finds out slowly that nothing is wrong: `if (i + 1 < n) line[i + 1]
= x;` took eleven times as long on Zen 5. So the address of the last lane is looked at, and a store
that leads beyond the end is written lane by lane. That is not needed where all lanes are plainly
inside: the index is small enough for the variable, or all lanes access that address at some time.

Without mask registers, a blend of all lanes is faster than a masked store. The work-items of a
group run on one thread, so nobody sees it; but all lanes have to lie inside, which is looked at
each time.
"""

from __future__ import annotations

from groundstate.compiler.analysis.intervals import Interval, Intervals
from groundstate.compiler.analysis.places import Place, place_of
from groundstate.compiler.codegen.control.speculation import MOSTLY
from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.memory.gathers import scatter
from groundstate.compiler.codegen.memory.masked import store_blended, store_masked
from groundstate.compiler.codegen.text import scalar_bytes
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.addresses import chain_steps
from groundstate.compiler.ir.ops import CHAINS
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Pointer

MOST_STEPS = 8
"""From an address to the variable that it is computed from."""


def masked_local(emitter: Emitter, access: Node) -> Node | None:
    """A load from local memory or a store to it, if there may be inactive lanes."""
    return access if emitter.mask is not None and is_local(access.operands[0]) else None


def nears_guard(emitter: Emitter) -> bool:
    """Whether inactive lanes of the access that is being written may lie behind local memory."""
    access = emitter.local_access
    return access is not None and may_reach_guard(emitter, access.operands[0])


def is_looked_at(emitter: Emitter) -> bool:
    """Whether it is looked at where the lanes of a store lie: so it is if all lanes are written."""
    blends = emitter.blends and emitter.local_access is not None
    return blends or nears_guard(emitter)


def may_reach_guard(emitter: Emitter, pointer: Node) -> bool:
    """True for addresses in local memory of which those of inactive lanes may lie behind it."""
    intervals, low, high = Intervals(emitter.divergence.group_size), 0, _size(pointer)
    if place_of(pointer, intervals) in _places_of_all_lanes(emitter, intervals):
        return False
    for _ in range(MOST_STEPS):
        if pointer.op in CHAINS:
            moved = _moved(pointer, intervals)
            if moved is None:
                return True
            low, high = low + moved[0], high + moved[1]
        elif pointer.op != "Bitcast":
            break
        pointer = pointer.operands[0]
    return pointer.op != "Global" or low < 0 or high > _size(pointer)


def _places_of_all_lanes(emitter: Emitter, intervals: Intervals) -> set[tuple[Place, int]]:
    """The addresses in local memory that all lanes access at some time."""
    if emitter.local_places is None:
        divergence = emitter.divergence
        emitter.local_places = {
            place_of(node.operands[0], intervals)
            for block in emitter.kernel.blocks
            if divergence.rows_are_whole and block not in divergence.divergent_blocks
            for node in block.nodes
            if node.op in ("Load", "Store") and is_local(node.operands[0])
        }
    return emitter.local_places


def is_local(pointer: Node) -> bool:
    """True for an address in local memory."""
    return isinstance(pointer.type, Pointer) and pointer.type.storage == StorageClass.Workgroup


def _size(pointer: Node) -> int:
    """The bytes of what an address points to; 0 if its type does not say."""
    pointee = pointer.type.pointee if isinstance(pointer.type, Pointer) else None
    return pointee.size if pointee is not None else 0


def _moved(chain: Node, intervals: Intervals) -> Interval | None:
    """How many bytes an access chain goes on, at least and at most, in all lanes."""
    low = high = 0
    for (size, offset), index in zip(chain_steps(chain), chain.operands[1:], strict=True):
        found = (offset, offset) if size is None else intervals.of(index)
        if found is None:
            return None
        low, high = low + found[0] * (size or 1), high + found[1] * (size or 1)
    return low, high


def store_before_guard(
    emitter: Emitter, wide: str, name: str, pointer: str, align: int, mask: str
) -> None:
    """Writes the active lanes to local memory, where others may lie before or behind it."""
    text = emitter.text
    stored = wide[1:-1].split(" x ")[1]
    step = scalar_bytes(stored)
    last = text.emit(f"getelementptr i8, ptr %local.end, i64 {-step * emitter.width}")
    inside = text.emit(f"icmp ule ptr {pointer}, {last}")
    if emitter.blends:
        behind_start = text.emit(f"icmp uge ptr {pointer}, %local")
        inside = text.emit(f"and i1 {behind_start}, {inside}")
    together, apart, after = text.label("together"), text.label("apart"), text.label("stored")
    text.do(f"br i1 {inside}, label %{together}, label %{apart}, !prof {MOSTLY}")
    text.start(together)
    write = store_blended if emitter.blends else store_masked
    write(emitter, wide, name, pointer, align, mask)
    text.do(f"br label %{after}")
    text.start(apart)
    offsets = ", ".join(f"i64 {lane * step}" for lane in range(emitter.width))
    addresses = text.emit(f"getelementptr i8, ptr {pointer}, {text.vector_type('i64')} <{offsets}>")
    scatter(emitter, stored, name, addresses, align)
    text.do(f"br label %{after}")
    text.start(after)
