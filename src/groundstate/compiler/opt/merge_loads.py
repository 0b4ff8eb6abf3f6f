"""Load merging: loads of numbers that lie next to each other become one load of a vector.

A block may load several numbers at addresses that differ by constants. Where lanes lie as far apart
as these numbers take up together, all that the lanes read is one piece of memory: it is read once,
as the vectors of all lanes, instead of in steps for each of the numbers. Three numbers are an
array, because a vector of three takes the room of four.

Where each lane has an address of its own, neighbours that are a machine word or two together become
one vector as well: a gather costs the same for a word as for a byte.
"""

from __future__ import annotations

from collections.abc import Mapping

from groundstate.compiler.analysis.cost import FAR_APART
from groundstate.compiler.analysis.divergence import VARYING, Divergence
from groundstate.compiler.analysis.intervals import Intervals
from groundstate.compiler.analysis.places import Place, place_of
from groundstate.compiler.analysis.speculated_strides import speculated_nodes
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.ops import guards_of, has_side_effects
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Array, Float, Int, Pointer, Type, Vector

ANYWHERE = -1
WORD_BYTES = (4, 8)
RECORDS = range(FAR_APART + 1, 9)
"""Numbers of a structure that lies behind that of the lane before: all of them are read at once."""
GATHERED_BYTES = (4, 8, 16)
"""Of neighbours that are read together from an address of a lane's own."""


def merge_loads(kernel: Kernel, analyses: Analyses) -> bool:
    """Makes one load of a vector of loads that lie next to each other."""
    divergence = analyses.get(Divergence)
    if divergence.width == 1:
        return False
    merged: dict[Node, Node] = {}
    # a lane that reads neighbours has a row of its own, of whatever length the program gives
    speculated = speculated_nodes(kernel, divergence, takes_products=False)
    intervals = Intervals(divergence.group_size)
    for block in kernel.blocks:
        if sum(node.op == "Load" for node in block.nodes) > 1:
            merged |= _Merging(divergence, block, speculated, intervals).merge()
    if merged:
        kernel.replace(merged)
    return bool(merged)


def _count(divergence: Divergence, node: Node, speculated: Mapping[Node, int]) -> int:
    """How many numbers lie between those that neighbouring lanes load, itself included; ANYWHERE if
    each lane has an address of its own; 0 for what is not such a load."""
    if node.op != "Load" or has_side_effects(node) or guards_of(node):
        return 0
    found = neighbours(divergence, node, node.type)
    return 0 if found == ANYWHERE and node.operands[0] in speculated else found


def neighbours(divergence: Divergence, node: Node, type_: Type) -> int:
    """How many numbers lie between those that neighbouring lanes access, itself included; ANYWHERE
    if each lane has an address of its own; 0 if they are not to be merged."""
    if not isinstance(type_, Int | Float) or type_.width != 8 * type_.size:
        return 0
    pointer, block = node.operands[0], node.block
    if not isinstance(pointer.type, Pointer) or pointer.type.storage == StorageClass.Function:
        return 0
    assert block is not None
    if pointer in divergence.interleaved:
        return 0
    step = divergence.stride_at(pointer, block)
    count = step // type_.size if step is not None and step % type_.size == 0 else 0
    is_far = step is VARYING or count > FAR_APART
    is_record = count in RECORDS and type_.size == WORD_BYTES[0]
    if is_far and node.op == "Load":  # words are gathered, whatever is in them
        return count if is_record else ANYWHERE
    if not _is_masked_well(divergence, block, type_):
        return 0
    if is_record or count in divergence.target.merged_accesses:
        return count
    return ANYWHERE if is_far else 0


def _is_masked_well(divergence: Divergence, block: Block, type_: Type) -> bool:
    """True if numbers of a type can be read and written as one vector by those lanes that reach a
    block: without mask registers, there are instructions for words only."""
    is_whole = block not in divergence.divergent_blocks and divergence.rows_are_whole
    return is_whole or divergence.target.has_mask_registers or type_.size in WORD_BYTES


def lengths(type_: Type, count: int) -> list[int]:
    """How many accesses may become one, the most first."""
    if count != ANYWHERE and count not in RECORDS:
        return [count]
    whole = [count] if count in RECORDS else []
    return whole + [each for each in (4, 2) if each * type_.size in GATHERED_BYTES]


def several(type_: Type, count: int) -> Vector | Array:
    """The type of some numbers next to each other."""
    return Vector(type_, count) if count & (count - 1) == 0 else Array(type_, count)


class _Merging:
    """The loads of one block."""

    def __init__(
        self,
        divergence: Divergence,
        block: Block,
        speculated: Mapping[Node, int],
        intervals: Intervals,
    ) -> None:
        self.divergence = divergence
        self.speculated = speculated
        self.intervals = intervals
        self.block = block
        self._merged: dict[Node, Node] = {}
        self._open: dict[tuple[Place, Type, int], list[tuple[int, Node]]] = {}
        """The loads since something was last written, each with its offset from a place."""
        self._vectors: dict[Node, list[Node]] = {}
        """What stands in the place of the first load of each vector."""

    def merge(self) -> dict[Node, Node]:
        """Puts vectors in the place of loads: for each that is gone, what it is of a vector."""
        for node in self.block.nodes:
            count = _count(self.divergence, node, self.speculated)
            if count:
                place, offset = place_of(node.operands[0], self.intervals)
                self._open.setdefault((place, node.type, count), []).append((offset, node))
            elif has_side_effects(node):
                self._close()
        self._close()
        nodes = [self._vectors.get(node, [node]) for node in self.block.nodes]
        kept = [each for several in nodes for each in several if each not in self._merged]
        self.block.nodes = kept
        return self._merged

    def _close(self) -> None:
        """Joins what has been found so far. The load of the lowest address has to come first, for
        that address to be known there."""
        for (_, type_, count), loads in self._open.items():
            later: dict[int, list[Node]] = {}
            for offset, node in loads:
                later.setdefault(offset, []).append(node)
            for offset, node in loads:
                if node in self._merged:
                    continue
                for length in lengths(type_, count):
                    parts = [later.get(offset + index * type_.size) for index in range(length)]
                    found = [part for part in parts if part]
                    if len(found) == length:
                        self._merge(node, several(type_, length), found)
                        break
                later[offset].remove(node)
        self._open = {}

    def _merge(self, first: Node, type_: Vector | Array, parts: list[list[Node]]) -> None:
        vector = first.derive("Load", type_, first.operands, first.literals)
        self._vectors[first] = [vector]
        for index, loads in enumerate(parts):
            part = first.derive("CompositeExtract", first.type, [vector], (index,))
            self._vectors[first].append(part)
            self._merged |= dict.fromkeys(loads, part)
