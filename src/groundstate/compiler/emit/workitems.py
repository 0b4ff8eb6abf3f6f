"""Built-in variables: who a work-item is."""

from __future__ import annotations

from groundstate.compiler.emit.emitter import Emitter, handles
from groundstate.compiler.emit.text import scalar_type
from groundstate.compiler.emit.values import Lanes, Value
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Node
from groundstate.compiler.spirv.types import Vector


@handles("Builtin")
def _builtin(emitter: Emitter, node: Node) -> None:
    name = str(node.literals[0])
    known = emitter.context.ids.get(name)
    if known is None:
        raise BuildError("kernels do not have this built-in variable")
    if isinstance(node.type, Vector):
        target = scalar_type(node.type.element)
        parts: list[Value] = [_resized(emitter, each, target) for each in known[: node.type.count]]
        emitter.define(node, parts)
        return
    component = int(str(node.literals[1])) if len(node.literals) > 1 else 0
    value = _resized(emitter, known[component], scalar_type(node.type))
    if emitter.uniformity.shape(node) is None and not value.is_vector and emitter.width > 1:
        value = Lanes(value.type, emitter.text.as_vector(value), None)
    emitter.define(node, value)


def _resized(emitter: Emitter, value: Lanes, type_: str) -> Lanes:
    """An id in the width that the program wants."""
    if value.type == type_:
        return value
    text = emitter.text
    kind = "trunc" if int(value.type[1:]) > int(type_[1:]) else "zext"
    source = text.vector_type(value.type) if value.is_vector else value.type
    target = text.vector_type(type_) if value.is_vector else type_
    return Lanes(type_, text.emit(f"{kind} {source} {value.name} to {target}"), value.stride)
