"""Takes gathers and scatters of vectors of pointers apart, so that each component is an access of
its own, which can be watched (`bounds.py`)."""

from __future__ import annotations

from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.opcodes import MemoryAccess
from groundstate.compiler.spirv.types import Type, Vector, Void


def split_masked(kernel: Kernel, analyses: Analyses) -> bool:
    """Makes loads and stores under a condition of `MaskedGatherINTEL` and `MaskedScatterINTEL`."""
    del analyses
    changed = False
    for block in kernel.blocks:
        nodes: list[Node] = []
        for node in block.nodes:
            if node.op == "MaskedGatherINTEL":
                nodes += _gather(node)
            elif node.op == "MaskedScatterINTEL":
                nodes += _scatter(node)
            else:
                nodes.append(node)
                continue
            changed = True
        block.nodes = nodes
    kernel.renumber()
    return changed


def _parts(node: Node, vector: Node, made: list[Node]) -> list[Node]:
    """The components of an operand."""
    type_ = vector.type
    assert isinstance(type_, Vector)
    parts = [
        node.derive("CompositeExtract", type_.element, [vector], (each,))
        for each in range(type_.count)
    ]
    made += parts
    return parts


def _alignment(node: Node, type_: Type) -> tuple[int, int]:
    return int(MemoryAccess.Aligned), int(str(node.literals[0])) or type_.align


def _gather(node: Node) -> list[Node]:
    assert isinstance(node.type, Vector)
    made: list[Node] = []
    element = node.type.element
    rows = zip(*(_parts(node, each, made) for each in node.operands), strict=True)
    literals = _alignment(node, element)
    loads = [node.derive("PredicatedLoadINTEL", element, list(row), literals) for row in rows]
    node.op, node.operands, node.literals = "CompositeConstruct", loads, ()
    return [*made, *loads, node]


def _scatter(node: Node) -> list[Node]:
    made: list[Node] = []
    data, pointers, mask = (_parts(node, each, made) for each in node.operands)
    literals = _alignment(node, data[0].type)
    stores = [
        node.derive("PredicatedStoreINTEL", Void(), [pointer, value, condition], literals)
        for value, pointer, condition in zip(data, pointers, mask, strict=True)
    ]
    return [*made, *stores]
