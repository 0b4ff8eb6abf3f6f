"""Values of the IR as Python has them, and as they lie in memory.

A number is its bits, a truth 0 or 1, an address or a handle an integer, and anything with parts a
tuple of values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from groundstate.compiler.ir.addresses import array_step
from groundstate.compiler.spirv.constants import Address, Constant, SamplerValue
from groundstate.compiler.spirv.types import (
    Array,
    Bool,
    Float,
    Handle,
    Int,
    Pointer,
    SampledImage,
    Struct,
    Type,
    Vector,
)

Value: TypeAlias = "int | tuple[Value, ...]"


def parts_of(kind: Type) -> list[tuple[Type, int]]:
    """The types of the parts of a composite, and where they lie in it."""
    if isinstance(kind, Vector):
        return [(kind.element, index * kind.element.size) for index in range(kind.count)]
    if isinstance(kind, Array):
        step = array_step(kind.element)
        return [(kind.element, index * step) for index in range(kind.length)]
    if isinstance(kind, Struct):
        return list(zip(kind.members, kind.offsets, strict=True))
    return []


def is_composite(kind: Type) -> bool:
    """Whether values of a type have parts."""
    return isinstance(kind, Vector | Array | Struct)


def zero_of(kind: Type) -> Value:
    """The value all of whose bits are zero: also what is undefined."""
    if is_composite(kind):
        return tuple(zero_of(part) for part, _ in parts_of(kind))
    return (0, 0) if isinstance(kind, SampledImage) else 0


def stored_bytes(kind: Type) -> int:
    """How many bytes a load or store of a type touches: a vector of three has three."""
    if isinstance(kind, Vector):
        return kind.element.size * kind.count
    return kind.size


def encode(kind: Type, value: Value) -> bytes:
    """A value as it lies in memory."""
    if isinstance(value, int):
        return (value & (1 << 8 * kind.size) - 1).to_bytes(kind.size, "little")
    data = bytearray(stored_bytes(kind))
    for (part, offset), each in zip(parts_of(kind), value, strict=True):
        data[offset : offset + stored_bytes(part)] = encode(part, each)
    return bytes(data)


def decode(kind: Type, data: bytes) -> Value:
    """The value that bytes of memory are."""
    if is_composite(kind):
        return tuple(
            decode(part, data[offset : offset + stored_bytes(part)])
            for part, offset in parts_of(kind)
        )
    number = int.from_bytes(data[: kind.size], "little")
    if isinstance(kind, Bool):
        return number & 1
    return number & (1 << kind.width) - 1 if isinstance(kind, Int | Float) else number


def of_constant(constant: Constant, address: Callable[[Address], int]) -> Value:
    """The value of a constant; `address` says where a variable lies."""
    value, kind = constant.value, constant.type
    if isinstance(value, tuple):
        return tuple(of_constant(part, address) for part in value)
    if isinstance(value, Address):
        return address(value)
    if isinstance(value, SamplerValue):
        return value.flags
    if isinstance(value, int) and isinstance(kind, Bool | Int | Float | Pointer | Handle):
        return value
    return zero_of(kind)
