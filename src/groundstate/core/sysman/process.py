"""Processes that use a device."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from groundstate.core.sysman.enums import EngineFlag
from groundstate.core.sysman.part import structs
from groundstate.core.sysman.records import CHAINED, Record
from groundstate.extras import ProcessActivity
from groundstate.printable import printable

if TYPE_CHECKING:
    from groundstate.core.sysman.device import SysmanDevice

_ROOM = 16


@dataclass(frozen=True, slots=True)
class ProcessState(Record):
    """A process that uses a device."""

    STRUCT = "zes_process_state_t"

    pid: Annotated[int, "processId"]
    memory_bytes: Annotated[int, "memSize"]
    """What it has of the device's memory."""
    shared_bytes: Annotated[int, "sharedSize"]
    """What of that it shares with other processes."""
    engines: EngineFlag
    """What it has used of the device."""
    active_us: Annotated[int | None, CHAINED] = None
    """How long the device worked for it so far; one of several workers is a part of the device."""
    timestamp_us: Annotated[int | None, CHAINED] = None
    """When that was read, by the same clock."""
    command: Annotated[str | None, CHAINED] = None
    """Its command line, or None if this user may not see it."""


class Processes:
    """The processes that use a device, with their command lines, which are read once for each."""

    def __init__(self, sysman: SysmanDevice) -> None:
        self._sysman = sysman
        self._commands: dict[int, str | None] = {}

    def read(self) -> tuple[ProcessState, ...] | None:
        """The processes now, or None if the device does not tell."""
        sysman, room = self._sysman, len(self._commands) + _ROOM
        name = "zesDeviceProcessesGetState"
        activities: list[ProcessActivity] = []

        def make(length: int) -> Any:
            activities[:] = [ProcessActivity() for _ in range(length)]
            states = ProcessState.struct().array(length)
            for state, activity in zip(states, activities, strict=True):
                state.pNext = ctypes.addressof(activity)
            return states

        found = structs(make, sysman.api, name, sysman.handle, room=room)
        if found is None:
            return None
        known = self._commands
        pids = {state.processId for state in found}
        self._commands = {pid: known[pid] if pid in known else command_of(pid) for pid in pids}
        return tuple(map(self._describe, found, activities))

    def _describe(self, state: Any, activity: ProcessActivity) -> ProcessState:
        process, command = ProcessState.read(state), self._commands.get(state.processId)
        if not activity.timestamp:
            return replace(process, command=command)
        return replace(
            process,
            active_us=activity.activeTime,
            timestamp_us=activity.timestamp,
            command=command,
        )


def command_of(pid: int) -> str | None:
    """The command line of a process, or the name in brackets that the system has for it.

    >>> import os
    >>> command_of(os.getpid()) is None
    False
    """
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().rstrip(b"\0").replace(b"\0", b" ")
        if words:
            return printable(words.decode(errors="replace"))
        with open(f"/proc/{pid}/comm", "rb") as file:
            return f"[{printable(file.read().decode(errors='replace').strip())}]"
    except OSError:
        return None
