"""Store merging: stores of numbers that lie next to each other become one store of a vector.

A block may store several numbers at addresses that differ by constants, one right behind the other.
Where lanes lie as far apart as these numbers take up together, all that the lanes write is one
piece of memory: it is written as the vectors of all lanes, instead of lane by lane. Where they lie
further apart, four or two numbers of a lane are written at once.
"""

from __future__ import annotations

from groundstate.compiler.analysis.divergence import VARYING, Divergence
from groundstate.compiler.analysis.places import Place, place_of
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.ops import Effect, guards_of, operation
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.opt.merge_loads import (
    ANYWHERE,
    WORD_BYTES,
    lengths,
    neighbours,
    several,
)
from groundstate.compiler.spirv.opcodes import MemoryAccess
from groundstate.compiler.spirv.types import Type

Key = tuple[Place, Type, int]


def merge_stores(kernel: Kernel, analyses: Analyses) -> bool:
    """Makes one store of a vector of stores that lie next to each other."""
    divergence, changed = analyses.get(Divergence), False
    if divergence.width == 1:
        return False
    for block in kernel.blocks:
        if sum(node.op == "Store" for node in block.nodes) > 1:
            changed |= _merge_in(divergence, block)
    return changed


def _merge_in(divergence: Divergence, block: Block) -> bool:
    """Merges the stores of a block that stand in a row, with nothing between them that reads or
    writes memory."""
    key: Key | None = None
    row: dict[int, Node] = {}
    merged: dict[Node, list[Node]] = {}
    """Of each store that is one of several, what stands in its place."""
    for node in block.nodes:
        if operation(node).effect is Effect.NONE:
            continue
        count = _count(divergence, node)
        found, offset = None, 0
        if count:
            place, offset = place_of(node.operands[0])
            found = place, node.operands[1].type, count
        if found != key or offset in row or (key is not None and len(row) == key[2]):
            merged |= _merged(key, row)
            key, row = found, {}
        if found is not None:
            row[offset] = node
    merged |= _merged(key, row)
    if merged:
        nodes = [merged.get(node, [node]) for node in block.nodes]
        block.nodes = [each for several_ in nodes for each in several_]
    return bool(merged)


def _count(divergence: Divergence, node: Node) -> int:
    """How many numbers lie between those that neighbouring lanes store; ANYWHERE if they lie far
    apart; 0 for what is no such store."""
    flags = next((each for each in node.literals if isinstance(each, int)), 0)
    if node.op != "Store" or flags & MemoryAccess.Volatile or guards_of(node):
        return 0
    found = neighbours(divergence, node, node.operands[1].type)
    return found if found != ANYWHERE or _lie_far_apart(divergence, node) else 0


def _lie_far_apart(divergence: Divergence, store: Node) -> bool:
    """True if all lanes store words, each at a fixed step from that of the one before."""
    block, type_ = store.block, store.operands[1].type
    assert block is not None
    is_whole = block not in divergence.divergent_blocks and divergence.rows_are_whole
    is_fixed = divergence.stride_at(store.operands[0], block) is not VARYING
    return is_whole and is_fixed and type_.size == WORD_BYTES[0]


def _merged(key: Key | None, row: dict[int, Node]) -> dict[Node, list[Node]]:
    """What stands in the place of stores to some offsets from a place: of each vector, the last of
    its stores becomes all of it."""
    if key is None:
        return {}
    _, type_, count = key
    merged: dict[Node, list[Node]] = {}
    order = list(row.values())
    for offset in sorted(row):
        for length in lengths(type_, count):
            parts = [row.get(offset + index * type_.size) for index in range(length)]
            found = [part for part in parts if part is not None and part not in merged]
            if len(found) == length:
                merged |= {part: [] for part in found}
                merged[max(found, key=order.index)] = _vector(found, several(type_, length))
                break
    return merged


def _vector(parts: list[Node], type_: Type) -> list[Node]:
    first = parts[0]
    values = [part.operands[1] for part in parts]
    whole = first.derive("CompositeConstruct", type_, values)
    store = first.derive("Store", first.type, [first.operands[0], whole], first.literals)
    return [whole, store]
