"""Intrinsics of LLVM that a module calls by their names."""

from __future__ import annotations

from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.text import overloaded
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.spirv.types import Type
from groundstate.compiler.spirv_to_ir.library_functions import CLASSIFY, ELEMENTWISE, FLAGGED


@handles(*sorted(ELEMENTWISE), *sorted(FLAGGED))
def _elementwise(emitter: Emitter, node: Node) -> None:
    flag = [("i1", "false")] if node.op in FLAGGED else []
    _each_component(emitter, node, node.operands[: -1 if flag else None], flag)


@handles(CLASSIFY)
def _classify(emitter: Emitter, node: Node) -> None:
    classes = constant_int(node.operands[-1])
    _each_component(emitter, node, node.operands[:1], [("i32", str(classes))])


@handles("Trap")
def _trap(emitter: Emitter, node: Node) -> None:
    """Stops the kernel: a lane is here, or this would not run."""
    del node
    emitter.text.call("void", "llvm.trap", [])


def _each_component(
    emitter: Emitter, node: Node, operands: list[Node], more: list[tuple[str, str]]
) -> None:
    """Calls an intrinsic for each component, with some constants after the operands."""
    text = emitter.text

    def one(type_: Type, parts: list[Lanes]) -> Lanes:
        vector = emitter.width > 1 and any(part.stride != 0 for part in parts)
        given = [
            (text.vector_type(part.type), text.as_vector(part))
            if vector
            else (part.type, part.name)
            for part in parts
        ]
        scalar = scalar_type(type_)
        result = text.vector_type(scalar) if vector else scalar
        name = text.call(result, f"{node.op}.{overloaded(given[0][0])}", given + more)
        return Lanes(scalar, name, None if vector else 0)

    value = emitter.map_components(node.type, [emitter.get(each) for each in operands], one)
    assert value is not None
    emitter.define(node, value)
