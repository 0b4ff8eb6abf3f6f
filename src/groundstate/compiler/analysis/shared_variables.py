"""Private variables that may hold the same in all lanes, so that one copy does for a sub-group.

Compilers of SYCL put the arguments of a kernel into a structure in private memory and read them
from there. If everything that is written to a variable is the same in all lanes, and written by all
of them, then what is read is the same, too: an address that is computed from it stays regular. Here
is found which variables can be such at all, and who writes to them; whether all lanes write the
same is known to `divergence`.
"""

from __future__ import annotations

from collections.abc import Iterable

from groundstate.compiler.ir import Block, Kernel, Node, constant_int
from groundstate.compiler.ir.addresses import chain_steps
from groundstate.compiler.ir.ops import CHAINS, SAME_ADDRESS
from groundstate.compiler.lower.barriers import is_group_barrier
from groundstate.compiler.spirv.types import Int, Pointer

COPIES = frozenset(["CopyMemory", "CopyMemorySized"])
Users = dict[Node, list[Node]]


def writers_of_variables(kernel: Kernel) -> dict[Node, list[Node]]:
    """For each variable whose address is only loaded from, stored to and copied: its writers."""
    users = kernel.users()
    found = {}
    for node in kernel.nodes():
        if node.op == "Variable":
            writers = _writers(node, users)
            if writers is not None:
                found[node] = writers
    return found


def stack_variables(kernel: Kernel, shared: Iterable[Node]) -> set[Node]:
    """Those variables that may lie on the stack. Nobody uses them behind a barrier: they need not
    last until a sub-group goes on there, while others have been running. And nobody can leave
    them: an index that is only known when the kernel runs might lead to anything on the stack."""
    behind = _blocks_behind_barriers(kernel)
    users = kernel.users()
    return {
        each
        for each in shared
        if behind.isdisjoint(_blocks_of_uses(each, users)) and _stays_inside(each, users)
    }


def _blocks_behind_barriers(kernel: Kernel) -> set[Block]:
    waiting = [
        successor
        for block in kernel.blocks
        if any(map(is_group_barrier, block.nodes))
        for successor in block.successors
    ]
    found: set[Block] = set()
    while waiting:
        block = waiting.pop()
        if block not in found:
            found.add(block)
            waiting += block.successors
    return found


def _blocks_of_uses(variable: Node, users: Users) -> set[Block]:
    """Where a variable or an address in it is used."""
    found: set[Block] = set()
    seen: set[Node] = set()
    waiting = [variable]
    while waiting:
        for user in users[waiting.pop()]:
            if user not in seen:
                seen.add(user)
                assert user.block is not None
                found.add(user.block)
                if user.op in SAME_ADDRESS or user.op in CHAINS:
                    waiting.append(user)
    return found


def _stays_inside(variable: Node, users: Users) -> bool:
    """True if all that is read and written through a variable's address is known to lie in it."""
    assert isinstance(variable.type, Pointer)
    assert variable.type.pointee is not None
    room = variable.type.pointee.size
    waiting = [(variable, 0, 0)]
    while waiting:
        address, least, most = waiting.pop()
        for user in users[address]:
            if user.op in SAME_ADDRESS:
                waiting.append((user, least, most))
            elif user.op in CHAINS:
                moved = _offsets(user)
                if moved is None:
                    return False
                waiting.append((user, least + moved[0], most + moved[1]))
            elif not user.op.startswith("Lifetime"):
                size = _accessed_bytes(user)
                if size is None or least < 0 or most + size > room:
                    return False
    return True


def _offsets(chain: Node) -> tuple[int, int] | None:
    """The least and the most bytes that an access chain leads on, if they are known."""
    least = most = 0
    for index, (step, offset) in zip(chain.operands[1:], chain_steps(chain), strict=True):
        bounds = (1, 1) if step is None else _bounds(index)
        if bounds is None:
            return None
        bytes_of_one = offset if step is None else step
        least += bounds[0] * bytes_of_one
        most += bounds[1] * bytes_of_one
    return least, most


def _bounds(index: Node, depth: int = 8) -> tuple[int, int] | None:
    """The least and the greatest number that an index can be, where it is easy to see."""
    number = constant_int(index)
    if number is not None:
        return number, number
    if index.op == "BitwiseAnd":
        masks = [each for each in map(constant_int, index.operands) if each is not None]
        return (0, min(masks)) if masks and min(masks) >= 0 else None
    if index.op in ("SConvert", "UConvert") and isinstance(index.type, Int) and depth:
        bounds = _bounds(index.operands[0], depth - 1)
        if bounds is not None and bounds[0] >= 0 and not bounds[1] >> (index.type.width - 1):
            return bounds
    return None


def _accessed_bytes(user: Node) -> int | None:
    """How much a load, a store or a copy reads or writes, if that is known."""
    if user.op == "Load":
        return user.type.size
    if user.op == "Store":
        return user.operands[1].type.size
    if user.op == "CopyMemorySized":
        return constant_int(user.operands[2])
    if user.op == "CopyMemory":
        kinds = [each.type for each in user.operands[:2]]
        sizes = [each.pointee.size for each in kinds if isinstance(each, Pointer) and each.pointee]
        return max(sizes, default=None)
    return None


def _writers(variable: Node, users: Users) -> list[Node] | None:
    """What writes to a variable, or None if its address is used in other ways."""
    writers = []
    waiting = [variable]
    while waiting:
        address = waiting.pop()
        for user in users[address]:
            if user.op in SAME_ADDRESS or (user.op in CHAINS and user.operands[0] is address):
                waiting.append(user)
            elif user.op in COPIES or (user.op == "Store" and user.operands[1] is not address):
                if user.operands[0] is address:
                    writers.append(user)
            elif user.op != "Load" and not user.op.startswith("Lifetime"):
                return None
    return writers
