"""Values that lanes take out of a loop and that are in a register of the loop anyway.

A lane that leaves a loop keeps what it has while the others go round. Where a phi behind the loop
takes the same values as a phi of its header, both share a slot: each iteration writes it in the
lanes that take part, so it has the last value of those that have left.
"""

from __future__ import annotations

from groundstate.compiler.analysis.cfg import Loop
from groundstate.compiler.analysis.divergence import VARYING, Divergence
from groundstate.compiler.ir import Block, Node


def exit_values(divergence: Divergence, escaping: set[Node]) -> dict[Node, Node]:
    """The phis behind loops that share a slot with one of the header, and that one.

    A value that outlives the iterations of an outer loop needs a slot of its own: the next
    iteration enters the inner loop anew."""
    found: dict[Node, Node] = {}
    if divergence.width == 1:
        return found
    for loop in divergence.divergent_loops:
        for exit_ in _exits(divergence, loop):
            for phi in exit_.phis:
                same = next((each for each in loop.header.phis if _is_same(phi, each)), None)
                shared = (phi, same)
                if (
                    same is not None
                    and all(divergence.stride(each) is VARYING for each in (phi, same))
                    and escaping.isdisjoint(shared)
                ):
                    found[phi] = same
    return found


def _exits(divergence: Divergence, loop: Loop) -> list[Block]:
    """Where lanes go that do not go round again from the only latch."""
    if len(loop.latches) != 1 or loop.latches[0] not in divergence.divergent_branches:
        return []
    loop_of = divergence.cfg.loop_of
    return [
        each
        for each in set(loop.latches[0].successors)
        if not loop.contains(each) and loop_of.get(each) is loop.parent
    ]


def _is_same(one: Node, other: Node) -> bool:
    """True if two phis take the same values from the same blocks."""
    return one.type == other.type and _taken(one) == _taken(other)


def _taken(phi: Node) -> dict[object, Node]:
    return dict(zip(phi.literals, phi.operands, strict=True))
