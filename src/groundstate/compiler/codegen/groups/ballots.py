"""Ballots: what the lanes of a sub-group say, as the bits of a number."""

from __future__ import annotations

from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.text import overloaded
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.spirv.opcodes import GroupOperation


@handles("SubgroupBallotKHR", "GroupNonUniformBallot")
def _ballot(emitter: Emitter, node: Node) -> None:
    text, width = emitter.text, emitter.width
    condition = emitter.scalar(node.operands[-1])
    mask = text.as_vector(condition)
    bits = text.vector_type("i1")
    if emitter.mask is not None:
        mask = text.emit(f"and {bits} {mask}, {emitter.mask}")
    if width == 1:
        number = text.emit(f"zext i1 {mask} to i32")
    else:
        number = text.emit(f"bitcast {bits} {mask} to i{width}")
        number = number if width == 32 else text.emit(f"zext i{width} {number} to i32")
    zero = Lanes(_scalar_type_of(node), "0")
    emitter.define(node, [Lanes(_scalar_type_of(node), number), zero, zero, zero])


def _scalar_type_of(node: Node) -> str:
    """The type of a vector's components."""
    return scalar_type(getattr(node.type, "element", node.type))


# --- Ballots as numbers -------------------------------------------------------------------------


def _ballot_word(emitter: Emitter, node: Node) -> Lanes:
    """The first word of a ballot: no sub-group has more than 32 lanes."""
    value = emitter.get(node)
    assert isinstance(value, list)
    first = value[0]
    assert isinstance(first, Lanes)
    return first


def own(emitter: Emitter, type_: str, name: str) -> Lanes:
    """A value of which each lane has its own."""
    return Lanes(type_, name, None if emitter.width > 1 else 0)


def lane_numbers(emitter: Emitter) -> str:
    return emitter.text.as_vector(Lanes("i32", "0", 1 if emitter.width > 1 else 0))


def _bit_of(emitter: Emitter, word: Lanes, numbers: str) -> Lanes:
    """Whether the bit with each lane's number is set."""
    text = emitter.text
    wide = text.vector_type("i32")
    moved = text.emit(f"lshr {wide} {text.as_vector(word)}, {numbers}")
    return own(emitter, "i1", text.emit(f"trunc {wide} {moved} to {text.vector_type('i1')}"))


@handles("GroupNonUniformInverseBallot")
def _inverse_ballot(emitter: Emitter, node: Node) -> None:
    word = _ballot_word(emitter, node.operands[1])
    emitter.define(node, _bit_of(emitter, word, lane_numbers(emitter)))


@handles("GroupNonUniformBallotBitExtract")
def _ballot_bit(emitter: Emitter, node: Node) -> None:
    word, index = _ballot_word(emitter, node.operands[1]), emitter.scalar(node.operands[2])
    emitter.define(node, _bit_of(emitter, word, emitter.text.as_vector(index)))


@handles("GroupNonUniformBallotBitCount")
def _ballot_count(emitter: Emitter, node: Node) -> None:
    """All bits of the sub-group, those up to each lane, or those below it."""
    text = emitter.text
    wide = text.vector_type("i32")
    word = text.as_vector(_ballot_word(emitter, node.operands[1]))
    every = text.splat("i32", str((1 << emitter.width) - 1 if emitter.width < 32 else -1))
    word = text.emit(f"and {wide} {word}, {every}")
    operation = int(str(node.literals[0]))
    if operation in (GroupOperation.InclusiveScan, GroupOperation.ExclusiveScan):
        one = text.splat("i32", "1")
        below = text.emit(f"shl {wide} {one}, {lane_numbers(emitter)}")
        if operation == GroupOperation.InclusiveScan:
            below = text.emit(f"shl {wide} {below}, {one}")
        mask = text.emit(f"sub {wide} {below}, {one}")
        word = text.emit(f"and {wide} {word}, {mask}")
    count = text.call(wide, f"llvm.ctpop.{overloaded(wide)}", [(wide, word)])
    emitter.define(node, own(emitter, "i32", count))


@handles("GroupNonUniformBallotFindLSB", "GroupNonUniformBallotFindMSB")
def _ballot_find(emitter: Emitter, node: Node) -> None:
    text = emitter.text
    wide = text.vector_type("i32")
    word = text.as_vector(_ballot_word(emitter, node.operands[1]))
    lowest = node.op.endswith("LSB")
    kind = "cttz" if lowest else "ctlz"
    zeros = text.call(wide, f"llvm.{kind}.{overloaded(wide)}", [(wide, word), ("i1", "false")])
    if not lowest:
        zeros = text.emit(f"sub {wide} {text.splat('i32', '31')}, {zeros}")
    emitter.define(node, own(emitter, "i32", zeros))
