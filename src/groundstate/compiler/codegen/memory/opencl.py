"""The OpenCL.std instructions that read and write memory: vload, vstore, and second results."""

from __future__ import annotations

from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.memory.layout import load, store
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.math.vec import Vec, element
from groundstate.compiler.spirv.types import Float, Type, Vector

TO_EVEN, TO_ZERO, UP, DOWN = range(4)
"""FPRoundingMode."""


def prefetch(emitter: Emitter, node: Node, name: str) -> None:
    """A hint, which CPUs do not need."""
    del emitter, node, name


def store_second(emitter: Emitter, pointer: Node, kind: Type, value: Value) -> None:
    """Writes the second result of a function."""
    store(emitter, emitter.scalar(pointer), kind, value, kind.align)


def _place(
    emitter: Emitter, offset: Node, base: Node, kind: Type, name: str
) -> tuple[Lanes, Type, int]:
    """The address of vector number `offset`, its type in memory, and how it is aligned.

    Vectors lie close together and are aligned as their components are; but those of vloada and
    vstorea are aligned as a whole, and of three they take the room of four.
    """
    part = kind.element if isinstance(kind, Vector) else kind
    stored: Type = Float(16) if "half" in name else part
    count = kind.count if isinstance(kind, Vector) else 1
    aligned = name.startswith(("vloada", "vstorea"))
    room = 4 if aligned and count == 3 else count
    pointer = _advance(emitter, emitter.scalar(base), emitter.scalar(offset), room * stored.size)
    align = room * stored.size if aligned else stored.size
    return pointer, Vector(stored, count) if isinstance(kind, Vector) else stored, align


def _advance(emitter: Emitter, pointer: Lanes, index: Lanes, size: int) -> Lanes:
    """The address `index` elements of `size` bytes further on."""
    text = emitter.text
    if not pointer.is_vector and not index.is_vector:
        assert pointer.stride is not None
        assert index.stride is not None
        wide = _as_i64(emitter, index, False)
        name = text.emit(f"getelementptr [{size} x i8], ptr {pointer.name}, i64 {wide}")
        return Lanes("ptr", name, pointer.stride + index.stride * size)
    bases = f"{text.vector_type('ptr')} {text.as_vector(pointer)}"
    steps = f"{text.vector_type('i64')} {_as_i64(emitter, index, True)}"
    return Lanes("ptr", text.emit(f"getelementptr [{size} x i8], {bases}, {steps}"), None)


def _as_i64(emitter: Emitter, index: Lanes, vector: bool) -> str:
    text = emitter.text
    name = text.as_vector(index) if vector else index.name
    t = text.vector_type(index.type) if vector else index.type
    return Vec(text, t, name).to_int(64).name


def _each(value: Value) -> list[Lanes]:
    if isinstance(value, Lanes):
        return [value]
    return [each for each in value if isinstance(each, Lanes)]


def _as_vec(emitter: Emitter, value: Lanes) -> Vec:
    text = emitter.text
    if emitter.width == 1 or value.stride == 0:
        return Vec(text, value.type, value.name)
    return Vec(text, text.vector_type(value.type), text.as_vector(value))


def _as_lanes(value: Vec) -> Lanes:
    return Lanes(element(value.t), value.name, None if value.t.startswith("<") else 0)


def vload(emitter: Emitter, node: Node, name: str) -> None:
    """vloadn, vload_half and so on."""
    pointer, stored, align = _place(emitter, node.operands[0], node.operands[1], node.type, name)
    loaded = load(emitter, pointer, stored, align)
    if "half" not in name:
        emitter.define(node, loaded)
        return
    kind = node.type.element if isinstance(node.type, Vector) else node.type
    parts: list[Value] = [
        _as_lanes(_as_vec(emitter, each).to_float(scalar_type(kind))) for each in _each(loaded)
    ]
    emitter.define(node, parts if isinstance(node.type, Vector) else parts[0])


def vstore(emitter: Emitter, node: Node, name: str) -> None:
    """vstoren, vstore_half and so on; those with _r say how to round."""
    kind = node.operands[0].type
    value = emitter.get(node.operands[0])
    pointer, stored, align = _place(emitter, node.operands[1], node.operands[2], kind, name)
    if "half" in name:
        mode = int(str(node.literals[2])) if name.endswith("_r") else TO_EVEN
        parts: list[Value] = [
            _as_lanes(_to_half(_as_vec(emitter, each), mode)) for each in _each(value)
        ]
        value = parts if isinstance(kind, Vector) else parts[0]
    store(emitter, pointer, stored, value, align)


def _to_half(x: Vec, mode: int) -> Vec:
    """Halves nearest to floats or doubles, or the next one in the direction asked for."""
    if element(x.t) == "double":
        x = x.round_to_odd()
    near = x.to_float("half")
    if mode == TO_EVEN:
        return near
    back, bits = near.to_float("float"), near.bits()
    if mode == TO_ZERO:
        beyond = back.abs() > x.abs()
        return beyond.choose(bits - 1, bits).as_float()
    wrong = back < x if mode == UP else back > x
    positive = x > 0
    away = positive if mode == UP else ~positive
    moved = away.choose(bits + 1, bits - 1)
    return wrong.choose(moved, bits).as_float()
