"""Store merging: stores of numbers that lie next to each other become one store of a vector.

A block may store several numbers at addresses that differ by constants, one right behind the other.
Where lanes lie as far apart as these numbers take up together, all that the lanes write is one
piece of memory: it is written as the vectors of all lanes, instead of lane by lane.
"""

from __future__ import annotations

from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.analysis.places import Place, place_of
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.ops import Effect, guards_of, operation
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.opt.merge_loads import neighbours, several
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
    gone: set[Node] = set()
    made: dict[Node, list[Node]] = {}
    for node in block.nodes:
        if operation(node).effect is Effect.NONE:
            continue
        count = _count(divergence, node)
        if count == 0:
            key, row = None, {}
            continue
        place, offset = place_of(node.operands[0])
        type_ = node.operands[1].type
        if key != (place, type_, count) or offset in row:
            key, row = (place, type_, count), {}
        row[offset] = node
        if len(row) == count:
            parts = [row.get(min(row) + index * type_.size) for index in range(count)]
            found = [part for part in parts if part is not None]
            if len(found) == count:
                made[node] = _merged(found, several(type_, count))
                gone.update(found)
            key, row = None, {}
    if made:
        nodes = [made.get(node, [node]) for node in block.nodes]
        block.nodes = [each for several_ in nodes for each in several_ if each not in gone]
    return bool(made)


def _count(divergence: Divergence, node: Node) -> int:
    """How many numbers lie between those that neighbouring lanes store; 0 for what is no such
    store."""
    flags = next((each for each in node.literals if isinstance(each, int)), 0)
    if node.op != "Store" or flags & MemoryAccess.Volatile or guards_of(node):
        return 0
    return max(neighbours(divergence, node, node.operands[1].type), 0)


def _merged(parts: list[Node], type_: Type) -> list[Node]:
    first = parts[0]
    values = [part.operands[1] for part in parts]
    whole = first.derive("CompositeConstruct", type_, values)
    store = first.derive("Store", first.type, [first.operands[0], whole], first.literals)
    return [whole, store]
