"""How far the indices of an access chain lead."""

from __future__ import annotations

from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir.kernel import Node, constant_int
from groundstate.compiler.ir.operation import ROWS
from groundstate.compiler.spirv.types import Array, Pointer, RuntimeArray, Struct, Type, Vector


def _wrong_chain(node: Node, reason: str) -> BuildError:
    return BuildError(f"in function '{node.where}', Op{node.op}: {reason}")


def chain_steps(node: Node) -> list[tuple[int | None, int]]:
    """For each index of an access chain: the bytes of one step, or None and a fixed offset."""
    pointer = node.operands[0].type
    if not isinstance(pointer, Pointer):
        raise _wrong_chain(node, f"it needs an address, and is given a {pointer}")
    current: Type | None = pointer.pointee
    if node.literals and isinstance(node.literals[0], Type):
        current = node.literals[0]  # the pointer itself has no type
    steps: list[tuple[int | None, int]] = []
    indices = node.operands[1:]
    if ROWS[node.op].moves_pointer:
        if current is None:
            raise _wrong_chain(node, f"a {pointer} does not say how large what it points to is")
        steps.append((array_step(current), 0))
        indices = indices[1:]
    for index in indices:
        if isinstance(current, Struct):
            member = constant_int(index)
            if member is None:
                raise _wrong_chain(node, f"a member of {current} is chosen by a constant")
            if not 0 <= member < len(current.members):
                raise _wrong_chain(node, f"{current} has no member {member}")
            steps.append((None, current.offsets[member]))
            current = current.members[member]
        elif isinstance(current, Array | RuntimeArray | Vector):
            current = current.element
            steps.append((array_step(current), 0))
        else:
            raise _wrong_chain(node, f"a {current} has no parts to step into")
    return steps


def array_step(element: Type) -> int:
    """The bytes from one array element to the next."""
    return -(-element.size // element.align) * element.align
