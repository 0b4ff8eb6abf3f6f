"""How many vector registers the values of a kernel take up at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from groundstate.compiler.analysis.divergence import VARYING, Divergence
from groundstate.compiler.analysis.liveness import Liveness
from groundstate.compiler.codegen.function import components
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.ops import LEAVES
from groundstate.compiler.spirv.types import Bool, Type


def register_pressure(
    divergence: Divergence, copies: Mapping[Node, int] = MappingProxyType({})
) -> int:
    """The most vector registers that values of lanes take up at the same time, where control often
    comes. Of some values there are several copies."""

    def needs(node: Node) -> int:
        return registers_of(node, divergence) * copies.get(node, 1)

    most = 0
    live = Liveness(divergence.kernel)
    for block in divergence.kernel.blocks:
        if block.cold:
            continue
        ends: set[Node] = set()
        for successor in block.successors:
            ends |= live[successor]
        now = sum(map(needs, ends))
        most = max(most, now)
        for node in reversed(block.nodes):
            if node in ends:
                ends.discard(node)
                now -= needs(node)
            for operand in node.operands:
                if operand not in ends and operand.op not in LEAVES:
                    ends.add(operand)
                    now += needs(operand)
            most = max(most, now)
    return most


def registers_of(node: Node, divergence: Divergence) -> int:
    """How many vector registers a value takes up."""
    if divergence.stride(node) is not VARYING:
        return 0
    return max(1, sum(_bits(node.type)) * divergence.width // (32 * divergence.target.lanes))


def _bits(type_: Type) -> Iterator[int]:
    """The widths of the scalars of a type, as they lie in vectors."""
    parts = components(type_)
    if parts is not None:
        for part in parts:
            yield from _bits(part)
    else:
        yield 32 if isinstance(type_, Bool) else max(8, type_.size * 8)
