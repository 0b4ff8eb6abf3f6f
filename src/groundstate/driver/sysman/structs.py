"""What the structs of system management have in common."""

from __future__ import annotations

from typing import Any, TypeVar

from groundstate.driver.sysman.parts import Part

Number = TypeVar("Number", int, float)

_LARGEST_INT32 = (1 << 31) - 1


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
