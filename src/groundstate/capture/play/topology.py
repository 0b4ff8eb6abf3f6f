"""Devices, queues and memories of the recording, mapped to what there is here.

A device that is missing here is one of those that are there; a missing sub-device is its device; a
missing group of queues is one that can do the same, or the first. Each mapping is noted.
"""

from __future__ import annotations

import ctypes
from typing import Any

from groundstate import _raw, ze
from groundstate.capture.play.arena import Place
from groundstate.capture.play.names import Names
from groundstate.capture.play.passing import Passing

HANDLE = 8
QUEUE_ORDINAL = 16
QUEUE_INDEX = 20
MEMORY_ORDINAL = 20
LISTED = {
    "zeDriverGet": ("driver", 0, 1),
    "zeInitDrivers": ("driver", 0, 1),
    "zeDeviceGet": ("device", 1, 2),
    "zeDeviceGetSubDevices": ("sub-device", 1, 2),
    "zesDriverGet": ("driver", 0, 1),
    "zesDeviceGet": ("device", 1, 2),
}
"""Functions that list handles: of what, and which parameters are their number and the list."""


class Topology:
    """What devices there are here, as far as calls have asked for it."""

    def __init__(self, library: _raw.Library, names: Names) -> None:
        self._library = library
        self._names = names
        self._groups: dict[int, list[Any]] = {}
        self._recorded_groups: dict[int, list[Any]] = {}
        self._memories: dict[int, int] = {}

    def listed(self, name: str, passing: Passing) -> None:
        """Maps a list of handles; what is missing here gets a handle that is there."""
        what, count_place, list_place = LISTED[name]
        if not passing.words[list_place]:
            return
        after = passing.after(passing.words[list_place])
        recorded = [
            int.from_bytes(after[at : at + HANDLE], "little")
            for at in range(0, len(after) // HANDLE * HANDLE, HANDLE)
        ]
        place = passing.placed[passing.words[list_place]]
        counted = passing.placed.get(passing.words[count_place])
        number = counted.number(0, 4) if counted is not None else 0
        present = [place.word(at) for at in range(0, min(number, place.size // HANDLE) * 8, 8)]
        if not present:
            owner = passing.names.handle(passing.words[0])
            present = [owner] if what == "sub-device" else []
        for at, handle in enumerate(recorded):
            if not present:
                self._names.note(f"{what} {at} of the recording is missing here")
                continue
            if at >= number:
                self._names.note(
                    f"{what} {at} of the recording is missing here; "
                    + ("its device" if number == 0 else f"{what} {at % len(present)}")
                    + " takes its place"
                )
            self._names.learn(handle, present[at % len(present)])

    def root(self, passing: Passing) -> None:
        """The root of a sub-device; a device that stands for one is its own root."""
        recorded = int.from_bytes(passing.after(passing.words[1])[:HANDLE], "little")
        place = passing.placed.get(passing.words[1])
        if recorded and place is not None and recorded not in self._names.handles:
            self._names.learn(recorded, place.word(0) or passing.names.handle(passing.words[0]))

    def recorded_groups(self, passing: Passing) -> None:
        """Remembers what the groups of queues of a recorded device could do."""
        data = passing.after(passing.words[2])
        kind = ze.ze_command_queue_group_properties_t
        count = len(data) // ctypes.sizeof(kind)
        if count:
            found = list((kind * count).from_buffer_copy(data[: count * ctypes.sizeof(kind)]))
            self._recorded_groups[passing.words[0]] = found

    def queue(self, passing: Passing, device: int, description: int, *, has_index: bool) -> None:
        """Changes the group and index of a queue to ones that are there."""
        place = passing.placed.get(description)
        groups = self._groups_of(passing.names.handle(device))
        if place is None or not groups:
            return
        offset = QUEUE_ORDINAL
        recorded = place.number(offset, 4)
        ordinal = self._group_like(device, recorded, groups)
        if ordinal != recorded:
            place.set_number(offset, 4, ordinal)
            self._names.note(f"queue group {recorded} of the recording is group {ordinal} here")
        if has_index:
            self._index(place, max(groups[ordinal].numQueues, 1))

    def memory(self, passing: Passing, device: int, description: int) -> None:
        """Changes the ordinal of a device's memory to one that is there."""
        place = passing.placed.get(description)
        if place is None or not device:
            return
        count = self._memories_of(passing.names.handle(device))
        offset = MEMORY_ORDINAL
        recorded = place.number(offset, 4)
        if count and recorded >= count:
            place.set_number(offset, 4, 0)
            self._names.note(f"memory {recorded} of the recorded device is memory 0 here")

    def _index(self, place: Place, queues: int) -> None:
        offset = QUEUE_INDEX
        recorded = place.number(offset, 4)
        if recorded >= queues:
            place.set_number(offset, 4, recorded % queues)
            self._names.note(f"queue {recorded} of the recording is queue {recorded % queues} here")

    def _group_like(self, device: int, ordinal: int, groups: list[Any]) -> int:
        """A group that can do what the recorded one could; the same one, if it is there."""
        known = self._recorded_groups.get(device, [])
        wanted = known[ordinal].flags if ordinal < len(known) else 0
        if ordinal < len(groups) and groups[ordinal].flags & wanted == wanted:
            return ordinal
        for place, group in enumerate(groups):
            if group.flags & wanted == wanted:
                return place
        return ordinal if ordinal < len(groups) else 0

    def _groups_of(self, device: int) -> list[Any]:
        if device not in self._groups:
            kind = ze.ze_command_queue_group_properties_t
            ask = self._library.zeDeviceGetCommandQueueGroupProperties
            count = ctypes.c_uint32()
            found: list[Any] = []
            if ask(device, ctypes.byref(count), None) == 0 and count.value:
                array = kind.array(count.value)
                if ask(device, ctypes.byref(count), array) == 0:
                    found = list(array)
            self._groups[device] = found
        return self._groups[device]

    def _memories_of(self, device: int) -> int:
        if device not in self._memories:
            count = ctypes.c_uint32()
            ask = self._library.zeDeviceGetMemoryProperties
            done = ask(device, ctypes.byref(count), None)
            self._memories[device] = count.value if done == 0 else 0
        return self._memories[device]
