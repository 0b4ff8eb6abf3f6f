"""Private variables that may hold the same in all lanes, so that one copy does for a sub-group.

Compilers of SYCL put the arguments of a kernel into a structure in private memory and read them
from there. If everything that is written to a variable is the same in all lanes, and written by all
of them, then what is read is the same, too: an address that is computed from it stays regular. Here
is found which variables can be such at all, and who writes to them; whether all lanes write the
same is known to `uniformity`.
"""

from __future__ import annotations

from collections.abc import Iterable

from groundstate.compiler.interleaving import CHAINS
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.lower import is_group_barrier

SAME_ADDRESS = frozenset(["Bitcast", "CopyObject", "PtrCastToGeneric", "GenericCastToPtr"])
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


def passing_variables(kernel: Kernel, shared: Iterable[Node]) -> set[Node]:
    """Those variables that nobody uses behind a barrier: they need not last until a sub-group goes
    on there, while others have been running."""
    behind = _blocks_behind_barriers(kernel)
    if not behind:
        return set(shared)
    users = kernel.users()
    return {each for each in shared if behind.isdisjoint(_blocks_of_uses(each, users))}


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
