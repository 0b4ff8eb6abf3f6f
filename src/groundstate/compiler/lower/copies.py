"""Copies of bytes to and from whole private variables become loads and stores of their type.

In goes `CopyMemorySized`, by which compilers move SYCL's vectors and other structures. An access of
the variable's own type keeps its parts apart, so that it can be interleaved or turned into values.
Where the source is a variable that holds nothing but its initial zeros, zero is stored and the
source is no longer needed.
"""

from __future__ import annotations

from groundstate.compiler.ir import Kernel, Node, constant_int
from groundstate.compiler.ir.ops import keeps_memory
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.constants import Constant, null
from groundstate.compiler.spirv.types import Array, Pointer, Struct, Type, Vector

Users = dict[Node, list[Node]]


def lower_copies(kernel: Kernel, analyses: Analyses) -> bool:
    """Puts stores in the place of copies to and from whole private variables."""
    most = analyses.target.most_copied_bytes
    changed = False
    users = kernel.users()
    for block in kernel.blocks:
        for node in list(block.nodes):
            whole = _whole(node, most) if node.op == "CopyMemorySized" else None
            if whole is None:
                continue
            changed = True
            source = _root(node.operands[1])
            if source.op == "Variable" and _stays_zero(source, source, users):
                _store(node, Node("Constant", whole, literals=(null(whole), 0)))
            else:
                load = node.derive("Load", whole, [node.operands[1]], node.literals[:2])
                block.nodes.insert(block.nodes.index(node), load)
                _store(node, load)
    return changed


def _root(pointer: Node) -> Node:
    while keeps_memory(pointer):
        pointer = pointer.operands[0]
    return pointer


def _whole(copy: Node, most: int) -> Type | None:
    """What the variable holds that a copy fills or reads as a whole, unless it is large."""
    for operand in copy.operands[:2]:
        variable = _root(operand)
        if variable.op == "Variable" and isinstance(variable.type, Pointer):
            whole = variable.type.pointee
            if whole is not None and constant_int(copy.operands[2]) == whole.size <= most:
                return whole if _bytes_of_parts(whole) == whole.size else None
    return None


def _bytes_of_parts(type_: Type) -> int:
    """The bytes of a type that belong to a part of it. What lies between parts is copied, too."""
    if isinstance(type_, Array):
        return type_.length * _bytes_of_parts(type_.element)
    if isinstance(type_, Vector):
        return type_.count * _bytes_of_parts(type_.element)
    if isinstance(type_, Struct):
        return sum(map(_bytes_of_parts, type_.members))
    return type_.size


def _stays_zero(address: Node, variable: Node, users: Users) -> bool:
    """True if nothing but zeros is written to a variable, and its address is not handed on."""
    return all(_leaves_zero(user, address, variable, users) for user in users[address])


def _leaves_zero(user: Node, address: Node, variable: Node, users: Users) -> bool:
    if keeps_memory(user):
        return _stays_zero(user, variable, users)
    if user.op == "CopyMemorySized":
        return user.operands[0] is not address and user.operands[2] is not address
    if user.op == "Store":
        return user.operands[0] is variable and _is_zero(user.operands[1])
    return user.op == "Load" or user.op.startswith("Lifetime")


def _is_zero(node: Node) -> bool:
    value = node.literals[0] if node.op == "Constant" else None
    return isinstance(value, Constant) and value.is_null


def _store(copy: Node, value: Node) -> None:
    copy.op, copy.operands = "Store", [copy.operands[0], value]
    copy.literals = copy.literals[:2]
