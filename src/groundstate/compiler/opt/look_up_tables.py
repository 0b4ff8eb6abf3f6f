"""Table lookups: loads from constant tables that fit in registers become lookups.

Each lane would load from an address of its own. In the place of such a load from a table of the
program, `constant float weights[16]`, comes a `TableLookup` of the number of the entry, which is
computed in 32 bits: a table has no more entries than that. A vector is looked up component by
component. Loads at addresses that lanes share, or that go up with them, stay.
"""

from __future__ import annotations

from groundstate.compiler.analysis.divergence import VARYING, Divergence
from groundstate.compiler.analysis.register_tables import Entry, entry_of
from groundstate.compiler.ir import Block, Kernel, Node, constant_node
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.types import Int, Vector

INDEX = Int(32, False)


def look_up_tables(kernel: Kernel, analyses: Analyses) -> bool:
    """Looks up entries of small constant tables in registers instead of gathering them."""
    divergence, changed = analyses.get(Divergence), False
    if divergence.width == 1:
        return False
    for block in kernel.blocks:
        found = {node: entry for node in block.nodes if (entry := _entry(divergence, node, block))}
        if found:
            block.nodes = [
                each
                for node in block.nodes
                for each in (_lookup(node, found[node]) if node in found else [node])
            ]
            changed = True
    return changed


def _entry(divergence: Divergence, node: Node, block: Block) -> Entry | None:
    entry = entry_of(node, divergence.target)
    is_varying = entry and divergence.stride_at(node.operands[0], block) is VARYING
    return entry if is_varying else None


def _lookup(load: Node, entry: Entry) -> list[Node]:
    """What takes the place of a load; the load itself becomes the last of it."""
    nodes: list[Node] = []

    def add(op: str, *operands: Node) -> Node:
        nodes.append(load.derive(op, INDEX, list(operands)))
        return nodes[-1]

    def scaled(index: Node, step: int) -> Node:
        if index.type.size != INDEX.size:
            index = add("UConvert" if index.type.size > INDEX.size else "SConvert", index)
        return index if step == 1 else add("IMul", index, constant_node(INDEX, step))

    def operands(number: int) -> list[Node]:
        where = add("IAdd", index, constant_node(INDEX, number)) if number else index
        return [entry.table, where]

    index, *others = [scaled(each, step) for each, step in entry.indices]
    for other in others:
        index = add("IAdd", index, other)
    literals = (entry.entries,)
    if isinstance(load.type, Vector):
        parts: list[Node] = []
        for number in range(entry.first, entry.first + load.type.count):
            parts.append(load.derive("TableLookup", entry.number, operands(number), literals))
            nodes.append(parts[-1])
        load.op, load.operands, load.literals = "CompositeConstruct", parts, ()
    else:
        load.op, load.operands, load.literals = "TableLookup", operands(entry.first), literals
    return [*nodes, load]
