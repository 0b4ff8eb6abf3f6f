"""What the structs of system management have in common."""

from __future__ import annotations

import ctypes
from typing import Any, TypeVar

from groundstate.driver.api import find_in_chain, read_pointer, read_u32
from groundstate.driver.sysman.parts import Part

Chained = TypeVar("Chained", bound=ctypes.Structure)
Number = TypeVar("Number", int, float)

_LARGEST_INT32 = (1 << 31) - 1


def chained(structure: ctypes.Structure, wanted: type[Chained]) -> Chained | None:
    """The struct of a type that the caller has chained to its own, if there is one.

    A caller's struct with another stype than its own is memory that nobody initialised: its pNext
    is as random as its stype.
    """
    address = ctypes.addressof(structure)
    own: Any = structure
    target: Any = wanted
    if read_u32(address) != own._stype_:
        return None
    found = find_in_chain(read_pointer(address + 8), target._stype_)
    return wanted.from_address(found) if found else None


def write_place(properties: Any, part: Part) -> None:
    """Writes `onSubdevice` and `subdeviceId`."""
    properties.onSubdevice = part.subdevice is not None
    properties.subdeviceId = part.subdevice or 0


def known(value: Number | None) -> Number | int:
    """A value, or the -1 that the specification has for what is not known."""
    return -1 if value is None else value


def known_int32(value: int | None) -> int:
    """The same for a field of 32 bits."""
    return -1 if value is None else min(value, _LARGEST_INT32)
