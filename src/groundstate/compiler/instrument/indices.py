"""Indices that leave an array inside of a variable, a structure or another array, and stay in the
memory around it: bounds of memory do not tell (`bounds.py`).

OpenCL C that is compiled for checked mode says which indices its accesses have (`CheckIndex`). In
other modules only an access chain that itself steps into the array does. Programs that take an
array of arrays for one long array cast a pointer, which leads to another chain, or to one whose
indices up to there are all 0; both are left alone. So are arrays of one element, which stand for
any number at the end of a structure.
"""

from __future__ import annotations

from collections.abc import Iterator

from groundstate.compiler.instrument.accesses import accesses
from groundstate.compiler.instrument.provenance import U64, as_u64
from groundstate.compiler.ir import Kernel, Node, constant_int, constant_node
from groundstate.compiler.ir.ops import CHAINS, SAME_ADDRESS, operation
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.ir.site import make_site
from groundstate.compiler.spirv.types import (
    Array,
    Bool,
    Pointer,
    RuntimeArray,
    Struct,
    Type,
    Vector,
    Void,
)


def check_indices(kernel: Kernel, analyses: Analyses) -> bool:
    """Reports accesses whose index is none of the array that it steps into."""
    del analyses
    changed = False
    for block in kernel.blocks:
        nodes: list[Node] = []
        for node in block.nodes:
            if node.op == "CheckIndex":
                words, size, length = node.literals
                site = _new_site(kernel, node, str(words), int(str(size)))
                nodes += _report(node, node.operands[0], int(str(length)), site, node.operands[1])
                changed = True
                continue
            for access in accesses(node):
                for index, length in _inner_indices(access.pointer):
                    site = _new_site(kernel, node, access.words, access.size)
                    nodes += _report(node, index, length, site)
                    changed = True
            nodes.append(node)
        block.nodes = nodes
    kernel.renumber()
    return changed


def _new_site(kernel: Kernel, node: Node, words: str, size: int) -> int:
    facts = {"bytes": size, "inner": True, "argument": None}
    kernel.sites.append(make_site("memory", node, access=words, **facts))
    return len(kernel.sites) - 1


def _report(
    node: Node, index: Node, length: int, site: int, is_needed: Node | None = None
) -> list[Node]:
    added: list[Node] = []
    number = as_u64(index, added, node, is_signed=True)
    end = constant_node(U64, length)
    wrong = node.derive("UGreaterThanEqual", Bool(), [number, end])
    added.append(wrong)
    if is_needed is not None and not constant_int(is_needed):
        looks = node.derive("INotEqual", Bool(), [is_needed, constant_node(U64, 0)])
        wrong = node.derive("LogicalAnd", Bool(), [wrong, looks])
        added += [looks, wrong]
    return [*added, node.derive("Report", Void(), [wrong, number, end], (site,))]


def _inner_indices(pointer: Node) -> Iterator[tuple[Node, int]]:
    """The indices into arrays on the way to a pointer, with the lengths of these."""
    while pointer.op in CHAINS or pointer.op in SAME_ADDRESS:
        if pointer.op in CHAINS:
            yield from _of_chain(pointer)
        pointer = pointer.operands[0]


def _of_chain(chain: Node) -> Iterator[tuple[Node, int]]:
    base = chain.operands[0].type
    current: Type | None = base.pointee if isinstance(base, Pointer) else None
    if chain.literals and isinstance(chain.literals[0], Type):
        current = chain.literals[0]
    is_inside = False
    for index in chain.operands[2 if operation(chain).moves_pointer else 1 :]:
        number = constant_int(index)
        length = current.length if is_inside and isinstance(current, Array) else 0
        if length > 1 and (number is None or not 0 <= number < length):
            yield index, length
        is_inside = is_inside or number != 0
        if isinstance(current, Struct) and number is not None:
            current = current.members[number] if number < len(current.members) else None
        elif isinstance(current, Array | RuntimeArray | Vector):
            current = current.element
        else:
            return
