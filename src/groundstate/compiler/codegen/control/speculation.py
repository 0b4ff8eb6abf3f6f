"""Indices that are most likely next to each other, which is looked at when the program runs.

A 32-bit sum that is widened to an address goes up with the lanes, except where it passes 2^32. An
index times an element stride that the program was given goes up with the lanes if the stride is 1,
as it mostly is in affine algebra. One look is enough for all lanes: memory is read and written as
one vector if the speculation holds, and lane by lane if it does not.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.analysis.affine import LOW_WORD, widened
from groundstate.compiler.analysis.divergence import VARYING, Divergence
from groundstate.compiler.codegen.values import Lanes, LaneText, Speculation
from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.ops import CHAINS
from groundstate.compiler.spirv.types import Int

MOSTLY = "!2"
"""The metadata of a branch that is nearly always taken."""
MOSTLY_LINE = f'{MOSTLY} = !{{!"branch_weights", i32 2000, i32 1}}'


def speculated_nodes(kernel: Kernel, divergence: Divergence) -> set[Node]:
    """Widened sums and products, and the addresses computed from them."""
    found: set[Node] = set()
    if divergence.width == 1:
        return found
    for node in kernel.nodes():
        if divergence.stride(node) is not VARYING or node.block is None:
            continue
        strides = [divergence.stride_at(each, node.block) for each in node.operands]
        number = widened(node)
        if number is not None:
            if divergence.stride_at(number, node.block):
                found.add(node)
        elif _is_product(node):
            if 0 in strides and any(strides):
                found.add(node)
        elif node.op in CHAINS and any(each in found for each in node.operands[1:]):
            found.add(node)
    return found


def _is_product(node: Node) -> bool:
    """True for the product of two numbers that may be an index."""
    return node.op == "IMul" and isinstance(node.type, Int) and node.type.width == 64


def speculate(text: LaneText, node: Node, value: Lanes, operand: Callable[[Node], Lanes]) -> Lanes:
    """The value of a node, with a speculation on its lane stride."""
    if _is_product(node):
        return _speculate_on_product(text, value, [operand(each) for each in node.operands])
    number = widened(node)
    affine = operand(number) if number is not None else None
    if affine is None or not value.is_vector or affine.stride is None:
        return value
    across = affine.stride * (text.width - 1)
    beyond = text.emit(f"add {affine.type} {affine.name}, {across}")
    ends = [low_word(text, affine.type, name) for name in (affine.name, beyond)]
    distance = text.emit(f"sub i64 {ends[1]}, {ends[0]}")
    holds = text.emit(f"icmp eq i64 {distance}, {across}")
    return Lanes(value.type, value.name, None, Speculation(ends[0], affine.stride, holds))


def low_word(text: LaneText, type_: str, name: str) -> str:
    """The low 32 bits of a number, in 64."""
    if type_ == "i32":
        return text.emit(f"zext i32 {name} to i64")
    return text.emit(f"and i64 {name}, {LOW_WORD}")


def _speculate_on_product(text: LaneText, value: Lanes, factors: list[Lanes]) -> Lanes:
    """The product of an index and an element stride, with the speculation that the stride is 1."""
    element_stride, index = sorted(factors, key=lambda each: each.stride != 0)
    if not value.is_vector or index.stride is None:
        return value
    holds = text.emit(f"icmp eq {element_stride.type} {element_stride.name}, 1")
    return Lanes(value.type, value.name, None, Speculation(index.name, index.stride, holds))


def moved(text: LaneText, pointer: Lanes, index: Lanes, size: int) -> Speculation | None:
    """The speculation on an address that lies some elements behind a pointer, if there is one."""
    if pointer.is_vector and pointer.speculation is None:
        return None
    if index.is_vector and index.speculation is None:
        return None
    start, first = pointer.speculation or pointer, index.speculation or index
    base = start.first if isinstance(start, Speculation) else start.name
    steps = first.first if isinstance(first, Speculation) else first.name
    name = text.emit(f"getelementptr [{size} x i8], ptr {base}, i64 {steps}")
    assert start.stride is not None
    assert first.stride is not None
    conditions = [each.holds for each in (start, first) if isinstance(each, Speculation)]
    holds = conditions[0]
    if len(conditions) > 1:
        holds = text.emit(f"and i1 {conditions[0]}, {conditions[1]}")
    return Speculation(name, start.stride + first.stride * size, holds)


def either_way(
    text: LaneText, pointer: Lanes, write: Callable[[Lanes], list[str]], type_: str = ""
) -> list[str]:
    """Writes an access twice: as speculated, and for any addresses. Joins the results, if there
    are any, which are vectors of a type."""
    assert pointer.speculation is not None
    speculation = pointer.speculation
    near, far, after = text.label("near"), text.label("far"), text.label("joined")
    text.do(f"br i1 {speculation.holds}, label %{near}, label %{far}, !prof {MOSTLY}")
    ways: list[tuple[str, list[str]]] = []
    for label, where in (
        (near, Lanes("ptr", speculation.first, speculation.stride)),
        (far, Lanes("ptr", pointer.name, None)),
    ):
        text.start(label)
        results = write(where)
        last = text.label("way")
        text.do(f"br label %{last}")
        text.start(last)
        text.do(f"br label %{after}")
        ways.append((last, results))
    text.start(after)
    return [
        text.emit(f"phi {type_} " + ", ".join(f"[ {rs[index]}, %{last} ]" for last, rs in ways))
        for index in range(len(ways[0][1]))
    ]
