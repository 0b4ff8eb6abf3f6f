"""Shadows: for each bit of a value, whether it is uninitialised.

A number, a truth value or an address has a shadow of as many bits, in which a bit is set if that
of the value was never written. Composites have shadows of the same shape.
"""

from __future__ import annotations

from groundstate.compiler.ir import Node, constant_node
from groundstate.compiler.spirv.constants import Constant, null
from groundstate.compiler.spirv.types import (
    Array,
    Bool,
    Float,
    Int,
    Pointer,
    RuntimeArray,
    Struct,
    Type,
    Vector,
    member_count,
    member_type,
)

U64 = Int(64, False)
MOST_PARTS = 256
"""Of a value that has a shadow: larger ones are taken for initialised."""


class ShadowTypes:
    """The types of shadows, by those of values."""

    def __init__(self) -> None:
        self._known: dict[Type, Type | None] = {}

    def of(self, type_: Type) -> Type | None:
        """The type of a value's shadow; None if it has none."""
        if type_.parts > MOST_PARTS:
            return None
        return self.of_memory(type_)

    def of_memory(self, type_: Type) -> Type | None:
        """The same for what a variable of any size holds."""
        if type_ not in self._known:
            self._known[type_] = self._make(type_)
        return self._known[type_]

    def _make(self, type_: Type) -> Type | None:
        if isinstance(type_, Bool):
            return type_
        if isinstance(type_, Int | Float):
            return Int(type_.width, False)
        if isinstance(type_, Pointer):
            return U64
        if isinstance(type_, Vector | Array | RuntimeArray):
            element = self.of_memory(type_.element)
            if element is None:
                return None
            if isinstance(type_, Vector):
                return Vector(element, type_.count)
            return (
                Array(element, type_.length) if isinstance(type_, Array) else RuntimeArray(element)
            )
        if isinstance(type_, Struct):
            members = [self.of_memory(each) for each in type_.members]
            known = tuple(each for each in members if each is not None)
            if len(known) == len(members):
                return Struct(type_.id, known, type_.packed, type_.least_align, type_)
        return None


def scalar_of(type_: Type) -> Type:
    """What a vector is made of, or the type itself."""
    return type_.element if isinstance(type_, Vector) else type_


def zeros(type_: Type) -> Node:
    """The shadow of what is initialised."""
    if isinstance(type_, Int | Bool):
        return constant_node(type_, 0)
    return Node("Constant", type_, literals=(null(type_), 0))


def ones(type_: Type) -> Node:
    """The shadow of what is not."""
    return Node("Constant", type_, literals=(_ones(type_), 0))


def _ones(type_: Type) -> Constant:
    if isinstance(type_, Bool):
        return Constant(type_, 1)
    if isinstance(type_, Int):
        return Constant(type_, (1 << type_.width) - 1)
    parts = []
    for index in range(member_count(type_)):
        part = member_type(type_, index)
        assert part is not None
        parts.append(_ones(part))
    return Constant(type_, tuple(parts))
