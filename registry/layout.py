"""How structs lie in memory that C and Python share: what a fact is made of.

The facts themselves are in `registry.shared_structs` and `registry.stream_format`. Offsets are
computed here once; the C side asserts that its compiler agrees, and Python that ctypes does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

INTEGERS = {"uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "int32_t": 4, "uint64_t": 8, "int64_t": 8}
POINTER_BYTES = 8


@dataclass(frozen=True)
class Constant:
    """A number that both sides know: `GS_LOCAL_ALIGNMENT`, 128."""

    name: str
    value: int
    about: str


@dataclass(frozen=True)
class Numbers:
    """Names that stand for numbers from `first` on, such as those of an enumeration."""

    name: str  # "gs_texel_kind"
    prefix: str  # "GS_TEXEL_"
    values: tuple[str, ...]
    about: str
    first: int = 0
    others: tuple[tuple[str, int], ...] = ()  # that do not follow
    python: str = ""  # the name of its class, if it is not that of C

    def pairs(self) -> list[tuple[str, int]]:
        """Each name with its number."""
        return [*((name, self.first + n) for n, name in enumerate(self.values)), *self.others]


@dataclass(frozen=True)
class Field:
    """A member: `Field("group_size", "uint32_t", "in work-items", count=3)`."""

    name: str
    type: str  # an integer type of C, a pointer such as "char *", or another struct
    about: str = ""
    count: int = 1  # of an array; 0: as many as there are, at the end
    is_atomic: bool = False
    is_text: bool = False  # a string that ends with a zero


@dataclass(frozen=True)
class Struct:
    """A struct, or with `is_packed` a sequence of bytes without padding."""

    name: str
    about: str
    fields: tuple[Field, ...]
    is_packed: bool = False


@dataclass(frozen=True)
class Function:
    """The type of a function that one side calls and the other has."""

    name: str
    about: str
    parameters: tuple[tuple[str, str], ...]


class Layouts:
    """Where the fields of some structs lie, each of which may contain those before it."""

    def __init__(self, structs: tuple[Struct, ...]) -> None:
        self.structs = {struct.name: struct for struct in structs}

    def size_of_type(self, type_: str) -> int:
        """Bytes of one element."""
        if type_ in self.structs:
            return self.size(self.structs[type_])
        return INTEGERS.get(type_, POINTER_BYTES)

    def alignment_of_type(self, type_: str) -> int:
        """What the address of an element is a multiple of."""
        if type_ in self.structs:
            return self.alignment(self.structs[type_])
        return INTEGERS.get(type_, POINTER_BYTES)

    def alignment(self, struct: Struct) -> int:
        """The largest of any field."""
        if struct.is_packed:
            return 1
        return max(self.alignment_of_type(field.type) for field in struct.fields)

    def offsets(self, struct: Struct) -> Iterator[tuple[Field, int]]:
        """Each field and its offset in bytes."""
        at = 0
        for field in struct.fields:
            if not struct.is_packed:
                at = _round_up(at, self.alignment_of_type(field.type))
            yield field, at
            at += self.size_of_type(field.type) * field.count

    def size(self, struct: Struct) -> int:
        """Bytes, rounded up to the alignment."""
        field, at = list(self.offsets(struct))[-1]
        return _round_up(at + self.size_of_type(field.type) * field.count, self.alignment(struct))


def _round_up(number: int, step: int) -> int:
    return -(-number // step) * step
