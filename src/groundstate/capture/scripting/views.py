"""Structs in the program's memory as hooks see them: a field that there is not is an error.

Structs of ctypes take any attribute, and cut numbers to the size of a field without a word.
"""

from __future__ import annotations

import ctypes
import difflib
from functools import cache
from typing import Any

_INTEGERS = (
    ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64,
    ctypes.c_int8, ctypes.c_int16, ctypes.c_int32, ctypes.c_int64, ctypes.c_bool,
)  # fmt: skip


@cache
def checked(kind: Any) -> Any:
    """A struct that refuses wrong fields, those of the structs inside it as well; else the kind."""
    if not isinstance(kind, type) or not issubclass(kind, ctypes.Structure | ctypes.Union):
        return kind
    members: dict[str, Any] = {"__setattr__": _set, "__getattr__": _missing}
    for name, inner in _fields(kind).items():
        if issubclass(inner, ctypes.Structure | ctypes.Union):
            members[name] = _inner(kind, name, inner)
    return type(kind.__name__, (kind,), members)


@cache
def _fields(kind: Any) -> dict[str, Any]:
    return {each[0]: each[1] for base in kind.__mro__ for each in getattr(base, "_fields_", ())}


def _inner(kind: Any, name: str, inner: Any) -> property:
    place = getattr(kind, name)

    def read(self: Any) -> Any:
        return checked(inner).from_address(ctypes.addressof(self) + place.offset)

    def write(self: Any, value: Any) -> None:
        place.__set__(self, value)

    return property(read, write)


def _set(self: Any, name: str, value: Any) -> None:
    own: Any = type(self)
    inner = _fields(own).get(name)
    if inner is None:
        _missing(self, name)
    check_size(f"{name} of {own.__name__}", inner, value)
    super(own, self).__setattr__(name, value)


def _missing(self: Any, name: str) -> None:
    own: Any = type(self)
    known = _fields(own)
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(known)}"
    raise AttributeError(f"{own.__name__} has no field '{name}'; {hint}")


def check_size(what: str, kind: Any, value: Any) -> None:
    """Raises OverflowError for an integer that its type has no room for, with or without sign."""
    if kind not in _INTEGERS or not isinstance(value, int):
        return
    bits = 8 * ctypes.sizeof(kind)
    if not -(1 << (bits - 1)) <= value < 1 << bits:
        raise OverflowError(f"{what} has {bits} bits; {value} does not fit")
