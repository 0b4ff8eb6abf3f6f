"""What is read from a device: frozen records of plain values, each with its unit in its name.

A record may name a struct of the API. Each of its fields is then found in the struct by its name
without underscores, or has the struct's name beside its type. A field whose type allows None is
None where the API says that nobody knows: a negative number, the string "unknown", and a zero where
it is marked so. A test holds that no field of a struct is forgotten.
"""

from __future__ import annotations

import enum
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import NoneType
from typing import Annotated, Any, ClassVar, Self
from uuid import UUID

from groundstate import _raw, zes
from groundstate.core.properties import PciAddress, Properties

Convert = Callable[[Any], Any]

SUBDEVICE = ("onSubdevice", "subdeviceId")
"""The two fields that tell to which sub-device a part belongs, if to any."""

CHAINED = None
"""Beside the type of a field that is not in the struct itself but in one that is chained to it."""


class Mark(enum.Enum):
    """What a field's annotation can say beside the name in the struct."""

    ZERO_IS_UNKNOWN = enum.auto()


@dataclass(frozen=True, slots=True)
class Record:
    """What was read at one time."""

    STRUCT: ClassVar[str] = ""

    @classmethod
    def struct(cls) -> Any:
        """The struct of the API that this is read from."""
        return getattr(zes, cls.STRUCT)

    @classmethod
    def read(cls, struct: _raw.Structure) -> Self:
        """The values in a struct that the driver has filled in."""
        values = []
        for raw, convert in sources_of(cls):
            value = getattr(struct, raw) if raw else _place(struct)
            values.append(value if convert is None else convert(value))
        return cls(*values)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data for JSON: enumerations by name, records as dicts."""
        facts: dict[str, Any] = plain(self)
        return facts


class Source(typing.NamedTuple):
    """Where a field of a record comes from."""

    raw: str
    """The field of the struct; empty for the sub-device, which is told by two."""
    convert: Convert | None
    """What makes a Python value of it, if it is not one already."""


def _place(struct: Any) -> int | None:
    """The sub-device that a part belongs to."""
    return struct.subdeviceId if struct.onSubdevice else None


_sources: dict[type[Record], tuple[Source, ...]] = {}


def sources_of(kind: type[Record]) -> tuple[Source, ...]:
    """Where each field of a record comes from, found out once."""
    if kind not in _sources:
        _sources[kind] = _find_sources(kind)
    return _sources[kind]


def _find_sources(kind: type[Record]) -> tuple[Source, ...]:
    by_plain_name = {name.lower(): name for name, *_ in kind.struct()._fields_}
    hints = typing.get_type_hints(kind, include_extras=True)
    found = []
    for field in fields(kind):
        if field.name == "subdevice":
            found.append(Source("", None))
            continue
        hint, marks = hints[field.name], []
        if typing.get_origin(hint) is Annotated:
            hint, *marks = typing.get_args(hint)
        if CHAINED in marks:
            continue
        raw = marks[0] if marks else by_plain_name[field.name.replace("_", "")]
        found.append(Source(raw, _converter(hint, Mark.ZERO_IS_UNKNOWN in marks)))
    return tuple(found)


def _converter(hint: Any, zero_is_unknown: bool) -> Convert | None:
    """What makes a value of a type of what is in the struct."""
    options = typing.get_args(hint)
    if NoneType in options:
        return _unless_unknown(options[0], 1 if zero_is_unknown else 0)
    if hint in (int, float):
        return None
    if hint is str:
        return text
    if isinstance(hint, type) and issubclass(hint, Record | Properties):
        return hint.read
    return _SPECIAL.get(hint) or _member_of(hint)


def _unless_unknown(kind: type, lowest: int) -> Convert:
    if kind is str:
        return lambda value: None if (known := text(value)) in ("", "unknown") else known
    return lambda value: value if value >= lowest else None


def text(value: bytes) -> str:
    """A string of the API."""
    return value.decode(errors="replace")


def _member_of(kind: Any) -> Convert:
    """A value as a member of an enumeration; one that the API does not know stays a number."""
    if issubclass(kind, enum.IntFlag):
        return typing.cast(Convert, kind)
    members = kind._value2member_map_
    return lambda value: members.get(value, value)


_SPECIAL: Mapping[Any, Convert] = {
    bool: bool,
    UUID: lambda value: UUID(bytes=bytes(value.id)),
    PciAddress: lambda at: PciAddress(at.domain, at.bus, at.device, at.function),
}


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Record | Properties):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, enum.IntFlag):
        return [str(member.name) for member in value]
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, UUID | PciAddress):
        return str(value)
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return value
