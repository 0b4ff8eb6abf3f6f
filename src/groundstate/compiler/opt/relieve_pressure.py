"""Frees registers in loops that have more sums than registers.

Two things that programs do for a GPU cost registers on a CPU. What a loop loads ahead of time waits
in a register for an iteration: here it is loaded when it is needed (software pipelining undone).
And what all lanes take from one of them by a shuffle is loaded by all: here it is loaded once, from
that lane's address.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.analysis.lane_values import shuffled
from groundstate.compiler.analysis.simple_loop import SimpleLoop, change_simple_loops
from groundstate.compiler.ir import Block, Kernel, Node, constant_int
from groundstate.compiler.ir.ops import (
    CASTS,
    CHAINS,
    LEAVES,
    SHUFFLES,
    guards_of,
    has_side_effects,
)
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.opt.distribute import Reductions

DEPTH = 32
"""How many operations an address may be computed by, one on the other."""


def relieve_pressure(kernel: Kernel, analyses: Analyses) -> bool:
    """Loads less ahead of time in loops that have more sums than registers."""
    crowded: set[Block] = set()

    def note(loop: SimpleLoop) -> bool:
        if Reductions(loop).are_too_many:
            crowded.add(loop.header)
        return False

    def change(what: Callable[[SimpleLoop], None]) -> Callable[[SimpleLoop], bool]:
        def run(loop: SimpleLoop) -> bool:
            if loop.header in crowded:
                what(loop)
            return loop.header in crowded

        return run

    change_simple_loops(kernel, analyses, note)
    for step in (undo_software_pipelining, scalarise_shuffled_loads):
        change_simple_loops(kernel, analyses, change(step))
    return bool(crowded)


def undo_software_pipelining(loop: SimpleLoop) -> None:
    """Loads what a loop loads for its next iteration at the start of that iteration.

    It would wait in registers, of which there are none to spare."""
    header, entering = loop.header, loop.entering
    for phi in list(header.phis):
        first, following = loop.first_value(phi), loop.next_value(phi)
        if not _is_same_load(first, following) or first.block is not entering:
            continue
        place = entering.nodes.index(first)
        if any(map(has_side_effects, entering.nodes[place:])):
            continue  # something may be written before the loop
        nodes: list[Node] = []
        address = _phi_of(loop, first.operands[0], following.operands[0], nodes)
        load = following.derive("Load", phi.type, [address], following.literals)
        header.phis.remove(phi)
        header.nodes[:0] = [*nodes, load]
        loop.kernel.replace({phi: load})


def _is_same_load(first: Node, following: Node) -> bool:
    if guards_of(first) or guards_of(following):
        return False
    return first.op == following.op == "Load" and first.literals == following.literals


def _phi_of(
    loop: SimpleLoop, first: Node, following: Node, nodes: list[Node], depth: int = DEPTH
) -> Node:
    """One value in the first iteration and another one in those that follow."""
    if first is following or _is_same_constant(first, following):
        return first
    if (
        depth
        and first.op == following.op
        and first.type == following.type
        and first.op in CASTS | CHAINS
        and first.literals == following.literals
        and len(first.operands) == len(following.operands)
    ):
        pairs = zip(first.operands, following.operands, strict=True)
        operands = [_phi_of(loop, one, other, nodes, depth - 1) for one, other in pairs]
        nodes.append(first.derive(first.op, first.type, operands, first.literals))
        return nodes[-1]
    phi = first.derive("Phi", first.type, [first, following], (loop.entering, loop.latch))
    loop.header.phis.append(phi)
    return phi


def _is_same_constant(one: Node, other: Node) -> bool:
    value = constant_int(one)
    return value is not None and one.type == other.type and value == constant_int(other)


def scalarise_shuffled_loads(loop: SimpleLoop) -> None:
    """What all lanes take from one of them is loaded from that one's address."""
    divergence = loop.divergence
    for block in loop.blocks:
        for node in list(block.nodes):
            if node.op not in SHUFFLES or divergence.stride(node) != 0:
                continue
            value, _ = shuffled(node)
            if not _comes_from_load(loop, value):
                continue
            nodes: list[Node] = []
            taken = _of_lane(loop, value, node, nodes)
            place = block.nodes.index(node)
            block.nodes[place:place] = nodes
            loop.kernel.replace({node: taken})


def _comes_from_load(loop: SimpleLoop, node: Node) -> bool:
    """True for what a loop loads itself: nothing is written between that and its uses."""
    for _ in range(DEPTH):
        if node.op not in CASTS:
            break
        node = node.operands[0]
    return node.op == "Load" and node in loop.inside and not guards_of(node)


def _of_lane(
    loop: SimpleLoop, value: Node, shuffle: Node, nodes: list[Node], depth: int = DEPTH
) -> Node:
    """What a shuffle makes of a value: computed again for that lane if it is an address."""
    if value.op in LEAVES or loop.divergence.stride(value) == 0:
        return value
    operands: list[Node]
    if depth and (value.op in CASTS | CHAINS or _comes_from_load(loop, value)):
        operands = [_of_lane(loop, each, shuffle, nodes, depth - 1) for each in value.operands]
        nodes.append(value.derive(value.op, value.type, operands, value.literals))
    else:
        operands = [*shuffle.operands[:-2], value, shuffle.operands[-1]]
        nodes.append(shuffle.derive(shuffle.op, value.type, operands, shuffle.literals))
    return nodes[-1]
