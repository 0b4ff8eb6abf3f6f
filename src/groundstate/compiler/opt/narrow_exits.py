"""What lanes take out of a search is made smaller before they leave.

A lane that leaves a loop keeps what it has while the others go round, so each iteration blends what
is taken out. If a counter is only looked at through something smaller (a truncation, a comparison
with an argument), the smaller value is computed in the loop and taken out. All lanes that are still
there have the same counter, so that costs next to nothing.
"""

from __future__ import annotations

from groundstate.compiler.analysis.cfg import CFG, Loop
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.ops import LEAVES, Affine, Category, guards_of, operation
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.types import Bool, Int, Type


def narrow_exits(kernel: Kernel, analyses: Analyses) -> bool:
    """Computes in a loop what is smaller than a counter that lanes would take out of it."""
    changed = False
    for loop in analyses.get(CFG).loops:
        if len(loop.exits()) < 2:
            continue
        users = kernel.users()
        waiting = [phi for phi in loop.header.phis if _is_counter(phi, loop)]
        place = 0
        while waiting:
            for user in _outside(waiting.pop(), users, loop):
                assert user.block is not None
                user.block.nodes.remove(user)
                loop.header.nodes.insert(place, user)
                user.block, place, changed = loop.header, place + 1, True
                waiting.append(user)
    return changed


def _is_counter(phi: Node, loop: Loop) -> bool:
    """True for what begins with something that all work-items know and goes up by a constant."""
    ways = zip(phi.operands, phi.literals, strict=True)
    return all(
        _goes_on(value, phi) if _is_in(source, loop) else value.op in LEAVES
        for value, source in ways
    )


def _is_in(source: object, loop: Loop) -> bool:
    return isinstance(source, Block) and loop.contains(source)


def _goes_on(value: Node, phi: Node) -> bool:
    return (
        operation(value).affine is Affine.SUM
        and phi in value.operands
        and all(each is phi or each.op in LEAVES for each in value.operands)
    )


def _outside(node: Node, users: dict[Node, list[Node]], loop: Loop) -> list[Node]:
    """Who uses a value behind the loop, if they all make less of it."""
    outside = [
        each
        for each in dict.fromkeys(users[node])
        if each.block is not None and not loop.contains(each.block) and not _is_unused(each, users)
    ]
    return outside if all(_is_smaller(each, node) for each in outside) else []


def _is_unused(node: Node, users: dict[Node, list[Node]]) -> bool:
    """True for a phi that another pass has left without users."""
    return node.op == "Phi" and not users.get(node)


def _is_smaller(user: Node, node: Node) -> bool:
    """True for an operation that makes less of a value, with what all work-items know."""
    row = operation(user)
    return (
        row.category in (Category.ARITHMETIC, Category.CAST)
        and row.is_pure
        and not row.divides
        and not guards_of(user)
        and _bits(user.type) < _bits(node.type)
        and all(each is node or each.op in LEAVES for each in user.operands)
    )


def _bits(type_: Type) -> int:
    """Of a number; nothing else is smaller than another."""
    return 1 if isinstance(type_, Bool) else type_.width if isinstance(type_, Int) else 1 << 30
