"""Constants: values that are known before anything runs."""

from __future__ import annotations

from typing import TypeAlias

from groundstate.compiler.light_dataclass import field, light_dataclass
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.types import Bool, Float, Int, Type, member_count, member_type

MAX_WEIGHT = 1 << 24
"""How many values one constant may hold, counting a part each time it appears."""


@light_dataclass()
class Address:
    """The place of a variable or a function, which is known only when the program is loaded."""

    base: int
    """The id of the OpVariable or OpFunction."""
    offset: int = 0
    """Bytes from there."""


@light_dataclass()
class SamplerValue:
    """What OpConstantSampler says, in its numbers."""

    addressing: int
    normalized: int
    filter: int

    @property
    def flags(self) -> int:
        """What a sampler is to compiled code: see docs/images.md."""
        return self.normalized & 1 | self.addressing << 1 | (self.filter & 1) << 4


@light_dataclass()
class PipeStorageValue:
    """What OpConstantPipeStorage says."""

    packet_size: int
    packet_align: int
    capacity: int


Value: TypeAlias = "int | tuple[Constant, ...] | Address | SamplerValue | PipeStorageValue | None"


@light_dataclass()
class Constant:
    """A constant of a type.

    `value` is the bits of an integer or a floating-point number, 0 or 1 for a truth, a tuple of
    constants for a composite, an `Address`, or None for a null of any other type and for what is
    undefined.
    """

    type: Type
    value: Value
    undef: bool = False
    is_null: bool = field(init=False, repr=False)
    """Whether all its bits are zero."""
    has_address: bool = field(init=False, repr=False)
    """Whether some of its bits are known only when the program is loaded."""
    weight: int = field(init=False, repr=False)
    """How many values it holds."""

    def __post_init__(self) -> None:
        # All are kept, since parts can be shared so often that walking through them never ends.
        has_address = isinstance(self.value, Address)
        if isinstance(self.value, tuple):
            is_null = all(part.is_null for part in self.value)
            has_address = any(part.has_address for part in self.value)
            weight = 1 + sum(part.weight for part in self.value)
        else:
            is_null = not self.undef and not self.value
            weight = 1
        if weight > MAX_WEIGHT:
            raise InvalidModule(f"a constant has more than {MAX_WEIGHT} parts")
        object.__setattr__(self, "is_null", is_null)
        object.__setattr__(self, "has_address", has_address)
        object.__setattr__(self, "weight", weight)

    def __hash__(self) -> int:
        return hash((self.type, self.value if isinstance(self.value, int) else None))

    def part(self, index: int) -> Constant | None:
        """A part of a composite, or None if there is no such part."""
        if isinstance(self.value, tuple):
            return self.value[index] if 0 <= index < len(self.value) else None
        kind = member_type(self.type, index)
        if kind is None or self.value is not None:
            return None
        return undefined(kind) if self.undef else null(kind)

    @property
    def part_count(self) -> int:
        """How many parts a composite has; 0 for what has none."""
        return member_count(self.type)


def null(kind: Type) -> Constant:
    """The null value of a type."""
    return Constant(kind, 0 if isinstance(kind, Int | Float | Bool) else None)


def undefined(kind: Type) -> Constant:
    """A value of a type that may be any."""
    return Constant(kind, None, undef=True)
