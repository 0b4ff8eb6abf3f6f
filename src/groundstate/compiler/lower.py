"""Small rewrites of the kernel graph before it is analysed.

`lower_builtins`: a load of a built-in variable becomes a `Builtin` node, one for each component
that is used, so that the shape of each is known by itself. `split_at_barriers`: a barrier ends
its block, so that everything that lives across it is a value that crosses blocks.
"""

from __future__ import annotations

from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.spirv.instructions import enumeration
from groundstate.compiler.spirv.types import Vector
from groundstate.compiler.uniformity import CHAINS, constant_int

SCOPE_WORKGROUP, SCOPE_SUBGROUP = 2, 3
BARRIERS = frozenset(("ControlBarrier", "GroupWaitEvents"))


def lower_builtins(kernel: Kernel) -> None:
    """Puts `Builtin` nodes in the place of loads from built-in variables."""
    for block in kernel.blocks:
        for node in block.nodes:
            name = _builtin_of(node)
            if name is not None:
                _rewrite(node, name)
        for node in block.nodes:
            if node.op == "CompositeExtract" and node.operands[0].op == "Builtin":
                source = node.operands[0]
                if len(source.literals) == 1 and isinstance(source.type, Vector):
                    node.op, node.operands = "Builtin", []
                    node.literals = (source.literals[0], node.literals[0])


def _builtin_of(node: Node) -> str | None:
    if node.op != "Load":
        return None
    pointer = node.operands[0]
    while pointer.op in CHAINS or pointer.op in ("Bitcast", "PtrCastToGeneric"):
        pointer = pointer.operands[0]
    if pointer.op != "Global":
        return None
    builtin = getattr(pointer.literals[0], "builtin", None)
    return None if builtin is None else enumeration("BuiltIn")[builtin].name


def _rewrite(node: Node, name: str) -> None:
    pointer = node.operands[0]
    component: int | None = None
    if pointer.op in CHAINS:
        component = constant_int(pointer.operands[-1])
    node.op, node.operands = "Builtin", []
    node.literals = (name,) if component is None else (name, component)


def is_group_barrier(node: Node) -> bool:
    """True if all work-items of the group meet at the node."""
    if node.op == "GroupWaitEvents":
        return True
    return node.op == "ControlBarrier" and constant_int(node.operands[0]) == SCOPE_WORKGROUP


def split_at_barriers(kernel: Kernel) -> bool:
    """Ends a block after each barrier. True if there is one."""
    blocks: list[Block] = []
    for block in kernel.blocks:
        blocks.append(block)
        nodes, block.nodes = block.nodes, []
        current = block
        for node in nodes:
            current.nodes.append(node)
            if is_group_barrier(node):
                current = _continue_in(current, Block(block.where))
                blocks.append(current)
    found = len(blocks) > len(kernel.blocks)
    kernel.blocks = blocks
    kernel.renumber()
    return found


def _continue_in(block: Block, rest: Block) -> Block:
    """Moves the end of a block to another, which follows it."""
    rest.condition, block.condition = block.condition, None
    rest.switch, block.switch = block.switch, None
    rest.successors, block.successors = block.successors, [rest]
    for successor in rest.successors:
        for phi in successor.phis:
            phi.literals = tuple(rest if each is block else each for each in phi.literals)
    return rest
