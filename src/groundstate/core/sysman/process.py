"""Processes that use a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from groundstate.core.sysman.enums import EngineFlag
from groundstate.core.sysman.part import records
from groundstate.core.sysman.records import CHAINED, Record

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
        found = records(ProcessState, sysman.api, name, sysman.handle, room=room)
        if found is None:
            return None
        known = self._commands
        commands = {
            each.pid: known[each.pid] if each.pid in known else command_of(each.pid)
            for each in found
        }
        self._commands = commands
        return tuple(_with_command(each, commands[each.pid]) for each in found)


def _with_command(process: ProcessState, command: str | None) -> ProcessState:
    return ProcessState(
        process.pid, process.memory_bytes, process.shared_bytes, process.engines, command
    )


def command_of(pid: int) -> str | None:
    """The command line of a process, or the name in brackets that the system has for it.

    >>> import os
    >>> "python" in command_of(os.getpid())
    True
    """
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().rstrip(b"\0").replace(b"\0", b" ")
        if words:
            return words.decode(errors="replace")
        with open(f"/proc/{pid}/comm", "rb") as file:
            return f"[{file.read().decode(errors='replace').strip()}]"
    except OSError:
        return None
