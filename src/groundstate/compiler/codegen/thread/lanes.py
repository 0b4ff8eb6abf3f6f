"""The work-items of a sub-group as lanes of a warp: who they are, and values from one to another.

A sub-group of 16 or 8 is a part of a warp. Its members are a mask of lanes of the warp, which is
computed: those that exist where all of the sub-group come together, those that came the same way
where only some may come (`members.py`).
"""

from __future__ import annotations

from groundstate.compiler.codegen.thread.emitter import ThreadEmitter
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir import Block, Node
from groundstate.compiler.target.nvptx import WARP


def number(emitter: ThreadEmitter) -> str:
    """The work-item's number in its sub-group, as i32."""
    lane = emitter.register("laneid")
    size = emitter.context.subgroup
    return lane if size == WARP else emitter.text.emit(f"and i32 {lane}, {size - 1}")


def first_lane(emitter: ThreadEmitter) -> str:
    """The lane of the warp that the sub-group begins at."""
    size = emitter.context.subgroup
    if size == WARP:
        return "0"
    return emitter.text.emit(f"and i32 {emitter.register('laneid')}, {WARP - size}")


def members(emitter: ThreadEmitter, is_uniform: bool) -> str:
    """The lanes of the warp that take part in an operation: all of the sub-group that exist, or
    those that came here where only some may have."""
    context = emitter.context
    if is_uniform:
        return existing(emitter)
    if context.members is None:
        return active(emitter)
    assert emitter.block is not None
    return members_in(emitter, emitter.block)


def members_in(emitter: ThreadEmitter, block: Block) -> str:
    """The lanes that are together in a block."""
    found = emitter.context.members
    assert found is not None
    if block not in found.diverged:
        return existing(emitter)
    return emitter.text.emit(f"load i32, ptr {room(emitter, block)}")


def room(emitter: ThreadEmitter, block: Block) -> str:
    """The variable with the lanes that are together in a block that only some reach."""
    rooms, found = emitter.context.member_rooms, emitter.context.members
    assert found is not None
    home = found.home(block)
    if home not in rooms:
        rooms[home] = emitter.new_slot("i32", "m")
    return rooms[home]


def active(emitter: ThreadEmitter) -> str:
    """The lanes of the sub-group that run at once."""
    found = emitter.assembly("i32", "activemask.b32 $0;", "=r", [])
    if emitter.context.subgroup == WARP:
        return found
    return emitter.text.emit(f"and i32 {found}, {_whole(emitter)}")


def existing(emitter: ThreadEmitter) -> str:
    """All lanes of the sub-group that exist."""
    text, context = emitter.text, emitter.context
    if context.has_whole_subgroups:
        return _whole(emitter)
    size = emitter.text.emit(f"trunc i64 {context.ids['SubgroupSize'][0].name} to i32")
    missing = text.emit(f"sub i32 {WARP}, {size}")
    mask = text.emit(f"lshr i32 -1, {missing}")
    return text.emit(f"shl i32 {mask}, {first_lane(emitter)}")


def _whole(emitter: ThreadEmitter) -> str:
    """All lanes of a full sub-group."""
    size = emitter.context.subgroup
    if size == WARP:
        return "-1"
    return emitter.text.emit(f"shl i32 {(1 << size) - 1}, {first_lane(emitter)}")


def is_whole(emitter: ThreadEmitter, mask: str) -> str:
    """Whether a mask has all lanes of a full sub-group: a truth value."""
    return emitter.text.emit(f"icmp eq i32 {mask}, {_whole(emitter)}")


def own_bits(emitter: ThreadEmitter, mask: str) -> str:
    """A mask of lanes of the warp as bits of the sub-group."""
    text, size = emitter.text, emitter.context.subgroup
    if size == WARP:
        return mask
    moved = text.emit(f"lshr i32 {mask}, {first_lane(emitter)}")
    return text.emit(f"and i32 {moved}, {(1 << size) - 1}")


def first_member(emitter: ThreadEmitter, mask: str) -> str:
    """The number in the sub-group of the first lane of a mask."""
    bits = own_bits(emitter, mask)
    return emitter.text.call("i32", "llvm.cttz.i32", [("i32", bits), ("i1", "true")])


def ballot(emitter: ThreadEmitter, mask: str, condition: str) -> str:
    """The lanes of the warp among the members for which a condition holds."""
    return emitter.text.call(
        "i32", "llvm.nvvm.vote.ballot.sync", [("i32", mask), ("i1", condition)]
    )


def from_lane(emitter: ThreadEmitter, mask: str, value: Value, lane: str) -> Value:
    """The value that a work-item of the sub-group has, by its number there."""
    if isinstance(value, list):
        return [from_lane(emitter, mask, part, lane) for part in value]
    return Lanes(value.type, _moved(emitter, mask, value, lane))


def _moved(emitter: ThreadEmitter, mask: str, value: Lanes, lane: str) -> str:
    text, type_ = emitter.text, value.type
    if type_ in ("i64", "double", "ptr"):
        bits = value.name
        if type_ != "i64":
            kind = "ptrtoint" if type_ == "ptr" else "bitcast"
            bits = text.emit(f"{kind} {type_} {bits} to i64")
        halves = [text.emit(f"trunc i64 {bits} to i32")]
        high = text.emit(f"lshr i64 {bits}, 32")
        halves.append(text.emit(f"trunc i64 {high} to i32"))
        low, high = (
            text.emit(f"zext i32 {_word(emitter, mask, half, lane)} to i64") for half in halves
        )
        high = text.emit(f"shl i64 {high}, 32")
        whole = text.emit(f"or i64 {low}, {high}")
        if type_ == "i64":
            return whole
        kind = "inttoptr" if type_ == "ptr" else "bitcast"
        return text.emit(f"{kind} i64 {whole} to {type_}")
    if type_ == "i32":
        return _word(emitter, mask, value.name, lane)
    if type_ == "float":
        bits = text.emit(f"bitcast float {value.name} to i32")
        return text.emit(f"bitcast i32 {_word(emitter, mask, bits, lane)} to float")
    narrow, bits = type_, value.name
    if type_ == "half":
        narrow, bits = "i16", text.emit(f"bitcast half {bits} to i16")
    wide = text.emit(f"zext {narrow} {bits} to i32")
    found = text.emit(f"trunc i32 {_word(emitter, mask, wide, lane)} to {narrow}")
    return text.emit(f"bitcast i16 {found} to half") if type_ == "half" else found


def _word(emitter: ThreadEmitter, mask: str, word: str, lane: str) -> str:
    """32 bits of another lane. The last operand says how large the parts of the warp are."""
    parts = (WARP - emitter.context.subgroup) << 8 | WARP - 1
    return emitter.text.call(
        "i32",
        "llvm.nvvm.shfl.sync.idx.i32",
        [("i32", mask), ("i32", word), ("i32", lane), ("i32", str(parts))],
    )


def as_i32(emitter: ThreadEmitter, value: Lanes) -> str:
    """A whole number as i32."""
    if value.type == "i32":
        return value.name
    kind = "trunc" if int(value.type[1:]) > 32 else "zext"
    return emitter.text.emit(f"{kind} {value.type} {value.name} to i32")


def lane_number(emitter: ThreadEmitter, node: Node) -> str:
    """The number of a work-item in its sub-group that an operand gives; of ids, only x counts."""
    value = emitter.get(node)
    first = value[0] if isinstance(value, list) else value
    assert isinstance(first, Lanes)
    last = emitter.context.subgroup - 1
    return emitter.text.emit(f"and i32 {as_i32(emitter, first)}, {last}")
