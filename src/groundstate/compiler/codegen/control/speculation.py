"""Indices that are most likely next to each other, which is looked at when the program runs.

A 32-bit sum that is widened to an address goes up with the lanes, except where it passes 2^32. A
column that is clamped to an image goes up with the lanes, except at its borders; so does one that
starts over by a remainder or a choice. An index times an element stride that the program was given
goes up with the lanes if the stride is 1, as it mostly is in affine algebra. One look is enough for
all lanes: memory is read and written as one vector if the speculation holds, and lane by lane if it
does not. `speculated_values.py` writes the looks.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.analysis.affine import widened
from groundstate.compiler.analysis.divergence import VARYING, Divergence
from groundstate.compiler.codegen.values import Lanes, LaneText, Speculation
from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.ops import Affine, operation
from groundstate.compiler.spirv.instructions import opencl_rows
from groundstate.compiler.spirv.types import Bool, Int, Pointer

MOSTLY = "!2"
"""The metadata of a branch that is nearly always taken."""
MOSTLY_LINE = f'{MOSTLY} = !{{!"branch_weights", i32 2000, i32 1}}'
BOUNDS = {
    "s_min": ("sle",),
    "u_min": ("ule",),
    "s_max": ("sge",),
    "u_max": ("uge",),
    "s_clamp": ("sge", "sle"),
    "u_clamp": ("uge", "ule"),
}
"""Functions that give back a number if it compares with the other operands in such ways."""
REMAINDERS = frozenset(("UMod", "SRem", "SMod"))
MOST_CONDITIONS = 3
"""That are put together to one."""
ACCESSES = frozenset(("Load", "Store"))


def speculated_nodes(kernel: Kernel, divergence: Divergence) -> dict[Node, int]:
    """Numbers and addresses that most likely go up by a fixed step from lane to lane, and the step.

    Only those that addresses of memory are computed from are worth a look."""
    strides: dict[Node, int] = {}
    if divergence.width == 1:
        return strides
    needed: set[Node] = set()
    nodes = [node for node in kernel.nodes() if node.op != "Phi" and node.block is not None]
    for node in nodes:
        if node.op in ACCESSES:
            needed.add(node)
        elif divergence.stride(node) is VARYING and isinstance(node.type, Int | Pointer):
            stride = _speculated_stride(node, divergence, strides)
            if stride is not None:
                strides[node] = stride
    for node in reversed(nodes):
        if node in needed:
            is_access = node.op in ACCESSES
            operands = node.operands[:1] if is_access else node.operands
            needed.update(each for each in operands if strides.get(each, 0) or not is_access)
    return {node: stride for node, stride in strides.items() if node in needed}


def _speculated_stride(node: Node, divergence: Divergence, known: dict[Node, int]) -> int | None:
    """By how much a number goes up from lane to lane, if all goes well."""
    block = node.block
    assert block is not None
    strides = [
        VARYING if divergence.escapes(each, block) else known.get(each, divergence.stride(each))
        for each in node.operands
    ]
    number = widened(node)
    if number is not None:
        return strides[node.operands.index(number)]
    if is_product(node):
        return next(filter(None, strides), None) if 0 in strides else None
    if operation(node).affine is Affine.SAME:
        return strides[0] if isinstance(node.operands[0].type, Int | Pointer) else None
    if operation(node).affine is Affine.SELECT:
        chosen = _only_step(strides[1:])
        return chosen if _compares_indices(node.operands[0], divergence, known) else None
    limits = bounds(node)
    if len(limits) == 1:
        return _only_step(strides) if 0 in strides else None
    if limits or node.op in REMAINDERS:
        return strides[0] if strides[1:] == [0] * len(strides[1:]) else None
    speculates = any(each in known for each in node.operands)
    return divergence.stride_of(node, strides) if speculates else None


def _only_step(strides: list[int | None]) -> int | None:
    """The step of those that move, if there is but one; 0 if none moves."""
    moving = {each for each in strides if each != 0}
    return moving.pop() if len(moving) == 1 else None if moving else 0


def _compares_indices(
    condition: Node, divergence: Divergence, known: dict[Node, int], depth: int = MOST_CONDITIONS
) -> bool:
    """True if lanes most likely agree on a condition: it is about numbers that go up with them."""
    if all(isinstance(each.type, Bool) for each in condition.operands):
        operands = condition.operands if depth and condition.op != "Phi" else ()
        return bool(operands) and all(
            _compares_indices(each, divergence, known, depth - 1) for each in operands
        )
    return all(
        isinstance(each.type, Int) and (each in known or divergence.stride(each) is not VARYING)
        for each in condition.operands
    )


def bounds(node: Node) -> tuple[str, ...]:
    """How an operand compares with the others if it is the result; nothing for most nodes."""
    if node.op != "ExtInst" or not isinstance(node.type, Int):
        return ()
    row = opencl_rows().get(int(str(node.literals[1])))
    return BOUNDS.get(row.name, ()) if row is not None else ()


def is_product(node: Node) -> bool:
    """True for the product of two numbers that may be an index."""
    return node.op == "IMul" and isinstance(node.type, Int) and node.type.width == 64


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
