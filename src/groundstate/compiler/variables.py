"""Turns variables of a function into values.

A variable whose address is only loaded from and stored to as a whole needs no memory. If one store
reaches all loads, its value takes their place. Otherwise it becomes a cell: `ReadCell` and
`WriteCell` nodes, which the emitter keeps in a register slot for each lane.
"""

from __future__ import annotations

from groundstate.compiler.graph import Graph
from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.spirv.types import Array, Pointer, RuntimeArray, Struct

VOLATILE = 1


def promote_variables(kernel: Kernel) -> None:
    """Removes the memory of every variable that does not need it."""
    uses = kernel.users()
    graph = Graph(kernel)
    replaced: dict[Node, Node] = {}
    removed: set[Node] = set()
    for variable in [node for node in kernel.nodes() if node.op == "Variable"]:
        if _is_simple(variable, uses[variable]):
            _promote(graph, variable, uses[variable], replaced, removed)
    _apply(kernel, replaced, removed)


def _is_simple(variable: Node, users: list[Node]) -> bool:
    assert isinstance(variable.type, Pointer)
    if isinstance(variable.type.pointee, Array | RuntimeArray | Struct) or variable.operands:
        return False
    for user in users:
        volatile = any(isinstance(each, int) and each & VOLATILE for each in user.literals[:1])
        if user.op == "Load" and user.type == variable.type.pointee and not volatile:
            continue
        if user.op == "Store" and user.operands[0] is variable and not volatile:
            value = user.operands[1]
            if value is not variable and value.type == variable.type.pointee:
                continue
        return False
    return True


def _promote(
    graph: Graph, variable: Node, users: list[Node], replaced: dict[Node, Node], removed: set[Node]
) -> None:
    stores = [user for user in users if user.op == "Store"]
    loads = [user for user in users if user.op == "Load"]
    removed.add(variable)
    if len(stores) == 1 and all(_comes_before(graph, stores[0], load) for load in loads):
        removed.add(stores[0])
        for load in loads:
            replaced[load] = stores[0].operands[1]
        return
    for load in loads:
        load.op, load.operands, load.literals = "ReadCell", [], (variable,)
    for store in stores:
        store.op, store.operands, store.literals = "WriteCell", [store.operands[1]], (variable,)


def _comes_before(graph: Graph, first: Node, second: Node) -> bool:
    assert first.block is not None
    assert second.block is not None
    if first.block is second.block:
        return first.index < second.index
    return graph.dominates(first.block, second.block)


def _apply(kernel: Kernel, replaced: dict[Node, Node], removed: set[Node]) -> None:
    def final(node: Node) -> Node:
        while node in replaced:
            node = replaced[node]
        return node

    for block in kernel.blocks:
        for node in (*block.phis, *block.nodes):
            node.operands = [final(each) for each in node.operands]
        if block.condition is not None:
            block.condition = final(block.condition)
        block.nodes = [node for node in block.nodes if node not in removed and node not in replaced]
    kernel.renumber()
