"""Values of the source: their types, their bytes, where they lie, and as text."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from groundstate.compiler.step.memory import AccessError, Memory
from groundstate.compiler.step.source_types import SourceType

FLOATS = {2: "<e", 4: "<f", 8: "<d"}
MOST_SHOWN = 16
"""Parts of an array that a text has."""
Number = int | float


class EvaluationError(Exception):
    """An expression has no value; the text says why."""


@dataclass(frozen=True)
class Result:
    """A value, or the memory that holds it."""

    type: SourceType
    address: int = 0
    """Where it lies; 0: nowhere."""
    data: bytes = b""
    """What it is, if it lies nowhere."""

    def raw(self, memory: Memory) -> bytes:
        """Its bytes."""
        if not self.address:
            return self.data
        try:
            return memory.read(self.address, self.type.size)
        except AccessError as problem:
            raise EvaluationError(
                f"there is no memory of {self.type.size} bytes at {self.address:#x}"
            ) from problem

    def number(self, memory: Memory) -> Number:
        """It as a number; an address is one, too, and an array is its address."""
        if self.type.kind == "array" and self.address:
            return self.address
        if not self.type.is_scalar:
            raise EvaluationError(f"a {self.type.name} is not a number")
        return decoded(self.type, self.raw(memory))

    def part(self, offset: int, kind: SourceType) -> Result:
        """A part of it."""
        if self.address:
            return Result(kind, self.address + offset)
        return Result(kind, 0, self.data[offset : offset + kind.size])


def decoded(kind: SourceType, data: bytes) -> Number:
    """The number that bytes are."""
    if kind.kind == "bfloat":
        value: float = struct.unpack("<f", b"\0\0" + data[:2])[0]
        return value
    if kind.kind == "float" and kind.size in FLOATS:
        value = struct.unpack(FLOATS[kind.size], data[: kind.size])[0]
        return float(value)
    return int.from_bytes(data[: kind.size], "little", signed=kind.kind == "int")


def encoded(kind: SourceType, number: Number) -> bytes:
    """A number as bytes of a type."""
    try:
        if kind.kind == "bfloat":
            return struct.pack("<f", number)[2:]
        if kind.kind == "float":
            return struct.pack(FLOATS[kind.size], number)
    except OverflowError as problem:
        raise EvaluationError(f"{number} does not fit into a {kind.name}") from problem
    return (int(number) & (1 << 8 * kind.size) - 1).to_bytes(kind.size, "little")


INT = SourceType("int", "int", 4)
LONG = SourceType("long", "int", 8)
ULONG = SourceType("ulong", "unsigned", 8)
DOUBLE = SourceType("double", "float", 8)


def of_number(number: Number) -> Result:
    """A value that lies nowhere."""
    if isinstance(number, float):
        return Result(DOUBLE, 0, encoded(DOUBLE, number))
    kind = INT if -(1 << 31) <= number < 1 << 31 else LONG if number < 1 << 63 else ULONG
    return Result(kind, 0, encoded(kind, number))


def parts(value: Result, start: int = 0, most: int = 1 << 30) -> list[tuple[str, Result]]:
    """The members or elements of a value, with their names."""
    kind = value.type
    if kind.kind == "struct":
        return [(name, value.part(offset, member)) for name, offset, member in kind.members]
    if kind.kind in ("array", "vector") and kind.element is not None:
        size = kind.element.size
        last = min(kind.count, start + most)
        return [
            (f"[{index}]" if kind.kind == "array" else component(index), part)
            for index in range(start, last)
            for part in [value.part(index * size, kind.element)]
        ]
    return []


def component(index: int) -> str:
    """What a component of a vector is called."""
    return "xyzw"[index] if index < 4 else f"s{index:x}"


def text(value: Result, memory: Memory, depth: int = 0) -> str:
    """A value for people."""
    kind = value.type
    try:
        if kind.is_scalar:
            number = value.number(memory)
            if kind.kind == "pointer":
                return hex(int(number))
            if kind.kind == "bool":
                return "true" if number else "false"
            if isinstance(number, float):
                return _float(number, kind)
            return str(number) + (_character(number) if kind.name in ("char", "uchar") else "")
        if depth > 3:
            return "{...}"
        shown = parts(value, most=MOST_SHOWN)
        if kind.kind == "struct":
            inner = ", ".join(f"{name} = {text(each, memory, depth + 1)}" for name, each in shown)
        else:
            inner = ", ".join(text(each, memory, depth + 1) for _, each in shown)
            inner += ", ..." if kind.count > len(shown) else ""
        return f"({inner})" if kind.kind == "vector" else f"{{{inner}}}"
    except EvaluationError as problem:
        return f"<{problem}>"


def _float(number: float, kind: SourceType) -> str:
    digits = {2: 4, 4: 8, 8: 17}.get(kind.size, 8)
    shortest = repr(number) if kind.size == 8 else f"{number:.{digits}g}"
    if kind.size == 4:
        for fewer in range(6, 9):
            shorter = f"{number:.{fewer}g}"
            if struct.pack("<f", float(shorter)) == struct.pack("<f", number):
                return shorter
    return shortest


def _character(number: Number) -> str:
    return f" {chr(int(number))!r}" if 32 <= number < 127 else ""
