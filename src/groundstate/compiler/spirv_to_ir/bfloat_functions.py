"""Functions of OpenCL.std on bfloats, which compilers write though the set has none: computed in
floats, and rounded once."""

from __future__ import annotations

from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.ops_opencl import FIRST_INTEGER
from groundstate.compiler.spirv.types import Float, Pointer, Type, Vector

SINGLE = Float(32)


def widen_functions(kernel: Kernel) -> None:
    """Makes each such function one of floats, with conversions around it."""
    changed = [block for block in kernel.blocks if any(map(_is_of_bfloats, block.nodes))]
    for block in changed:
        block.nodes = [each for node in block.nodes for each in _widened(node)]
    if changed:
        kernel.renumber()


def _is_of_bfloats(node: Node) -> bool:
    if node.op != "ExtInst" or not _is_bfloat(node.type):
        return False
    is_known = isinstance(node.literals[1], int) and node.literals[1] < FIRST_INTEGER
    return is_known and not any(isinstance(each.type, Pointer) for each in node.operands)


def _widened(node: Node) -> list[Node]:
    """The function with what comes before it; the node itself becomes the conversion back."""
    if not _is_of_bfloats(node):
        return [node]
    made: list[Node] = []
    function = node.derive("ExtInst", _wide(node.type), literals=node.literals)
    function.decorations, function.position = node.decorations, node.position
    for each in node.operands:
        given = each
        if _is_bfloat(each.type):
            given = node.derive("FConvert", _wide(each.type), [each])
            made.append(given)
        function.operands.append(given)
    node.op, node.operands, node.literals, node.decorations = "FConvert", [function], (), {}
    return [*made, function, node]


def _is_bfloat(kind: Type) -> bool:
    part = kind.element if isinstance(kind, Vector) else kind
    return isinstance(part, Float) and part.is_bfloat16


def _wide(kind: Type) -> Type:
    return Vector(SINGLE, kind.count) if isinstance(kind, Vector) else SINGLE
