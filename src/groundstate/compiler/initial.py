"""The bytes that a program-scope variable starts with."""

from __future__ import annotations

from groundstate.compiler.errors import BuildError
from groundstate.compiler.spirv.constants import Constant
from groundstate.compiler.spirv.module import Variable
from groundstate.compiler.spirv.types import Array, Struct, Type, Vector


def initial_bytes(variable: Variable, kind: Type) -> bytes:
    """The contents of a variable's memory when the module is created."""
    if variable.initializer is None:
        return bytes(kind.size)
    return _constant_bytes(variable.initializer)


def _constant_bytes(constant: Constant) -> bytes:
    kind = constant.type
    if constant.undef or constant.is_null:
        return bytes(kind.size)
    if isinstance(constant.value, tuple):
        image = bytearray(kind.size)
        for index, part in enumerate(constant.value):
            start = _offset(kind, index)
            data = _constant_bytes(part)
            image[start : start + len(data)] = data
        return bytes(image)
    if isinstance(constant.value, int):
        return constant.value.to_bytes(max(kind.size, 1), "little")
    raise BuildError(f"a program-scope variable is initialised with an address of type {kind}")


def _offset(kind: Type, index: int) -> int:
    if isinstance(kind, Struct):
        return kind.offsets[index]
    if isinstance(kind, Array):
        return kind.stride * index
    assert isinstance(kind, Vector)
    return kind.element.size * index
