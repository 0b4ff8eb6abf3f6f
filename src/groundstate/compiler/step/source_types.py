"""The types and variables of the source, as a module's debug information tells them.

Without it, or where it is damaged, values have the types that they have in the module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundstate.compiler.ir.addresses import array_step
from groundstate.compiler.spirv.types import (
    Array,
    Bool,
    Float,
    Handle,
    Int,
    Pointer,
    RuntimeArray,
    Struct,
    Type,
    Vector,
)
from groundstate.printable import printable

if TYPE_CHECKING:
    from groundstate.compiler.spirv.debug_info import DebugInfo, DebugInstruction
    from groundstate.compiler.spirv.module import Module

BASIC, POINTER, QUALIFIER, ARRAY, VECTOR, TYPEDEF = 2, 3, 4, 5, 6, 7
ENUM, COMPOSITE, MEMBER, LOCAL_VARIABLE = 9, 10, 11, 26
"""The numbers of the instructions that are read."""
ENCODINGS = {2: "bool", 3: "float", 4: "int", 5: "int", 6: "unsigned", 7: "unsigned"}
"""By DebugBaseTypeAttributeEncoding."""
MOST_DEPTH = 32
MOST_NAME = 200


@dataclass(frozen=True)
class SourceType:
    """A type of the source."""

    name: str
    kind: str
    """int, unsigned, float, bfloat, bool, pointer, array, vector, struct or bytes."""
    size: int
    element: SourceType | None = None
    """Of an array, a vector or a pointer."""
    count: int = 0
    members: tuple[tuple[str, int, SourceType], ...] = ()
    """Of a structure: names, offsets and types."""

    @property
    def is_scalar(self) -> bool:
        """Whether it is a number or an address."""
        return self.kind in ("int", "unsigned", "float", "bfloat", "bool", "pointer")


BYTE = SourceType("uchar", "unsigned", 1)
SIGNED = {8: "char", 16: "short", 32: "int", 64: "long"}
FLOATS = {16: "half", 32: "float", 64: "double"}


def of_module(kind: Type | None, depth: int = 0) -> SourceType:
    """The type that stands for one of the module. Integers have no sign there, and get one here."""
    if kind is None or depth > MOST_DEPTH:
        return BYTE
    if isinstance(kind, Int):
        return SourceType(SIGNED.get(kind.width, f"int{kind.width}"), "int", kind.size)
    if isinstance(kind, Float):
        name = "bfloat" if kind.is_bfloat16 else FLOATS.get(kind.width, "float")
        return SourceType(name, "bfloat" if kind.is_bfloat16 else "float", kind.size)
    if isinstance(kind, Bool):
        return SourceType("bool", "bool", 1)
    if isinstance(kind, Pointer):
        return pointer_to(of_module(kind.pointee, depth + 1))
    if isinstance(kind, Vector):
        element = of_module(kind.element, depth + 1)
        return SourceType(f"{element.name}{kind.count}", "vector", kind.size, element, kind.count)
    if isinstance(kind, Array | RuntimeArray):
        element = of_module(kind.element, depth + 1)
        count = kind.length if isinstance(kind, Array) else 0
        return array_of(element, count, array_step(kind.element) * count)
    if isinstance(kind, Struct):
        members = tuple(
            (f"_{index}", offset, of_module(member, depth + 1))
            for index, (member, offset) in enumerate(zip(kind.members, kind.offsets, strict=True))
        )
        return SourceType("struct", "struct", kind.size, members=members)
    if isinstance(kind, Handle):
        return SourceType(str(kind), "bytes", kind.size)
    return BYTE


def pointer_to(element: SourceType) -> SourceType:
    """A pointer to something."""
    return SourceType(f"{element.name} *", "pointer", 8, element)


def array_of(element: SourceType, count: int, size: int = 0) -> SourceType:
    """An array of something."""
    head, bracket, rest = element.name.partition("[")
    name = f"{head}[{count}]{bracket}{rest}"
    return SourceType(name, "array", size or element.size * count, element, count)


@dataclass(frozen=True)
class SourceVariable:
    """A variable of the source."""

    name: str
    type: SourceType | None
    """None: as in the module."""
    line: int


class SourceTypes:
    """What one module says of the types of its source."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.info: DebugInfo | None = module.debug_info
        self._known: dict[int, SourceType | None] = {}

    def variable(self, identifier: int) -> SourceVariable | None:
        """A DebugLocalVariable by its id."""
        found = self._instruction(identifier, LOCAL_VARIABLE)
        if found is None or len(found.operands) < 4:
            return None
        line = self._number(found, found.operands[3])
        return SourceVariable(self._text(found.operands[0]), self.type(found.operands[1]), line)

    def type(self, identifier: int, depth: int = 0) -> SourceType | None:
        """A type by its id; None if it is not known."""
        if identifier not in self._known:
            self._known[identifier] = None  # while it is made: it may contain itself
            found = self.info.instruction(identifier) if self.info is not None else None
            if found is not None and depth < MOST_DEPTH:
                self._known[identifier] = self._make(found, depth + 1)
        return self._known[identifier]

    def _make(self, found: DebugInstruction, depth: int) -> SourceType | None:
        operands = found.operands
        if found.number == BASIC and len(operands) >= 3:
            size = self._number(found, operands[1], is_id=True)
            kind = ENCODINGS.get(self._number(found, operands[2]), "unsigned")
            return SourceType(self._text(operands[0]), kind, max(1, size // 8))
        if found.number == POINTER and operands:
            return pointer_to(self.type(operands[0], depth) or BYTE)
        if found.number == QUALIFIER and operands:
            return self.type(operands[0], depth)
        if found.number == TYPEDEF and len(operands) >= 2:
            base = self.type(operands[1], depth)
            return _renamed(base, self._text(operands[0])) if base is not None else None
        if found.number == VECTOR and len(operands) >= 2:
            return self._vector(found, depth)
        if found.number == ARRAY and len(operands) >= 2:
            return self._array(found, depth)
        if found.number == COMPOSITE and len(operands) >= 9:
            return self._structure(found, depth)
        if found.number == ENUM and len(operands) >= 7:
            size = self._number(found, operands[6], is_id=True)
            return SourceType(self._text(operands[0]), "int", max(1, size // 8))
        return None

    def _vector(self, found: DebugInstruction, depth: int) -> SourceType | None:
        element = self.type(found.operands[0], depth)
        count = self._number(found, found.operands[1])
        if element is None or not 0 < count <= 16:
            return None
        room = 4 if count == 3 else count
        return SourceType(f"{element.name}{count}", "vector", element.size * room, element, count)

    def _array(self, found: DebugInstruction, depth: int) -> SourceType | None:
        element = self.type(found.operands[0], depth)
        for operand in reversed(found.operands[1:]):
            count = self._number(found, operand, is_id=True)
            element = array_of(element, count) if element is not None else None
        return element

    def _structure(self, found: DebugInstruction, depth: int) -> SourceType:
        members = []
        for identifier in found.operands[9:]:
            member = self._instruction(identifier, MEMBER)
            if member is None or len(member.operands) < 7:
                continue
            kind = self.type(member.operands[1], depth)
            # The set of shaders has no parent here.
            place = 5 if member.is_shader else 6
            offset = self._number(member, member.operands[place], is_id=True) // 8
            if kind is not None:
                members.append((self._text(member.operands[0]), offset, kind))
        size = self._number(found, found.operands[7], is_id=True) // 8
        name = self._text(found.operands[0]) or "struct"
        return SourceType(name, "struct", size, members=tuple(members))

    def _instruction(self, identifier: int, number: int) -> DebugInstruction | None:
        found = self.info.instruction(identifier) if self.info is not None else None
        return found if found is not None and found.number == number else None

    def _text(self, identifier: int) -> str:
        return printable(self.module.strings.get(identifier, "")[:MOST_NAME])

    def _number(self, user: DebugInstruction, operand: int, is_id: bool = False) -> int:
        if not is_id and not user.is_shader:
            return operand
        constant = self.module.constants.get(operand)
        value = constant.value if constant is not None else None
        return value if isinstance(value, int) else 0


def _renamed(kind: SourceType, name: str) -> SourceType:
    return SourceType(name, kind.kind, kind.size, kind.element, kind.count, kind.members)
