"""A part of a device that can be watched: an engine, a memory, a thermometer.

A question that a part cannot answer (the API says "unsupported") has the answer None. One that this
user may not ask raises `InsufficientPermissions`, with a sentence that says what is missing; only a
snapshot, which goes on with the rest, notes it and has None there, too.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from groundstate import _raw, ze
from groundstate.core.api import SUCCESS, AnyStructure, Api, check
from groundstate.core.errors import LevelZeroError, UnsupportedFeature
from groundstate.core.handle import Handle, Resource
from groundstate.core.sysman.records import Record

if TYPE_CHECKING:
    from groundstate.core.sysman.device import SysmanDevice

AnyRecord = TypeVar("AnyRecord", bound=Record)
Read = TypeVar("Read")

MakeStructs = Callable[[int], Any]
"""Makes an array of structs."""

UNSUPPORTED = int(ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)
TOO_SMALL = int(ze.ZE_RESULT_ERROR_INVALID_SIZE)

SETTINGS_LAST_SECONDS = 5.0
"""For so long a snapshot believes what it was told about settings."""


def raw(api: Api, function: str, *arguments: Any) -> int:
    """The result of a call; a library that is too old to have the function does not support it."""
    try:
        return api.raw(function, *arguments)
    except UnsupportedFeature:
        return UNSUPPORTED


def supported(api: Api, function: str, *arguments: Any) -> bool:
    """Makes a call that answers, and says whether it did; raises what else is wrong."""
    result = raw(api, function, *arguments)
    if result not in (SUCCESS, UNSUPPORTED):
        check(result, function, api)
    return result != UNSUPPORTED


def record(kind: type[AnyRecord], api: Api, function: str, *arguments: Any) -> AnyRecord | None:
    """What a call says in its last argument, or None if it is not supported."""
    filled = kind.struct()()
    if not supported(api, function, *arguments, ctypes.byref(filled)):
        return None
    return kind.read(filled)


def structs(make: MakeStructs, api: Api, function: str, *arguments: Any, room: int = 0) -> Any:
    """What a call fills into an array, or None if it is not supported.

    With room for some, it is first asked without asking how many there are, which is enough if
    there are fewer. There may be more by the time that there is room for them: then it is asked
    again.
    """
    while True:
        if not room:
            count = ctypes.c_uint32(0)
            if not supported(api, function, *arguments, ctypes.byref(count), None):
                return None
            room = count.value + 1
        count, filled = ctypes.c_uint32(room), make(room)
        result = raw(api, function, *arguments, ctypes.byref(count), filled)
        if result == UNSUPPORTED:
            return None
        if result != TOO_SMALL:
            check(result, function, api)
            if count.value < room:
                return filled[: count.value]
        room = 0


def records(
    kind: type[AnyRecord], api: Api, function: str, *arguments: Any, room: int = 0
) -> tuple[AnyRecord, ...] | None:
    """What a call says in a list, or None if it is not supported; see `structs`."""
    filled = structs(kind.struct().array, api, function, *arguments, room=room)
    return None if filled is None else tuple(map(kind.read, filled))


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
    """One look at everything: what could not be read is noted, and the rest is read.

    What people set, unlike what the machine does, seldom changes, and costs as much to read as all
    the rest. It is kept for some seconds, or until it is set through the same device.
    """

    def __init__(self, settings: dict[str, tuple[float, Any]]) -> None:
        self.refused: dict[str, str] = {}
        """Why something could not be read, by its name, such as "power[0].energy"."""
        self._settings = settings
        self._now = time.monotonic()

    def at(self, name: str, read: Callable[[], Read]) -> Read | None:
        """What is read, or None."""
        try:
            return read()
        except LevelZeroError as problem:
            self.refused[name] = problem.description or str(problem)
            return None

    def at_setting(self, name: str, read: Callable[[], Read]) -> Read | None:
        """The same for what is kept for some seconds."""
        read_at, known = self._settings.get(name, (-SETTINGS_LAST_SECONDS, None))
        if self._now - read_at < SETTINGS_LAST_SECONDS:
            value: Read | None = known
            return value
        value = self.at(name, read)
        if name not in self.refused:
            self._settings[name] = self._now, value
        return value


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

    def _set(self, function: str, *arguments: Any) -> None:
        """Makes a call that changes a setting."""
        self.api.call(function, self.handle, *arguments)
        self.sysman.settings.clear()

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
