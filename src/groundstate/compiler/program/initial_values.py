"""The bytes that program-scope variables start with."""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.errors import BuildError
from groundstate.compiler.spirv.constants import Address, Constant, SamplerValue
from groundstate.compiler.spirv.module import Variable
from groundstate.compiler.spirv.types import Array, Struct, Type, Vector

SHARED_WEIGHT = 16
"""From so many values on, a constant that comes again is copied."""
MAX_ADDRESSES = 1 << 20


class Image:
    """Memory that is filled with constants. Addresses are noted, and written when all is placed."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._written: dict[int, int] = {}
        """Where constants without addresses stand that consist of many parts, by id()."""
        self.addresses: list[tuple[int, int, int, Address]] = []
        """Where an address belongs, how many bytes it has, the module it is of, and which it is."""

    def add(self, constant: Constant | None, kind: Type, home: int = 0, align: int = 1) -> int:
        """Puts a variable of a module behind the others, and returns where."""
        self.data += bytes(-len(self.data) % max(align, kind.align))
        start = len(self.data)
        self.data += bytes(kind.size)
        if constant is not None:
            self._write(start, constant, home)
        return start

    def _write(self, place: int, constant: Constant, home: int) -> None:
        kind, value = constant.type, constant.value
        if constant.undef or constant.is_null:
            return
        known = self._written.get(id(constant)) if constant.weight > SHARED_WEIGHT else None
        if known is not None:
            self.data[place : place + kind.size] = self.data[known : known + kind.size]
        elif isinstance(value, tuple):
            for index, part in enumerate(value):
                self._write(place + _offset(kind, index), part, home)
            if not constant.has_address:
                self._written[id(constant)] = place
        elif isinstance(value, int):
            size = max(kind.size, 1)
            self.data[place : place + size] = (value % (1 << 8 * size)).to_bytes(size, "little")
        elif isinstance(value, SamplerValue):
            self.data[place : place + kind.size] = value.flags.to_bytes(kind.size, "little")
        elif isinstance(value, Address):
            if len(self.addresses) >= MAX_ADDRESSES:
                raise BuildError(f"variables start with more than {MAX_ADDRESSES} addresses")
            self.addresses.append((place, kind.size, home, value))

    def settle(self, find: Callable[[int, Address], int | None]) -> tuple[int, ...]:
        """Writes the places of what addresses lead to, and returns where they stand: to each the
        start of the memory must be added. What has no place in this memory stays null."""
        settled = []
        for place, size, home, address in self.addresses:
            number = find(home, address)
            if number is not None:
                self.data[place : place + size] = (number % (1 << 8 * size)).to_bytes(
                    size, "little"
                )
                settled.append(place)
        return tuple(settled)


def initial_bytes(variable: Variable, kind: Type) -> bytes:
    """The contents of a variable that holds no addresses."""
    image = Image()
    image.add(variable.initializer, kind)
    return bytes(image.data)


def _offset(kind: Type, index: int) -> int:
    if isinstance(kind, Struct):
        return kind.offsets[index]
    if isinstance(kind, Array):
        return kind.stride * index
    assert isinstance(kind, Vector)
    return kind.element.size * index
