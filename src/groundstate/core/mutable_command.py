"""Mutable commands: commands of a recorded list that are changed between two runs of it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from groundstate import ze
from groundstate.core.api import handle_array
from groundstate.core.kernel_arguments import Argument, Encoded, Local

if TYPE_CHECKING:
    from groundstate.core.command_list import CommandList
    from groundstate.core.commands import Events
    from groundstate.core.event import Event
    from groundstate.core.kernel import Kernel
    from groundstate.core.kernel_state import Extent


class MutableCommand:
    """A command of a mutable list, by which it is changed; `CommandList.next_command` makes it.

    >>> import groundstate as gs
    >>> source = "kernel void add(global int *to, int by) { to[get_global_id(0)] += by; }"
    >>> with gs.Context(gs.devices()[0]) as context, gs.CommandQueue(context) as queue:
    ...     memory = context.alloc_shared(4, "int32")
    ...     commands = gs.CommandList(context, in_order=True, mutable=True)
    ...     commands.fill(memory, 0)
    ...     addition = commands.next_command()
    ...     gs.Module(context, opencl=source)["add"](commands, 1, 4, memory, 10)
    ...     queue.execute(commands)
    ...     queue.synchronize()
    ...     print(memory.tolist())
    ...     addition.change(arguments={"by": 3}, group_size=2)
    ...     queue.execute(commands)
    ...     queue.synchronize()
    ...     memory.tolist()
    [10, 10, 10, 10]
    [3, 3, 0, 0]
    """

    def __init__(self, commands: CommandList, kernels: Iterable[Kernel] = ()) -> None:
        """Stands for the command that the list is given next, which may launch these kernels."""
        self.commands = commands
        self.kernel: Kernel | None = None
        """The kernel that it launches, if it is a launch."""
        choices = tuple(kernels)
        flags = ze.ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION
        description = ze.ze_mutable_command_id_exp_desc_t(flags=2 * flags - 1 if choices else 0)
        identifier = ctypes.c_uint64()
        api, handle = commands.api, commands.handle
        if choices:
            api.call(
                "zeCommandListGetNextCommandIdWithKernelsExp",
                handle,
                ctypes.byref(description),
                len(choices),
                handle_array([kernel.handle for kernel in choices]),
                ctypes.byref(identifier),
            )
        else:
            api.call(
                "zeCommandListGetNextCommandIdExp",
                handle,
                ctypes.byref(description),
                ctypes.byref(identifier),
            )
        self.id = identifier.value

    def __repr__(self) -> str:
        return f"<MutableCommand {self.id}{f' {self.kernel.name}' if self.kernel else ''}>"

    def change(
        self,
        *,
        kernel: Kernel | None = None,
        arguments: Mapping[int | str, Any] | None = None,
        groups: Extent | None = None,
        group_size: Extent | None = None,
        offset: Extent | None = None,
    ) -> None:
        """Changes a launch: the kernel, some of the arguments by number or name, the sizes.

        Another kernel must be one of those that were named beforehand; it brings the arguments and
        sizes that were last set on it. The list must not be running.
        """
        if kernel is not None:
            self._call(
                "UpdateMutableCommandKernelsExp",
                1,
                ctypes.byref(ctypes.c_uint64(self.id)),
                handle_array([kernel.handle]),
            )
            self.kernel = kernel
            self.commands.recorded.add((kernel.resource,))
        chain = _Chain(self.id)
        for key, value in (arguments or {}).items():
            self._change_argument(chain, key, value)
        if groups is not None:
            chain.add_groups(*_extent(groups))
        if group_size is not None:
            chain.add_sizes("ze_mutable_group_size_exp_desc_t", "groupSize", _extent(group_size))
        if offset is not None:
            chain.add_sizes("ze_mutable_global_offset_exp_desc_t", "offset", _extent(offset, 0))
        if chain.first is not None:
            description = ze.ze_mutable_commands_exp_desc_t(pNext=chain.first)
            self._call("UpdateMutableCommandsExp", ctypes.byref(description))

    def _change_argument(self, chain: _Chain, key: int | str, value: Any) -> None:
        argument = self._find_argument(key)
        kept: dict[int, object] = {}
        chain.add_argument(argument, argument.encode(value, kept))
        self.commands.recorded.add(kept.values())

    def _find_argument(self, key: int | str) -> Argument:
        if self.kernel is None:
            raise ValueError("this command launches no kernel, so it has no arguments to change")
        for argument in self.kernel.arguments:
            if key in (argument.index, argument.name):
                return argument
        names = ", ".join(each.declaration or str(each.index) for each in self.kernel.arguments)
        raise ValueError(f"kernel {self.kernel.name!r} has no argument {key!r}, but: {names}")

    def change_signal(self, event: Event | None) -> None:
        """Makes the command signal another event, of the same kind as the one before, or none."""
        handle = event.handle if event is not None else None
        self._call("UpdateMutableCommandSignalEventExp", self.id, handle)
        self.commands.recorded.add((event.resource,) if event is not None else ())

    def change_waits(self, events: Events) -> None:
        """Makes the command wait for other events: as many as before, and of the same kinds."""
        waits = tuple(events) if isinstance(events, Iterable) else (events,)
        handles = handle_array([event.handle for event in waits])
        self._call("UpdateMutableCommandWaitEventsExp", self.id, len(waits), handles)
        self.commands.recorded.add([event.resource for event in waits])

    def _call(self, function: str, *arguments: object) -> None:
        """Makes a change; the list has to be finished again before it runs."""
        self.commands.api.call("zeCommandList" + function, self.commands.handle, *arguments)
        self.commands.is_finished = False


def _extent(size: Extent, missing: int = 1) -> tuple[int, int, int]:
    from groundstate.core.kernel_state import extent

    return extent(size, missing=missing)


class _Chain:
    """The changes of one call: structs that point at each other, and what they point at."""

    def __init__(self, command: int) -> None:
        self.command = command
        self.first: int | None = None
        self._parts: list[object] = []

    def _add(self, struct: Any, *parts: object) -> None:
        struct.commandId = self.command
        struct.pNext = self.first
        self.first = ctypes.addressof(struct)
        self._parts += [struct, *parts]

    def add_argument(self, argument: Argument, value: Encoded) -> None:
        """Another value of an argument."""
        change = ze.ze_mutable_kernel_argument_exp_desc_t(argIndex=argument.index)
        if isinstance(value, Local):
            change.argSize = value.size_bytes
            self._add(change)
            return
        content = value
        if isinstance(content, int):
            content = content.to_bytes(argument.size_bytes or 8, "little")
        buffer = ctypes.create_string_buffer(content, len(content))
        change.argSize = len(content)
        change.pArgValue = ctypes.addressof(buffer)
        self._add(change, buffer)

    def add_groups(self, x: int, y: int, z: int) -> None:
        """Another number of groups."""
        counts = ze.ze_group_count_t(x, y, z)
        change = ze.ze_mutable_group_count_exp_desc_t(pGroupCount=ctypes.addressof(counts))
        self._add(change, counts)

    def add_sizes(self, struct: str, fields: str, sizes: tuple[int, int, int]) -> None:
        """Another group size or offset."""
        change = getattr(ze, struct)()
        for axis, size in zip("XYZ", sizes, strict=True):
            setattr(change, fields + axis, size)
        self._add(change)
