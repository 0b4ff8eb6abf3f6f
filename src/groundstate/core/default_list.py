"""The command lists of a context on which work runs that was given no list."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundstate.core.command_list import CommandList
    from groundstate.core.context import Context
    from groundstate.core.device import Device


class DefaultLists(threading.local):
    """An immediate list for each device and thread, made when it is first needed."""

    def __init__(self) -> None:
        self._lists: dict[int, CommandList] = {}

    def of(self, context: Context, device: Device) -> CommandList:
        """The list of the calling thread for a device."""
        from groundstate.core.command_list import CommandList

        commands = self._lists.get(device.handle)
        if commands is None or commands.closed:
            commands = CommandList.immediate(context, device, in_order=True)
            self._lists[device.handle] = commands
        return commands
