"""Private arrays and structures whose elements of all lanes lie next to each other.

Each lane has its own copy of a private array. If a program only reads and writes whole elements of
it, the copies are interleaved: an element of all lanes is one vector, so that an index which is the
same in all lanes is one vector access. An address that points into such an array counts in steps
that are `width` times as long as the program says. Several elements may be read and written at
once, as a vector, a structure or a number that takes as many bytes as some of them.
"""

from __future__ import annotations

from collections.abc import Container

from groundstate.compiler.ir import Kernel, Node, constant_int
from groundstate.compiler.ir.addresses import chain_steps
from groundstate.compiler.ir.ops import CHAINS, keeps_memory
from groundstate.compiler.spirv.types import Array, Float, Int, Pointer, Struct, Type, Vector
from groundstate.compiler.target import Target

COMPOSITES = Array | Struct | Vector


def interleaved_addresses(
    kernel: Kernel, target: Target, besides: Container[Node] = ()
) -> dict[Node, int]:
    """Interleaved variables and the addresses inside them, with the bytes of an element.

    The variables `besides` have one copy for all lanes."""
    users = kernel.users()
    webs: dict[Node, set[Node]] = {}
    for node in kernel.nodes():
        if node.op != "Variable" or node.operands or node in besides:
            continue
        if size := _element_size(node):
            web = _web(node, size, users, target)
            if web is not None:
                webs[node] = web
    _drop_mixed(webs)
    return {
        node: size
        for variable, web in webs.items()
        if (size := _element_size(variable))
        for node in web
    }


def _element_size(variable: Node) -> int:
    """The size of the scalars of an array or structure, 0 if they differ or if this is none."""
    assert isinstance(variable.type, Pointer)
    pointee = variable.type.pointee
    if not isinstance(pointee, COMPOSITES):
        return 0
    sizes = _scalar_sizes(pointee)
    return sizes.pop() if len(sizes) == 1 else 0


def _scalar_sizes(type_: Type) -> set[int]:
    if isinstance(type_, Array | Vector):
        return _scalar_sizes(type_.element)
    if isinstance(type_, Struct):
        return {size for member in type_.members for size in _scalar_sizes(member)}
    return {type_.size}


def _web(
    variable: Node, size: int, users: dict[Node, list[Node]], target: Target
) -> set[Node] | None:
    """All addresses that are computed from a variable's, or None if they are used in other ways."""
    web = {variable}
    waiting = [variable]
    while waiting:
        address = waiting.pop()
        for user in users[address]:
            if user.op == "Phi" or user.op in CHAINS or keeps_memory(user):
                if user.op in CHAINS and not _steps_are_whole(user, address, size):
                    return None
                if user not in web:
                    web.add(user)
                    waiting.append(user)
            elif not _is_element_access(
                user, address, size, size * target.most_interleaved_elements
            ):
                return None
    return web


def _is_element_access(user: Node, address: Node, size: int, most: int) -> bool:
    if user.op.startswith("Lifetime"):
        return True
    if user.op == "Load":
        return _is_made_of(user.type, size, most)
    if user.op == "Store":
        value = user.operands[1]
        return value is not address and _is_made_of(value.type, size, most)
    return False


def _is_made_of(type_: Type, size: int, most: int) -> bool:
    """True for an element, and for what some elements together are, up to `most` bytes: parts of
    it, or its bytes."""
    if not isinstance(type_, COMPOSITES):
        packed = isinstance(type_, Int | Float) and type_.width == 8 * type_.size
        return type_.size == size or (packed and type_.size % size == 0)
    return _scalar_sizes(type_) == {size} and type_.size <= most


def _steps_are_whole(chain: Node, address: Node, size: int) -> bool:
    """True if an address moves by whole elements only."""
    if chain.operands[0] is not address or address in chain.operands[1:]:
        return False
    for index, (step, offset) in zip(chain.operands[1:], chain_steps(chain), strict=True):
        number = constant_int(index)
        moved = offset if step is None else step if number is None else step * number
        if moved % size and not (step == 1 and _is_multiple(index, size)):
            return False
    return True


def _is_multiple(index: Node, size: int) -> bool:
    """True if a number of bytes is known to be one of whole elements."""
    if index.op == "ShiftLeftLogical":
        by = constant_int(index.operands[1])
        return by is not None and 0 <= by < 64 and (1 << by) % size == 0
    if index.op == "IMul":
        factors = [constant_int(each) for each in index.operands]
        return any(each is not None and each % size == 0 for each in factors)
    return False


def _drop_mixed(webs: dict[Node, set[Node]]) -> None:
    """Takes out variables whose addresses meet others that are not interleaved."""
    changed = True
    while changed:
        changed = False
        inside = {node: _element_size(variable) for variable, web in webs.items() for node in web}
        for variable, web in list(webs.items()):
            size = _element_size(variable)
            phis = [node for node in web if node.op == "Phi"]
            if any(inside.get(each) != size for phi in phis for each in phi.operands):
                del webs[variable]
                changed = True
