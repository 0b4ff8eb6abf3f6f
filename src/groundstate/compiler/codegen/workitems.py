"""Built-in variables: who a work-item is."""

from __future__ import annotations

import operator

from groundstate.compiler.analysis.divergence import OF_WORK_ITEMS
from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.spirv.types import Vector


@handles("Builtin")
def _builtin(emitter: Emitter, node: Node) -> None:
    name = str(node.literals[0])
    component = int(str(node.literals[1])) if len(node.literals) > 1 else 0
    if name in MASKS:
        _mask(emitter, node, name)
        return
    refill = emitter.context.refill
    if refill is not None and name in OF_WORK_ITEMS:
        known = refill.ids(name)
    else:
        known = emitter.context.ids[name]
    if isinstance(node.type, Vector):
        target = scalar_type(node.type.element)
        parts: list[Value] = [_resized(emitter, each, target) for each in known[: node.type.count]]
        emitter.define(node, parts)
        return
    value = _resized(emitter, known[component], scalar_type(node.type))
    if emitter.divergence.stride(node) is None and not value.is_vector and emitter.width > 1:
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


MASKS = {
    "SubgroupEqMask": operator.eq,
    "SubgroupGeMask": operator.ge,
    "SubgroupGtMask": operator.gt,
    "SubgroupLeMask": operator.le,
    "SubgroupLtMask": operator.lt,
}
"""How the number of a lane whose bit is set compares with a lane's own."""


def _mask(emitter: Emitter, node: Node, name: str) -> None:
    """The lanes before, behind or at a lane as bits; all of them are in the first word."""
    scalar = scalar_type(node.type.element if isinstance(node.type, Vector) else node.type)
    words = [
        sum(1 << other for other in range(emitter.width) if MASKS[name](other, lane))
        for lane in range(emitter.width)
    ]
    if emitter.width == 1:
        first = Lanes(scalar, str(words[0]))
    else:
        vector = ", ".join(f"{scalar} {_signed(word, int(scalar[1:]))}" for word in words)
        first = Lanes(scalar, f"<{vector}>", None)
    zero = Lanes(scalar, "0")
    parts: list[Value] = [first, zero, zero, zero]
    if isinstance(node.type, Vector):
        emitter.define(node, parts[: node.type.count])
    else:
        emitter.define(node, parts[int(str(node.literals[1])) if len(node.literals) > 1 else 0])


def _signed(word: int, width: int) -> int:
    return word - (1 << width) if word >> (width - 1) else word
