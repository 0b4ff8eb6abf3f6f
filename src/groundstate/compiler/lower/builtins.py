"""Loads of built-in variables become `Builtin` nodes, one for each component that is used.

So the lane stride of each component is known by itself. The address may come through access chains,
casts and steps in bytes, which is how compilers whose pointers have no type reach a component.
"""

from __future__ import annotations

from groundstate.compiler.ir import Kernel, Node, constant_int
from groundstate.compiler.ir.addresses import array_step, chain_steps
from groundstate.compiler.ir.ops import CHAINS, SAME_ADDRESS
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.instructions import enumeration
from groundstate.compiler.spirv.types import Type, Vector

MOST_STEPS = 64
"""That lead from a built-in variable to an address in it."""
Roots = dict[Node, Node]


def lower_builtins(kernel: Kernel, analyses: Analyses) -> bool:
    """Puts `Builtin` nodes in the place of loads from built-in variables."""
    del analyses
    roots = _roots(kernel)
    for block in kernel.blocks:
        block.nodes = [each for node in block.nodes for each in _lowered(node, roots)]
        for node in block.nodes:
            if node.op == "CompositeExtract" and node.operands[0].op == "Builtin":
                source = node.operands[0]
                if len(source.literals) == 1 and isinstance(source.type, Vector):
                    _become(node, str(source.literals[0]), int(str(node.literals[0])))
    return True


def _roots(kernel: Kernel) -> Roots:
    """What each address is computed from, in the end."""
    roots: Roots = {}
    for node in kernel.nodes():
        if node.op in CHAINS or node.op in SAME_ADDRESS:
            source = node.operands[0]
            roots[node] = roots.get(source, source)
    return roots


def _become(node: Node, name: str, component: int | None) -> None:
    node.op, node.operands = "Builtin", []
    node.literals = (name,) if component is None else (name, component)


def _lowered(node: Node, roots: Roots) -> list[Node]:
    """A node, or what takes its place if it reads a built-in variable."""
    variable = _variable_behind(node.operands[0], roots) if node.op == "Load" else None
    if variable is None:
        return [node]
    name, whole = variable
    if not isinstance(whole, Vector) or isinstance(node.type, Vector):
        _become(node, name, None)
        return [node]
    offset, index = _place(node.operands[0], array_step(whole.element))
    component, rest = divmod(offset, array_step(whole.element))
    if rest or component >= whole.count:
        return [node]
    if index is None:
        _become(node, name, component)
        return [node]
    vector = node.derive("Builtin", whole, literals=(name,))
    node.op, node.operands, node.literals = "VectorExtractDynamic", [vector, index], ()
    return [vector, node]


def _variable_behind(address: Node, roots: Roots) -> tuple[str, Type] | None:
    """The name and type of the built-in variable that an address leads into."""
    pointer = roots.get(address, address)
    builtin = getattr(pointer.literals[0], "builtin", None) if pointer.op == "Global" else None
    whole = getattr(pointer.type, "pointee", None)
    if builtin is None or whole is None:
        return None
    return enumeration("BuiltIn")[builtin].name, whole


def _place(pointer: Node, element: int) -> tuple[int, Node | None]:
    """How far into its variable an address leads: bytes, and an index of whole elements.

    A negative number of bytes stands for a place that is neither.
    """
    offset, variable_index, left = 0, None, MOST_STEPS
    while pointer.op in CHAINS or pointer.op in SAME_ADDRESS:
        left -= 1
        if left < 0:
            return -1, None
        if pointer.op in CHAINS:
            for index, (size, fixed) in zip(
                pointer.operands[1:], chain_steps(pointer), strict=True
            ):
                number = constant_int(index)
                if size is None:
                    offset += fixed
                elif number is not None:
                    offset += number * size
                elif variable_index is None and size == element:
                    variable_index = index
                else:
                    return -1, None
        pointer = pointer.operands[0]
    return (-1, None) if offset and variable_index is not None else (offset, variable_index)
