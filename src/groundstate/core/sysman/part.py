"""A part of a device that can be watched: an engine, a memory, a thermometer.

A question that a part cannot answer (the API says "unsupported") has the answer None. One that this
user may not ask raises `InsufficientPermissions`, with a sentence that says what is missing; only a
snapshot, which goes on with the rest, notes it and has None there, too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from groundstate import _raw, ze
from groundstate.core.api import SUCCESS, AnyStructure, Api, check
from groundstate.core.errors import LevelZeroError
from groundstate.core.handle import Handle, Resource
from groundstate.core.sysman.records import Record

if TYPE_CHECKING:
    from groundstate.core.sysman.device import SysmanDevice

AnyRecord = TypeVar("AnyRecord", bound=Record)
Read = TypeVar("Read")

UNSUPPORTED = int(ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)


def supported(api: Api, function: str, *arguments: Any) -> bool:
    """Makes a call that answers, and says whether it did; raises what else is wrong."""
    try:
        result = api.raw(function, *arguments)
    except LevelZeroError as missing:  # the library is too old to have the function
        result = missing.code
    if result == SUCCESS:
        return True
    if result == UNSUPPORTED:
        return False
    check(result, function, api)
    return True


def record(kind: type[AnyRecord], api: Api, function: str, *arguments: Any) -> AnyRecord | None:
    """What a call says in its last argument, or None if it is not supported."""
    filled = kind.struct()()
    if not supported(api, function, *arguments, ctypes.byref(filled)):
        return None
    return kind.read(filled)


def records(
    kind: type[AnyRecord], api: Api, function: str, *arguments: Any, room: int = 0
) -> tuple[AnyRecord, ...] | None:
    """What a call says in a list, or None if it is not supported.

    With room for some it is first asked without asking how many there are, which is enough if there
    are fewer.
    """
    if room:
        count, filled = ctypes.c_uint32(room), kind.struct().array(room)
        if not supported(api, function, *arguments, ctypes.byref(count), filled):
            return None
        if count.value < room:
            return tuple(map(kind.read, filled[: count.value]))
    count = ctypes.c_uint32(0)
    if not supported(api, function, *arguments, ctypes.byref(count), None):
        return None
    filled = kind.struct().array(count.value)
    if count.value:
        api.call(function, *arguments, ctypes.byref(count), filled)
    return tuple(map(kind.read, filled[: count.value]))


def handles(api: Api, function: str, device: int) -> list[int]:
    """The handles of the parts of a device; none if the driver does not know of such parts."""
    count = ctypes.c_uint32(0)
    if not supported(api, function, device, ctypes.byref(count), None) or not count.value:
        return []
    found = (ctypes.c_void_p * count.value)()
    api.call(function, device, ctypes.byref(count), found)
    return [handle for handle in found[: count.value] if handle]


def chained(head: Any, *tail: _raw.Structure) -> Any:
    """A struct with others behind it, for a call that fills in all of them."""
    before = head
    for struct in tail:
        before.pNext = ctypes.addressof(struct)
        before = struct
    return head


class Look:
    """One look at everything: what could not be read is noted, and the rest is read."""

    def __init__(self) -> None:
        self.refused: dict[str, str] = {}
        """Why something could not be read, by its name, such as "power[0].energy"."""

    def at(self, name: str, read: Callable[[], Read]) -> Read | None:
        """What is read, or None."""
        try:
            return read()
        except LevelZeroError as problem:
            self.refused[name] = problem.description or str(problem)
            return None


@dataclass(frozen=True, slots=True)
class PartProperties(Record):
    """What cannot change of a part."""

    subdevice: int | None
    """The number of the sub-device that it belongs to; None for the whole device."""


Facts = TypeVar("Facts", bound=PartProperties)


class Part(Handle, Generic[Facts]):
    """A part of a device that can be watched."""

    ENUMERATE: ClassVar[str]
    """The function that lists the parts of this kind."""
    DESCRIBE: ClassVar[str]
    """The function that tells the properties of one."""
    FACTS: type[Facts]
    """The record of its properties."""

    def __init__(self, sysman: SysmanDevice, handle: int, index: int) -> None:
        self.sysman = sysman
        self.index = index
        """Its place in the tuple of the device."""
        self._resource = Resource(sysman.api, handle, None, sysman.resource)

    @classmethod
    def all_of(cls, sysman: SysmanDevice) -> tuple[Self, ...]:
        """The parts of this kind that a device has."""
        found = handles(sysman.api, cls.ENUMERATE, sysman.handle)
        return tuple(cls(sysman, handle, index) for index, handle in enumerate(found))

    @cached_property
    def properties(self) -> Facts:
        """What cannot change."""
        return self._described()

    def _described(self) -> Facts:
        return self.FACTS.read(self.api.struct(self.FACTS.struct(), self.DESCRIBE, self.handle))

    @property
    def subdevice(self) -> int | None:
        """The number of the sub-device that it belongs to; None for the whole device."""
        return self.properties.subdevice

    def _record(self, kind: type[AnyRecord], function: str, *arguments: Any) -> AnyRecord | None:
        return record(kind, self.api, function, self.handle, *arguments)

    def _struct(
        self, kind: type[AnyStructure], function: str, *arguments: Any
    ) -> AnyStructure | None:
        """What a call fills in, for what a record cannot say."""
        filled = kind()
        if not supported(self.api, function, self.handle, *arguments, ctypes.byref(filled)):
            return None
        return filled

    def _number(self, kind: Callable[[], Any], function: str, *arguments: Any) -> Any:
        """A number that a call writes to its last argument, or None if it is not supported."""
        answer = kind()
        if not supported(self.api, function, self.handle, *arguments, ctypes.byref(answer)):
            return None
        return answer.value
